// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"

	"sigs.k8s.io/yaml"
)

// jsonLine writes a value with its keys in order.
type jsonLine struct{ value any }

func (j *jsonLine) text() (string, error) {
	b, err := json.Marshal(j.value)
	return string(b), err
}

// canonical returns YAML as JSON with its keys in order.
func canonical(text string) (string, error) {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return "", err
	}
	return (&jsonLine{v}).text()
}

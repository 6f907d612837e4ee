// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	_ "embed"
	"fmt"
	"hash/fnv"

	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// openAPI describes the routes, for people to read.
//
//go:embed openapi.yaml
var openAPI []byte

// document is the description as it is served.
type document struct {
	page page
}

func newDocument() (document, error) {
	b, err := yaml.YAMLToJSONStrict(openAPI)
	if err != nil {
		return document{}, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	h := fnv.New128a()
	_, _ = h.Write(b)
	return document{pageOf(b, fmt.Sprintf(`"%x"`, h.Sum(nil)))}, nil
}

func (d document) serve(c httpapi.Call) error { return d.page.write(c) }

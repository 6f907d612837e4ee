// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// readProgram reads what a program without a model asks: which of its tools it calls next.
func readProgram(body []byte) (question, error) {
	var in struct {
		Tools   []string `json:"tools"`
		Results []string `json:"results"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return question{}, err
	}
	var q question
	for _, name := range in.Tools {
		q.tools = append(q.tools, tool{Name: name})
	}
	for n, text := range in.Results {
		q.results = append(q.results, result{fmt.Sprintf("call_%d", n+1), text})
	}
	return q, nil
}

// writeProgram writes the answer to a program without a model.
func writeProgram(w http.ResponseWriter, _ bool, r reply) {
	send(w, map[string]string{"call": r.call.Name, "text": r.text})
}

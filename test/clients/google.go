// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"net/http"
)

// readContents reads a request to Google's generateContent.
func readContents(body []byte) (question, error) {
	type part struct {
		Response *struct {
			Name     string          `json:"name"`
			Response json.RawMessage `json:"response"`
		} `json:"functionResponse"`
	}
	type content struct {
		Parts []part `json:"parts"`
	}
	var in struct {
		Contents []content `json:"contents"`
		Tools    []struct {
			Functions []tool `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return question{}, err
	}
	var q question
	for _, t := range in.Tools {
		q.tools = append(q.tools, t.Functions...)
	}
	for _, c := range in.Contents {
		for _, p := range c.Parts {
			if p.Response == nil {
				continue
			}
			var said struct {
				Output string `json:"output"`
				Error  string `json:"error"`
			}
			text := string(p.Response.Response)
			if json.Unmarshal(p.Response.Response, &said) == nil && said.Output+said.Error != "" {
				text = said.Output + said.Error
			}
			q.results = append(q.results, result{p.Response.Name, text})
		}
	}
	return q, nil
}

// writeContents writes an answer of Google's generateContent.
func writeContents(w http.ResponseWriter, stream bool, r reply) {
	type object = map[string]any
	part := object{"text": r.text}
	if r.id != "" {
		part = object{"functionCall": object{"id": r.id, "name": r.call.Name, "args": r.arguments}}
	}
	answer := object{
		"candidates":    []any{object{"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
		"modelVersion":  Name,
	}
	if stream {
		sendEvents(w, []event{{"", answer}})
		return
	}
	send(w, answer)
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"net/http"
)

// readMessages reads a request to Anthropic's Messages.
func readMessages(body []byte) (question, error) {
	var in struct {
		Stream   bool   `json:"stream"`
		Tools    []tool `json:"tools"`
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return question{}, err
	}
	q := question{tools: in.Tools, stream: in.Stream}
	for _, m := range in.Messages {
		var blocks []struct {
			Type    string          `json:"type"`
			ID      string          `json:"tool_use_id"`
			Content json.RawMessage `json:"content"`
		}
		// A message may be a string, which has no results.
		_ = json.Unmarshal(m.Content, &blocks)
		for _, b := range blocks {
			if b.Type == "tool_result" {
				q.results = append(q.results, result{b.ID, textOf(b.Content)})
			}
		}
	}
	return q, nil
}

// writeMessages writes an answer of Anthropic's Messages.
func writeMessages(w http.ResponseWriter, stream bool, r reply) {
	type object = map[string]any
	block, empty := object{"type": "text", "text": r.text}, object{"type": "text", "text": ""}
	delta, reason := object{"type": "text_delta", "text": r.text}, "end_turn"
	if r.id != "" {
		block = object{"type": "tool_use", "id": r.id, "name": r.call.Name, "input": r.arguments}
		empty = object{"type": "tool_use", "id": r.id, "name": r.call.Name, "input": object{}}
		arguments, _ := json.Marshal(r.arguments)
		delta, reason = object{"type": "input_json_delta", "partial_json": string(arguments)}, "tool_use"
	}
	usage := object{"input_tokens": 10, "output_tokens": 10}
	message := object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": Name, "content": []any{block},
		"stop_reason": reason, "stop_sequence": nil, "usage": usage,
	}
	if !stream {
		send(w, message)
		return
	}
	message["content"], message["stop_reason"] = []any{}, nil
	sendEvents(w, []event{
		{"message_start", object{"type": "message_start", "message": message}},
		{"content_block_start", object{"type": "content_block_start", "index": 0, "content_block": empty}},
		{"content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": delta}},
		{"content_block_stop", object{"type": "content_block_stop", "index": 0}},
		{"message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage}},
		{"message_stop", object{"type": "message_stop"}},
	})
}

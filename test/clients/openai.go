// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"net/http"
)

// readCompletions reads a request to OpenAI's Chat Completions.
func readCompletions(body []byte) (question, error) {
	var in struct {
		Stream bool `json:"stream"`
		Tools  []struct {
			Function tool `json:"function"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			ID      string          `json:"tool_call_id"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return question{}, err
	}
	q := question{stream: in.Stream}
	for _, t := range in.Tools {
		q.tools = append(q.tools, t.Function)
	}
	for _, m := range in.Messages {
		if m.Role == "tool" {
			q.results = append(q.results, result{m.ID, textOf(m.Content)})
		}
	}
	return q, nil
}

// writeCompletions writes an answer of OpenAI's Chat Completions.
func writeCompletions(w http.ResponseWriter, stream bool, r reply) {
	type object = map[string]any
	message, reason := object{"role": "assistant", "content": r.text}, "stop"
	if r.id != "" {
		arguments, _ := json.Marshal(r.arguments)
		call := object{"index": 0, "id": r.id, "type": "function", "function": object{"name": r.call.Name, "arguments": string(arguments)}}
		message, reason = object{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	usage := object{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
	answer := func(kind string, choice object) object {
		choice["index"] = 0
		return object{"id": "chat_1", "object": kind, "created": 1, "model": Name, "choices": []any{choice}, "usage": usage}
	}
	if !stream {
		send(w, answer("chat.completion", object{"message": message, "finish_reason": reason}))
		return
	}
	const chunk = "chat.completion.chunk"
	sendEvents(w, []event{
		{"", answer(chunk, object{"delta": message, "finish_reason": nil})},
		{"", answer(chunk, object{"delta": object{}, "finish_reason": reason})},
	})
	_, _ = w.Write([]byte("data: [DONE]\n\n"))
}

// readResponses reads a request to OpenAI's Responses.
func readResponses(body []byte) (question, error) {
	var in struct {
		Stream bool `json:"stream"`
		Tools  []struct {
			tool
			Tools []tool `json:"tools"`
		} `json:"tools"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return question{}, err
	}
	q := question{stream: in.Stream}
	for _, t := range in.Tools {
		// A namespace has tools of its own.
		for _, inner := range t.Tools {
			q.tools = append(q.tools, tool{Name: inner.Name, Namespace: t.Name})
		}
		if t.Tools == nil {
			q.tools = append(q.tools, t.tool)
		}
	}
	var items []struct {
		Type   string          `json:"type"`
		ID     string          `json:"call_id"`
		Output json.RawMessage `json:"output"`
	}
	// The input may be a string, which has no results.
	_ = json.Unmarshal(in.Input, &items)
	for _, i := range items {
		if i.Type == "function_call_output" {
			q.results = append(q.results, result{i.ID, textOf(i.Output)})
		}
	}
	return q, nil
}

// writeResponses writes an answer of OpenAI's Responses.
func writeResponses(w http.ResponseWriter, stream bool, r reply) {
	type object = map[string]any
	item := object{
		"type": "message", "id": "item_1", "status": "completed", "role": "assistant",
		"content": []any{object{"type": "output_text", "text": r.text, "annotations": []any{}}},
	}
	if r.id != "" {
		arguments, _ := json.Marshal(r.arguments)
		item = object{
			"type": "function_call", "id": "item_1", "status": "completed", "call_id": r.id, "name": r.call.Name, "arguments": string(arguments),
		}
		if r.call.Namespace != "" {
			item["namespace"] = r.call.Namespace
		}
	}
	response := object{
		"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": Name, "output": []any{item},
		"usage": object{
			"input_tokens": 10, "output_tokens": 10, "total_tokens": 20,
			"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
		},
	}
	if !stream {
		send(w, response)
		return
	}
	began := object{"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": Name, "output": []any{}}
	sendEvents(w, []event{
		{"response.created", object{"type": "response.created", "response": began}},
		{"response.output_item.added", object{"type": "response.output_item.added", "output_index": 0, "item": item}},
		{"response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item}},
		{"response.completed", object{"type": "response.completed", "response": response}},
	})
}

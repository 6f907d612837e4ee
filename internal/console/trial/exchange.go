// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trial calls tools for a page: it makes the requests of MCP, reads their answers,
// and turns the schema of a tool into a form and the form into arguments. The package is
// pure.
package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

const (
	// mostListed is how much of a list of tools is read, in bytes: that of about a thousand
	// tools.
	mostListed = 2 << 20
	// mostAnswered is how much of another answer is read, in bytes: more than anybody reads
	// on a page.
	mostAnswered = 256 << 10
)

// meta is what each request of the version 2026-07-28 says of its client.
type meta struct {
	Version      string         `json:"io.modelcontextprotocol/protocolVersion"`
	Client       map[string]any `json:"io.modelcontextprotocol/clientInfo"`
	Capabilities struct{}       `json:"io.modelcontextprotocol/clientCapabilities"`
}

type request struct {
	JSONRPC string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  params `json:"params"`
}

type params struct {
	Meta      meta            `json:"_meta"`
	Cursor    string          `json:"cursor,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

func encode(method string, keep int, p params) httpapi.RPC {
	p.Meta = meta{Version: "2026-07-28", Client: map[string]any{"name": "hosted-bridge-console", "version": "1"}}
	body, err := json.Marshal(request{JSONRPC: "2.0", ID: 1, Method: method, Params: p})
	if err != nil {
		panic(err) // Arguments are valid JSON, and the rest can always be encoded.
	}
	return httpapi.RPC{Method: method, Name: p.Name, Body: body, Keep: keep}
}

// List asks for a page of the tools.
func List(cursor string) httpapi.RPC {
	return encode(methods.ListTools, mostListed, params{Cursor: cursor})
}

// Call calls a tool. The arguments are a JSON object.
func Call(tool string, arguments json.RawMessage) httpapi.RPC {
	return encode(methods.CallTool, mostAnswered, params{Name: tool, Arguments: arguments})
}

// Failure is an answer that is no result.
type Failure struct {
	// Code is the stable code of the ingress or bridge, empty without one.
	Code, Message string
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// ErrTruncated says that an answer is longer than a page keeps.
var ErrTruncated = errors.New("the answer is longer than this page can show")

// answer is a JSON-RPC answer.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
		Data    struct {
			Code string `json:"code"`
		} `json:"data"`
	} `json:"error"`
}

// Result returns the result of an exchange, a *Failure or ErrTruncated.
func Result(x httpapi.Exchanged) (json.RawMessage, error) {
	if x.Truncated {
		return nil, ErrTruncated
	}
	for _, message := range messages(x) {
		var a answer
		if json.Unmarshal(message, &a) != nil || len(a.ID) == 0 {
			continue // A notification, or what is no message.
		}
		if a.Error != nil {
			return nil, &Failure{a.Error.Data.Code, a.Error.Message}
		}
		return a.Result, nil
	}
	return nil, &Failure{Message: fmt.Sprintf("The bridge answered with status %d and no result.", x.Status)}
}

// messages returns the messages of an answer, which is one or a stream of events.
func messages(x httpapi.Exchanged) [][]byte {
	if !strings.HasPrefix(x.Header.Get("Content-Type"), "text/event-stream") {
		return [][]byte{x.Body}
	}
	var all [][]byte
	body := bytes.ReplaceAll(x.Body, []byte("\r\n"), []byte("\n"))
	for event := range bytes.SplitSeq(body, []byte("\n\n")) {
		var data []byte
		for line := range bytes.SplitSeq(event, []byte("\n")) {
			if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				data = append(append(data, bytes.TrimPrefix(text, []byte(" "))...), '\n')
			}
		}
		if len(data) > 0 {
			all = append(all, data)
		}
	}
	return all
}

// Tool is a tool as the bridge lists it.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations struct {
		ReadOnly    bool  `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
	} `json:"annotations"`
}

// Deletes reports whether the server says that the tool can change or delete what there
// is.
func (t *Tool) Deletes() bool { return t.Annotations.Destructive != nil && *t.Annotations.Destructive }

// maxPages bounds how many pages of tools are asked for: each is a call of the person's.
const maxPages = 20

// Find asks the bridge for its tools until the one of that name is among them. The tool is
// nil if the bridge does not have it.
func Find(exchange func(httpapi.RPC) httpapi.Exchanged, name string) (*Tool, error) {
	cursor := ""
	for range maxPages {
		result, err := Result(exchange(List(cursor)))
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools      []Tool `json:"tools"`
			NextCursor string `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, &Failure{Message: "The bridge's list of tools could not be read."}
		}
		for i := range page.Tools {
			if page.Tools[i].Name == name {
				return &page.Tools[i], nil
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return nil, nil
		}
	}
	return nil, nil
}

// Outcome is what a call of a tool came to, as text.
type Outcome struct {
	// Failed is whether the tool itself says that it failed, and Asks whether it wants to
	// know more, which a page cannot tell it.
	Failed, Asks bool
	Text         string
}

// OutcomeOf reads the result of a call.
func OutcomeOf(result json.RawMessage) Outcome {
	var r struct {
		Content []struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			MIMEType string `json:"mimeType"`
			Data     string `json:"data"`
			URI      string `json:"uri"`
			Resource struct {
				URI  string `json:"uri"`
				Text string `json:"text"`
			} `json:"resource"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		Type       string          `json:"resultType"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return Outcome{Failed: true, Text: "The result could not be read."}
	}
	var parts []string
	for _, c := range r.Content {
		switch c.Type {
		case "text":
			parts = append(parts, c.Text)
		case "resource":
			parts = append(parts, c.Resource.URI+"\n"+c.Resource.Text)
		case "resource_link":
			parts = append(parts, c.URI)
		default:
			parts = append(parts, fmt.Sprintf("(%s, %s, %d characters in base64)", c.Type, c.MIMEType, len(c.Data)))
		}
	}
	if len(parts) == 0 && len(r.Structured) > 0 {
		parts = append(parts, indented(r.Structured))
	}
	return Outcome{Failed: r.IsError, Asks: r.Type == "input_required", Text: strings.Join(parts, "\n\n")}
}

func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

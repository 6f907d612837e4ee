// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/test/hostile"
)

// nameLetters are what names of tools are made of.
const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// speaker is a client that reads answers as they come: of the earlier era where it has a
// session.
type speaker struct {
	user    *tenant
	at      *replica
	session string
	last    atomic.Int64
}

// answer is what a client is answered, and what came before.
type answer struct {
	status        int
	result, error json.RawMessage
	// notes counts notifications and questions.
	notes int
	err   error
}

// String says what the answer is, not all of it.
func (a answer) String() string {
	return fmt.Sprintf("status %d, result %.200s, error %.200s, %d notifications, %v", a.status, a.result, a.error, a.notes, a.err)
}

func (s *speaker) nextID() int64 { return 1000 + s.last.Add(1) }

// call calls a tool.
func (s *speaker) call(ctx context.Context, tool, token string) answer {
	return s.callAs(ctx, s.nextID(), tool, token)
}

// callAs is call by an id that the caller knows.
func (s *speaker) callAs(ctx context.Context, id int64, tool, token string) answer {
	return s.ask(ctx, id, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{%q:%q},`, tool, hostile.TokenArgument, token))
}

// cancel cancels a request, where that is said by a message.
func (s *speaker) cancel(ctx context.Context, id int64) {
	if s.session == "" {
		return
	}
	res, err := s.post(ctx, "", "", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	if err == nil {
		_ = res.Body.Close()
	}
}

// errTooOften says that a user's clients list more often than they may.
var errTooOften = errors.New("lists are refused for a moment")

// tools returns the names of the tools, or errTooOften.
func (s *speaker) tools(ctx context.Context) (names []string, err error) {
	for cursor := ""; ; {
		a := s.ask(ctx, s.nextID(), "tools/list", "", cursor)
		var page struct {
			Tools []struct{ Name string }
			Next  string `json:"nextCursor"`
		}
		if a.status == http.StatusTooManyRequests {
			return nil, errTooOften
		}
		if a.result == nil || json.Unmarshal(a.result, &page) != nil {
			return nil, errors.New(a.String())
		}
		for _, tool := range page.Tools {
			names = append(names, tool.Name)
		}
		if page.Next == "" {
			return names, nil
		}
		cursor = fmt.Sprintf(`"cursor":%q,`, page.Next)
	}
}

// ask sends a request and reads up to its answer. Parameters end with a comma.
func (s *speaker) ask(ctx context.Context, id int64, method, name, params string) (a answer) {
	meta := `"progressToken":"mine"`
	if s.session == "" {
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}` +
			`,"io.modelcontextprotocol/logLevel":"debug"`
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{%s}}}`, id, method, params, meta)
	res, err := s.post(ctx, method, name, body)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	a.status = res.StatusCode
	a.err = a.read(res, id)
	return a
}

func (s *speaker) post(ctx context.Context, method, name, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.at.base()+"/u/"+s.user.user+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + s.user.key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}
	if s.session == "" {
		r.Header.Set("Mcp-Protocol-Version", hostile.Modern)
		r.Header.Set("Mcp-Method", method)
		r.Header.Set("Mcp-Name", name)
	} else {
		r.Header.Set("Mcp-Protocol-Version", hostile.Legacy)
		r.Header.Set("Mcp-Session-Id", s.session)
	}
	return s.at.clients[0].Do(r)
}

// read reads messages up to the answer to the request.
func (a *answer) read(res *http.Response, id int64) error {
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if !utf8.Valid(line) {
			return fmt.Errorf("what is not UTF-8: %.200q", line)
		}
		if found, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			line = found
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' && a.take(line, id) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return errors.New("the answer ended without one to the request")
		}
		if err != nil {
			return err
		}
	}
}

// take reports whether the message is the answer.
func (a *answer) take(line []byte, id int64) bool {
	var m struct {
		ID            json.RawMessage
		Method        string
		Result, Error json.RawMessage
	}
	if json.Unmarshal(line, &m) != nil {
		return false
	}
	if m.Method != "" || string(m.ID) != fmt.Sprint(id) {
		a.notes++
		return false
	}
	a.result, a.error = m.Result, m.Error
	return true
}

// compare returns how the answer differs from what a client must see.
func compare(want hostile.Sees, a answer) error {
	var result struct {
		IsError bool `json:"isError"`
	}
	_ = json.Unmarshal(a.result, &result) // No result is no failed one.
	failed := a.error != nil || result.IsError
	said := a.error
	if said == nil {
		said = a.result
	}
	switch {
	case a.err != nil:
	case want.Either && failed, want.Error != "" && failed && bytes.Contains(said, []byte(want.Error)),
		want.Result != "" && !failed && bytes.Contains(a.result, []byte(want.Result)):
		return nil
	}
	return fmt.Errorf("the client saw %v, want a result with %q or an error with %q", a, want.Result, want.Error)
}

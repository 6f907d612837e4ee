// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// tool is called everywhere, and toolText is what it answers.
	tool     = "test_simple_text"
	toolText = "This is a simple text response for testing."

	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"

	// holdTimeout is longer than the ingress holds a request for a bridge
	// that is starting, so that its own answer is seen.
	holdTimeout = 40 * time.Second
)

// request is what is sent to a tenant's URL.
type request struct {
	method string
	header map[string]string
	body   string
}

// The first thing that a client of each era sends, and a tool call that needs
// nothing before it, which only the modern era has.
var (
	legacyFirst = post(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"`+legacyVersion+
		`","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`, nil)
	modernFirst = modern("server/discover", "", `{}`)
	modernCall  = modern("tools/call", tool, `{"name":"`+tool+`","arguments":{}}`)
)

func post(body string, header map[string]string) request {
	r := request{method: http.MethodPost, body: body, header: map[string]string{
		"Content-Type": "application/json",
		"Accept":       "application/json, text/event-stream",
	}}
	maps.Copy(r.header, header)
	return r
}

// modern returns a request of the stateless era, which carries in each message
// and in headers what an initialize would have said.
func modern(method, name, params string) request {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modernVersion + `",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"e2e","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	params = strings.TrimSuffix(params, "}")
	if params != "{" {
		params += ","
	}
	header := map[string]string{"MCP-Protocol-Version": modernVersion, "Mcp-Method": method}
	if name != "" {
		header["Mcp-Name"] = name
	}
	return post(`{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+meta+`}}`, header)
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// newHTTPClient returns a client that gives up on a connection soon, so that
// a dead address costs a retry and not the test, but waits for an answer as
// long as the ingress may hold a request. It keeps connections if asked to.
func newHTTPClient(keep bool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
		ResponseHeaderTimeout: holdTimeout,
		DisableKeepAlives:     !keep,
	}}
}

// atAllReplicas asks on as many new connections as leave out one of two replicas once in 32,768 times.
func atAllReplicas(ask func(*http.Client) error) error {
	for range 16 {
		if err := ask(newHTTPClient(false)); err != nil {
			return err
		}
	}
	return nil
}

// send sends the request with the key, or without one where it is empty.
func send(ctx context.Context, c *http.Client, url, key string, r request) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, url, strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := c.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{status: res.StatusCode, header: res.Header, body: body}, err
}

// requestID is the form of the id by which an answer is found in the log.
var requestID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// bytes returns all of the answer but the time at which it was given and the
// random id that it was given.
func (a answer) bytes() string {
	var out strings.Builder
	fmt.Fprintln(&out, a.status)
	header := a.header.Clone()
	header.Del("Date")
	if requestID.MatchString(header.Get("X-Request-Id")) {
		header.Set("X-Request-Id", "random")
	}
	// Header.Write sorts.
	if err := header.Write(&out); err != nil {
		return err.Error()
	}
	return out.String() + "\n" + string(a.body)
}

// message returns the JSON-RPC message in the body: the body itself, or the
// last event of a stream.
func (a answer) message() []byte {
	if !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		return a.body
	}
	var last []byte
	for line := range bytes.Lines(a.body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			last = bytes.TrimSpace(data)
		}
	}
	return last
}

// toolAnswered returns nil where the answer is the tool's.
func (a answer) toolAnswered() error {
	if a.status != http.StatusOK {
		return fmt.Errorf("status %d: %.300s", a.status, a.body)
	}
	var m struct {
		Error  json.RawMessage
		Result struct {
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(a.message(), &m); err != nil {
		return fmt.Errorf("%w in %.300q", err, a.body)
	}
	if m.Error != nil {
		return fmt.Errorf("error %s", m.Error)
	}
	if len(m.Result.Content) != 1 || m.Result.Content[0].Text != toolText {
		return fmt.Errorf("not the tool's text: %.300s", a.body)
	}
	return nil
}

// callTool calls the tool once, in the modern era, on the client.
func callTool(ctx context.Context, c *http.Client, url, key string) error {
	a, err := send(ctx, c, url, key, modernCall)
	if err != nil {
		return err
	}
	return a.toolAnswered()
}

// errRefused marks an answer that says no, to tell it from no answer.
var errRefused = errors.New("refused")

// allowed returns errRefused where the key does not open the URL, and nil
// where it does.
func allowed(ctx context.Context, c *http.Client, url, key string) error {
	a, err := send(ctx, c, url, key, modernFirst)
	switch {
	case err != nil:
		return err
	case slices.Contains([]int{http.StatusUnauthorized, http.StatusNotFound}, a.status):
		return fmt.Errorf("%w: status %d", errRefused, a.status)
	case a.status == http.StatusTooManyRequests && strings.Contains(string(a.body), "too_many_attempts"):
		return fmt.Errorf("%w, as often before", errRefused)
	case a.status != http.StatusOK:
		return fmt.Errorf("status %d: %.300s", a.status, a.body)
	}
	return nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package lifecycle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"
	// slowSeconds is how long the slow calls take, and answerTimeout is longer
	// than one of them that is held before, while a pod starts.
	slowSeconds   = 10
	answerTimeout = 60 * time.Second
	// between two calls of one caller: a user's pace, that leaves the machine to
	// what is replaced.
	between = 100 * time.Millisecond
)

// caller makes one call after the other. A call that has not its answer has
// failed: nothing is tried twice.
type caller struct {
	name string
	call func(context.Context) error

	calls    int
	slowest  time.Duration
	failures []string
}

// load is what all callers do at once.
type load struct {
	callers []*caller
	streams []*stream
	cancel  context.CancelFunc
	wait    sync.WaitGroup
}

// startLoad begins to call as several users do.
func startLoad(t *testing.T, users []user) *load {
	t.Helper()
	l := &load{}
	for _, u := range users {
		kept, fresh := newHTTP(true), newHTTP(false)
		session := &session{user: u, http: newHTTP(true)}
		stream := &stream{user: u, http: newHTTP(false)}
		l.streams = append(l.streams, stream)
		l.callers = append(l.callers,
			&caller{name: u.name + ", without sessions, one connection", call: u.modern(kept, "echo", `{"text":"hello"}`, "hello")},
			&caller{name: u.name + ", without sessions, new connections", call: u.modern(fresh, "echo", `{"text":"hello"}`, "hello")},
			&caller{name: u.name + ", calls of ten seconds", call: u.modern(kept, "wait", fmt.Sprintf(`{"seconds":%d}`, slowSeconds), "done")},
			&caller{name: u.name + ", in one session", call: session.call},
			&caller{name: u.name + ", a stream of events", call: stream.read},
		)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l.cancel = cancel
	for _, c := range l.callers {
		l.wait.Go(func() { c.run(ctx) })
	}
	t.Cleanup(func() { l.cancel(); l.wait.Wait() })
	return l
}

func (c *caller) run(ctx context.Context) {
	tick := time.NewTicker(between)
	defer tick.Stop()
	for {
		begun := time.Now()
		// A call that has begun is not cut off by the end of the load.
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
		err := c.call(within)
		cancel()
		c.calls++
		c.slowest = max(c.slowest, time.Since(begun))
		if err != nil {
			c.failures = append(c.failures, fmt.Sprintf("at %s, after %s: %v", begun.Format("15:04:05.000"), time.Since(begun).Round(time.Millisecond), err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// expectNoFailure ends the load and fails the test with the calls that failed.
func (l *load) expectNoFailure(t *testing.T, during string) {
	t.Helper()
	l.cancel()
	l.wait.Wait()
	calls, failed := 0, 0
	var slowest time.Duration
	for _, c := range l.callers {
		calls, failed, slowest = calls+c.calls, failed+len(c.failures), max(slowest, c.slowest)
		for i, f := range c.failures {
			if i < 5 {
				t.Errorf("%s: %s", c.name, f)
			}
		}
	}
	for _, s := range l.streams {
		t.Logf("%s: %s opened its stream %d times", during, s.user.name, s.opened)
	}
	t.Logf("%s: %d calls, %d failed, the slowest took %s", during, calls, failed, slowest.Round(time.Millisecond))
	if failed > 0 {
		t.Errorf("%s: %d of %d calls failed", during, failed, calls)
	}
}

func newHTTP(keep bool) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: !keep, MaxIdleConnsPerHost: 4}}
}

// modern returns a call of 2026-07-28, which stands alone.
func (u user) modern(c *http.Client, tool, arguments, want string) func(context.Context) error {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `,"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"` + modernVersion + `","io.modelcontextprotocol/clientInfo":{"name":"lifecycle","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	header := map[string]string{"MCP-Protocol-Version": modernVersion, "Mcp-Method": "tools/call", "Mcp-Name": tool}
	return func(ctx context.Context) error {
		_, message, err := u.post(ctx, c, body, header)
		if err != nil {
			return err
		}
		return expectText(message, want)
	}
}

// session is one of a client that begins it once and for all.
type session struct {
	user user
	http *http.Client
	id   string
	next int
}

func (s *session) call(ctx context.Context) error {
	if s.id == "" {
		if err := s.begin(ctx); err != nil {
			return fmt.Errorf("begin the session: %w", err)
		}
	}
	s.next++
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%d"}}}`, s.next, s.next)
	_, message, err := s.user.post(ctx, s.http, body, s.header())
	if err != nil {
		return err
	}
	return expectText(message, fmt.Sprint(s.next))
}

func (s *session) header() map[string]string {
	return map[string]string{"MCP-Protocol-Version": legacyVersion, "Mcp-Session-Id": s.id}
}

func (s *session) begin(ctx context.Context) error {
	header, _, err := s.user.post(ctx, s.http, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+legacyVersion+
		`","capabilities":{},"clientInfo":{"name":"lifecycle","version":"1"}}}`, nil)
	if err != nil {
		return err
	}
	if s.id = header.Get("Mcp-Session-Id"); s.id == "" {
		return fmt.Errorf("there is no session")
	}
	_, _, err = s.user.post(ctx, s.http, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, s.header())
	return err
}

// stream listens to a session of its own. That a stream ends is in the nature of
// streams: its client opens it again, and must be let.
type stream struct {
	user    user
	http    *http.Client
	session *session

	opened int
}

// read opens the stream and reads it for some seconds, or until its end.
func (s *stream) read(ctx context.Context) error {
	if s.session == nil {
		begun := &session{user: s.user, http: s.http}
		if err := begun.begin(ctx); err != nil {
			return err
		}
		s.session = begun
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.user.url, nil)
	if err != nil {
		return err
	}
	for name, value := range s.session.header() {
		r.Header.Set(name, value)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+s.user.key)
	res, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return fmt.Errorf("status %d: %s", res.StatusCode, said)
	}
	s.opened++
	ended := time.AfterFunc(slowSeconds*time.Second, func() { res.Body.Close() })
	defer ended.Stop()
	_, _ = io.Copy(io.Discard, res.Body)
	return nil
}

// post sends a message and returns the one that answers it.
func (u user) post(ctx context.Context, c *http.Client, body string, header map[string]string) (http.Header, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+u.key)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	res, err := c.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("read the answer: %w", err)
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusAccepted {
		return nil, nil, fmt.Errorf("status %d: %.300s", res.StatusCode, answer)
	}
	return res.Header, lastMessage(res.Header, answer), nil
}

// lastMessage is the body, or the last event of a stream.
func lastMessage(header http.Header, body []byte) (last []byte) {
	if !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		return body
	}
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			last = bytes.TrimSpace(data)
		}
	}
	return last
}

func expectText(message []byte, want string) error {
	var m struct {
		Error  json.RawMessage
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return fmt.Errorf("%w in %.300q", err, message)
	}
	if m.Error != nil || m.Result.IsError || len(m.Result.Content) != 1 || !strings.Contains(m.Result.Content[0].Text, want) {
		return fmt.Errorf("not %q: %.300s", want, message)
	}
	return nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// sseBridge tells of its endpoint as the transport of 2024-11-05 does, and what
// it was sent.
func sseBridge(t testing.TB) (http.HandlerFunc, chan string) {
	sent := make(chan string, 16)
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			sent <- r.RequestURI + " " + string(body)
			rw.WriteHeader(http.StatusAccepted)
			return
		}
		sent <- r.RequestURI
		rw.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(rw, "event: endpoint\ndata: /u/alice/sse?sessionid=s.1\n\n")
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
	}, sent
}

func TestAClientOfTheOldTransportIsServed(t *testing.T) {
	bridge, sent := sseBridge(t)
	w, alice := oneUser(t, defaults(), bridge)
	res, err := w.client.Do(w.request("GET", "/u/alice/sse?api_key=canary", alice, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := <-sent; got != "/u/alice/sse" || res.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("the bridge saw %s, header %v", got, res.Header)
	}
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || lines.Text() != "event: endpoint" || !lines.Scan() {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	endpoint, _ := strings.CutPrefix(lines.Text(), "data: ")
	if got := w.do(w.request("POST", endpoint, alice, toolCall)); got.status != http.StatusAccepted {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := <-sent; got != "/u/alice/sse?sessionid=s.1 "+toolCall {
		t.Errorf("the bridge saw %s", got)
	}
	eventually(t, func() bool { return w.metric("requests_total", "sse", "POST", "202") == 1 })
	eventually(t, func() bool { return strings.Contains(w.logs.String(), `"method":"POST"`) })
	if log := w.logs.String(); strings.Contains(log, "s.1") || strings.Contains(log, "canary") || !strings.Contains(log, `"route":"sse","method":"POST","status":202`) {
		t.Errorf("log: %s", log)
	}
	if n := w.metric("requests_total", "sse", "POST", "202"); n != 1 {
		t.Errorf("requests = %v", n)
	}
}

func TestTheOldTransportIsGuardedLikeTheNewOne(t *testing.T) {
	bridge, sent := sseBridge(t)
	w, alice := oneUser(t, defaults(), bridge)
	bob := w.addUser("bob")
	post := func(path, key string, edit func(*http.Request)) *http.Request {
		r := w.request("POST", path, key, toolCall)
		edit(r)
		return r
	}
	plain := func(*http.Request) {}
	for _, test := range []struct {
		name    string
		request *http.Request
		status  int
		code    string
	}{
		{"no key", post("/u/alice/sse?sessionid=a", "", plain), 401, "unauthorized"},
		{"a key as the session", post("/u/alice/sse?sessionid="+alice, "", plain), 401, "unauthorized"},
		{"somebody else's key", post("/u/alice/sse?sessionid=a", bob, plain), 401, "unauthorized"},
		{"another origin", post("/u/alice/sse?sessionid=a", alice, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }), 403, "origin_not_allowed"},
		{"no session", post("/u/alice/sse", alice, plain), 405, "method_not_allowed"},
		{"a session and more", post("/u/alice/sse?sessionid=a&b=c", alice, plain), 400, "session_invalid"},
		{"an encoded session", post("/u/alice/sse?sessionid=%61", alice, plain), 400, "session_invalid"},
		{"another media type", post("/u/alice/sse?sessionid=a", alice, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }), 415, "unsupported_media_type"},
		{"a body that is too large", post("/u/alice/sse?sessionid=a", alice, func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("a", maxBody+1))), maxBody+1
		}), 413, "body_too_large"},
		{"a body of a stream", func() *http.Request { return w.request("GET", "/u/alice/sse", alice, "x") }(), 400, "body_not_allowed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := w.do(test.request)
			var problem struct{ Code string }
			if err := json.Unmarshal([]byte(got.body), &problem); err != nil || got.status != test.status || problem.Code != test.code || got.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%d %s, want %d %s", got.status, got.body, test.status, test.code)
			}
		})
	}
	if len(sent) != 0 {
		t.Errorf("the bridge saw %s", <-sent)
	}
}

func TestTheOldTransportCanBeSwitchedOff(t *testing.T) {
	config := defaults()
	config.LegacySSE = false
	bridge, _ := sseBridge(t)
	w, alice := oneUser(t, config, bridge)
	want := w.raw("GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	for _, line := range []string{"GET /u/alice/sse", "POST /u/alice/sse?sessionid=a", "PUT /u/alice/sse"} {
		got := w.raw(line + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + alice + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		if got.status != http.StatusNotFound || got.body != want.body {
			t.Errorf("%s: %d %s", line, got.status, got.body)
		}
	}
}

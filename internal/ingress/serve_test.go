// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/graceful"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// probe returns the status and body of one of the cluster's own paths.
func (w *world) probe(path string) (status int, body string) {
	w.t.Helper()
	res, err := w.client.Get("http://" + w.probeAddr + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestRequestsAreCountedAndTheProbesApart(t *testing.T) {
	w, alice := oneUser(t, defaults(), servedBy("alice"))
	w.do(w.request("GET", "/u/alice/mcp", alice, ""))
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/u/alice/mcp": 404} {
		if status, _ := w.probe(path); status != want {
			t.Errorf("%s = %d, want %d", path, status, want)
		}
	}
	// It is counted when it has ended, which its client may know first.
	eventually(t, func() bool {
		_, body := w.probe("/metrics")
		return strings.Contains(body, `hostedbridge_ingress_requests_total{code="200",method="GET",route="mcp"} 1`)
	})
}

func TestDrain(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				arrived, release := make(chan struct{}), make(chan struct{})
				w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						arrived <- struct{}{}
						<-release
					}
					_, _ = io.WriteString(rw, "done")
				}, func(s *graceful.Service) { s.DrainDelay = time.Second })
				if protocol == "HTTP/2" {
					w.useHTTP2()
				}
				inFlight := w.send(1, alice)
				<-arrived
				w.stop()
				eventually(t, func() bool { return !w.readiness.Ready() })
				// Announced and not yet heard of by everybody: still served, and
				// told to come back elsewhere.
				late := w.raw("GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + alice + "\r\n\r\n")
				if late.status != 200 || !late.closes {
					t.Errorf("during the delay: %d, closes %v", late.status, late.closes)
				}
				if got := w.do(w.request("GET", "/u/alice/mcp", alice, "")); got.status != 200 {
					t.Errorf("on an old connection during the delay: %d", got.status)
				}
				eventually(t, func() bool {
					conn, err := net.Dial("tcp", w.addr)
					if err == nil {
						_ = conn.Close()
					}
					return err != nil
				})
				close(release)
				if got := <-inFlight; got.status != 200 || got.body != "done" {
					t.Errorf("in flight: %d %q", got.status, got.body)
				}
			})
		})
	}
}

func TestDrainCutsStreamsThatDoNotEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ended := make(chan struct{})
		w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
			close(ended)
		}, func(s *graceful.Service) { s.DrainTimeout = 50 * time.Millisecond })
		res, err := w.client.Do(w.request("GET", "/u/alice/mcp", alice, ""))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		w.stop()
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Error("a stream that was cut ended as if it were complete")
		}
		<-ended
	})
}

func TestAConnectionWithoutARequestIsClosedInTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.IdleTimeout = 50 * time.Millisecond
		w, alice := oneUser(t, config, servedBy("alice"))
		conn := w.dial()
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(wait.Limit))
		if _, err := io.WriteString(conn, "GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+alice+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		// To its end, which comes without another request.
		got, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 200 ") || strings.Contains(string(got), "Connection: close") {
			t.Errorf("read %q, error %v", got, err)
		}
	})
}

func TestAccessLogTellsWhoAndWhatAndNoSecret(t *testing.T) {
	w, alice, bob := twoUsers(t)
	r := w.request("POST", "/u/alice/mcp?canary-query", alice, `{"jsonrpc":"2.0","id":7,"method":"canary-body"}`)
	r.Header.Set("User-Agent", "canary-agent")
	r.Header.Set("Mcp-Session-Id", "canary-session")
	got := w.do(r)
	w.do(w.request("POST", "/u/alice/mcp", bob, ""))
	w.do(w.request("POST", "/canary-path", "", ""))
	var records []map[string]any
	eventually(t, func() bool {
		records = nil
		for line := range strings.Lines(w.logs.String()) {
			var record map[string]any
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if record["msg"] == "request" {
				records = append(records, record)
			}
		}
		return len(records) == 3
	})
	for name, want := range map[string]any{
		"requestID": got.header.Get("X-Request-Id"), "route": "mcp", "method": "POST", "status": 200.0,
		"user": "alice", "keyID": strings.Split(alice, "_")[1], "remote": "127.0.0.1", "protocol": "HTTP/1.1", "level": "INFO",
	} {
		if records[0][name] != want {
			t.Errorf("%s = %v, want %v", name, records[0][name], want)
		}
	}
	// The principal, not the user whose path was tried.
	if records[1]["user"] != "bob" || records[1]["code"] != "unauthorized" {
		t.Errorf("refused: %v", records[1])
	}
	if records[2]["route"] != "other" || records[2]["user"] != nil {
		t.Errorf("unknown path: %v", records[2])
	}
	log := w.logs.String()
	for _, secret := range []string{"canary", strings.Split(alice, "_")[2], strings.Split(bob, "_")[2]} {
		if strings.Contains(log, secret) {
			t.Error("the log contains what a caller sent")
		}
	}
}

func TestLabelsAreBounded(t *testing.T) {
	w, alice := oneUser(t, defaults(), wire("HTTP/1.1 799 Many\r\nContent-Length: 0\r\n\r\n"))
	w.do(w.request("GET", "/u/alice/mcp", alice, ""))
	w.do(w.request("BREW", "/u/alice/mcp", alice, ""))
	w.do(w.request("GET", "/u/any/thing", alice, ""))
	for _, tt := range [][]string{{"mcp", "GET", "other"}, {"mcp", "other", "405"}, {"other", "GET", "404"}} {
		if n := w.metric("requests_total", tt...); n != 1 {
			t.Errorf("requests with %v = %v, want 1", tt, n)
		}
	}
}

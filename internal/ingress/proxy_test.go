// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/graceful"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// oneUser is a world of alice, running, with her bridge's handler and her key.
func oneUser(t testing.TB, config Config, bridge http.HandlerFunc, drain ...func(*graceful.Service)) (w *world, alice string) {
	t.Helper()
	w = newWorld(t, config, drain...)
	alice = w.addUser("alice")
	w.serveBridge(hosts[0], "uid-alice", bridge)
	w.setPod("alice", "alice-1", hosts[0])
	return w, alice
}

func TestACallPassesBothWays(t *testing.T) {
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rw.Header().Set("Content-Type", "application/json")
		rw.Header().Set("Mcp-Session-Id", "s1")
		rw.Header().Set("Set-Cookie", "a=b")
		rw.Header().Set("Server", "bridge")
		rw.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(rw, "%s %s %s", r.Method, r.URL.Path, body)
	})
	for _, method := range []string{"POST", "GET", "DELETE"} {
		body := ""
		if method == "POST" {
			body = toolCall
		}
		for _, path := range []string{"/u/alice/mcp", "/u/alice/mcp/", "/u/alice/mcp/?x", "/mcp/"} { // As people paste it.
			got := w.do(w.request(method, path, alice, body))
			if want := method + " /u/alice/mcp " + body; got.status != http.StatusAccepted || got.body != want {
				t.Errorf("%s %s = %d %q, want 202 %q", method, path, got.status, got.body, want)
			}
			if got.header.Get("Mcp-Session-Id") != "s1" || got.header.Get("Set-Cookie")+got.header.Get("Server") != "" {
				t.Errorf("%s %s: header = %v", method, path, got.header)
			}
		}
	}
	if calls := w.activity.calls; len(calls) != 12 || calls[0] != "uid-alice" {
		t.Errorf("activity = %v, want twelve calls of alice's bridge", calls)
	}
}

func TestABodyOfAGetStaysHere(t *testing.T) {
	w, alice := oneUser(t, defaults(), servedBy("alice"))
	for _, method := range []string{"GET", "DELETE"} {
		if got := w.do(w.request(method, "/u/alice/mcp", alice, "smuggled")); got.status != 400 || !strings.Contains(got.body, "body_not_allowed") {
			t.Errorf("%s: %d %s", method, got.status, got.body)
		}
	}
}

// rpcErrorOf is the JSON-RPC error that p is.
func rpcErrorOf(p *httpapi.Problem) string {
	answer := encodeRPC(p, nil, nil)
	return string(answer)
}

func TestBodies(t *testing.T) {
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		// The end of such an answer leaves when the request's memory is free again.
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, "%d", n)
	})
	big := func(size int) string {
		begin, end := `{"jsonrpc":"2.0","id":7,"method":"x","params":"`, `"}`
		return begin + strings.Repeat("a", size-len(begin)-len(end)) + end
	}
	for _, tt := range []struct {
		name, contentType, body string
		status                  int
		want                    string
	}{
		{"as large as allowed", "application/json", big(maxBody), 200, fmt.Sprint(maxBody)},
		{"one byte larger", "application/json", big(maxBody + 1), 413, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"The body of a request is limited to 4194304 bytes.","data":{"code":"body_too_large"}}}`},
		{"empty", "application/json", "", 400, rpcErrorOf(problems.NotOneMessage)},
		{"with a charset", "application/json; charset=utf-8", "{}", 200, "2"},
		{"of another type", "text/plain", toolCall, 415, `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"Send Content-Type: application/json.","data":{"code":"unsupported_media_type"}}}`},
		{"of a form", "application/x-www-form-urlencoded", "a=b", 415, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Send Content-Type: application/json.","data":{"code":"unsupported_media_type"}}}`},
		{"of no type", "", "{}", 415, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Send Content-Type: application/json.","data":{"code":"unsupported_media_type"}}}`},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %v", tt.name, chunked), func(t *testing.T) {
				r := w.request("POST", "/u/alice/mcp", alice, tt.body)
				r.Header.Set("Content-Type", tt.contentType)
				if tt.contentType == "" {
					r.Header.Del("Content-Type")
				}
				if chunked {
					r.ContentLength = -1
				}
				if got := w.do(r); got.status != tt.status || got.body != tt.want {
					t.Errorf("got %d %s, want %d %s", got.status, got.body, tt.status, tt.want)
				}
			})
		}
	}
}

func TestAnEventArrivesBeforeTheStreamEnds(t *testing.T) {
	next := make(chan struct{})
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		rw.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(rw).Flush()
		for i := range 3 {
			<-next
			fmt.Fprintf(rw, "data: %d\n\n", i)
			_ = http.NewResponseController(rw).Flush()
		}
		<-next
	})
	for _, method := range []string{"GET", "POST"} {
		res, err := w.client.Do(w.request(method, "/u/alice/mcp", alice, map[string]string{"POST": "{}"}[method]))
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Header.Get("X-Accel-Buffering"); got != "no" {
			t.Errorf("X-Accel-Buffering = %q, want no", got)
		}
		lines := bufio.NewScanner(res.Body)
		for i := range 3 {
			next <- struct{}{}
			if !lines.Scan() || lines.Text() != fmt.Sprintf("data: %d", i) || !lines.Scan() {
				t.Fatalf("%s: event %d: %q, %v", method, i, lines.Text(), lines.Err())
			}
		}
		next <- struct{}{}
		if lines.Scan() || lines.Err() != nil {
			t.Errorf("%s: after the end: %q, %v", method, lines.Text(), lines.Err())
		}
		res.Body.Close()
	}
}

func TestALeavingClientCancelsTheCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		arrived, canceled := make(chan struct{}), make(chan struct{})
		w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if r.Method == http.MethodGet {
				_ = http.NewResponseController(rw).Flush()
			}
			arrived <- struct{}{}
			<-r.Context().Done()
			canceled <- struct{}{}
		})
		for i, method := range []string{"POST", "GET", "POST", "GET"} {
			if i == 2 {
				w.useHTTP2()
			}
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				<-arrived
				leave()
			}()
			res, err := w.client.Do(w.request(method, "/u/alice/mcp", alice, map[string]string{"POST": "{}"}[method]).WithContext(ctx))
			if err == nil {
				_, err = io.ReadAll(res.Body)
				res.Body.Close()
			}
			if err == nil {
				t.Errorf("%s ended without an error", method)
			}
			select {
			case <-canceled:
			case <-time.After(wait.Limit):
				t.Fatalf("%s: the bridge's context did not end", method)
			}
			leave()
		}
	})
}

func TestAnAnswerThatBreaksOffIsNotTakenForComplete(t *testing.T) {
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, "half")
		_ = http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	})
	res, err := w.client.Do(w.request("POST", "/u/alice/mcp", alice, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("read %q without an error", body)
	}
}

// wire is a bridge that writes bytes as they are.
func wire(answer string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, answer)
		_ = conn.Close()
	}
}

func TestAHostileBridgeStaysBehindTheAllowList(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		status       int
		body         string
	}{
		{"an early hint with a cookie", "HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=b\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok"},
		{"a trailer with a cookie", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Set-Cookie\r\n\r\n2\r\nok\r\n0\r\nSet-Cookie: a=b\r\n\r\n", 200, "ok"},
		{"an unannounced trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Evil: a\r\n\r\n", 200, "ok"},
		{"an upgrade that nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", 502, ""},
		{"an upgrade to nothing", "HTTP/1.1 101 Switching Protocols\r\n\r\n", 502, ""},
		{"no HTTP at all", "SSH-2.0-OpenSSH\r\n", 502, ""},
		{"nothing", "", 502, ""},
		{"an endless header", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 128<<10) + "\r\n\r\n", 502, ""},
		{"a status of zero", "HTTP/1.1 000 Zero\r\nContent-Length: 0\r\n\r\n", 502, ""},
		{"a status that nobody knows", "HTTP/1.1 999 What\r\nContent-Length: 2\r\n\r\nok", 999, "ok"},
		{"a redirect", "HTTP/1.1 307 Temporary Redirect\r\nLocation: https://evil.example/\r\nContent-Length: 0\r\n\r\n", 307, ""},
		{"another answer behind the first", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", 200, "ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, alice := oneUser(t, defaults(), wire(tt.answer))
			got := w.raw("GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + alice + "\r\nTE: trailers\r\nConnection: close\r\n\r\n")
			if got.status != tt.status || (tt.body != "" && got.body != tt.body) {
				t.Errorf("got %d %q, want %d %q", got.status, got.body, tt.status, tt.body)
			}
			for _, name := range []string{"Set-Cookie", "Link", "X-Evil", "Trailer", "Location", "Upgrade"} {
				if got.header.Get(name) != "" {
					t.Errorf("%s: %q reached the client", name, got.header.Get(name))
				}
			}
			if got.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Error("the base header is gone")
			}
		})
	}
}

func TestHTTP2WithoutTLS(t *testing.T) {
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(rw, "%s %s", r.Proto, body)
	})
	w.useHTTP2()
	if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); got.status != 200 || got.body != "HTTP/1.1 "+toolCall {
		t.Errorf("got %d %q", got.status, got.body)
	}
	if got := w.do(w.request("POST", "/u/alice/mcp", "", toolCall)); got.status != 401 {
		t.Errorf("without a key: %d, want 401", got.status)
	}
	if got := w.do(w.request("GET", "/u/alice/%6dcp", alice, "")); got.status != 404 {
		t.Errorf("an encoded path: %d, want 404", got.status)
	}
}

// useHTTP2 has the client speak HTTP/2 from its first byte.
func (w *world) useHTTP2() {
	w.client.CloseIdleConnections()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	w.client = &http.Client{Transport: &http.Transport{Protocols: protocols, DialContext: w.dialContext}, Timeout: wait.Limit}
}

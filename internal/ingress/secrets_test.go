// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// secretsWorld is a world of alice and bob without pods, and of what alice's
// servers may use.
func secretsWorld(t testing.TB, config Config) (w *world, alice, bob string) {
	t.Helper()
	w = newWorld(t, config)
	alice, bob = w.addUser("alice"), w.addUser("bob")
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Spec.Servers = []v1alpha1.Server{
			{Name: "github", Secrets: []v1alpha1.SecretName{"TOKEN", "credentials.json"}},
			{Name: "jira", Secrets: []v1alpha1.SecretName{"TOKEN"}},
			{Name: "open"},
		}
	})
	return w, alice, bob
}

// code returns the code of a problem.
func (r reply) code(t testing.TB) string {
	t.Helper()
	var p struct{ Code string }
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return p.Code
}

func TestSecretsAreSetListedAndRemoved(t *testing.T) {
	for _, state := range []v1alpha1.DesiredState{v1alpha1.StateRunning, v1alpha1.StateSuspended} {
		t.Run(string(state), func(t *testing.T) {
			w, alice, _ := secretsWorld(t, defaults())
			w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = state })
			const dates = `"created":"2026-01-02T03:04:05Z","updated":"2026-01-02T03:05:05Z","keyVersion":1`
			token := `{"name":"TOKEN","size":5,` + dates + `,"servers":["github","jira"]}`
			file := `{"name":"other.json","size":7,` + dates + `,"source":"gitops","servers":[],"warning":"No server uses a secret of this name. Servers use TOKEN, credentials.json."}`
			for _, step := range []struct {
				method, path, body string
				status             int
				want               string
			}{
				{"GET", "", "", 200, `{"secrets":[],"limit":2}`},
				{"GET", "/TOKEN", "", 404, ""},
				{"PUT", "/TOKEN", "one", 201, strings.Replace(token, `"size":5`, `"size":3`, 1)},
				{"PUT", "/TOKEN", "a\x00\xff\r\n", 200, token},
				{"PUT", "/other.json", "managed", 201, file},
				{"GET", "", "", 200, `{"secrets":[` + token + `,` + file + `],"limit":2}`},
				{"GET", "/TOKEN", "", 200, token},
				{"DELETE", "/TOKEN", "", 204, ""},
				{"DELETE", "/TOKEN", "", 404, ""},
				{"GET", "/TOKEN", "", 404, ""},
				{"GET", "", "", 200, `{"secrets":[` + file + `],"limit":2}`},
			} {
				r := w.request(step.method, "/u/alice/secrets"+step.path, alice, step.body)
				r.Header.Set("Content-Type", "application/x-anything")
				got := w.do(r)
				if got.status != step.status || got.header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s %s = %d %s, Cache-Control %q; want %d", step.method, step.path, got.status, got.body, got.header.Get("Cache-Control"), step.status)
				}
				if step.status == 404 {
					if got.code(t) != "secret_not_found" || got.header.Get("Content-Type") != "application/problem+json" {
						t.Errorf("%s %s = %s", step.method, step.path, got.body)
					}
				} else if got.body != step.want {
					t.Errorf("%s %s = %s, want %s", step.method, step.path, got.body, step.want)
				}
			}
			for _, call := range w.secrets.calls() {
				if call.of != aliceRef {
					t.Errorf("%s asked for %+v", call.method, call.of)
				}
			}
			if len(w.activity.calls) != 0 {
				t.Error("a change of secrets counts as a call of the bridge")
			}
		})
	}
}

// TestTheNameOfASecret sends names that are none, whose answer says what a name is.
func TestTheNameOfASecret(t *testing.T) {
	w, alice, _ := secretsWorld(t, defaults())
	for _, name := range []string{"token", "MY-TOKEN", "2TOKEN", strings.Repeat("A", 65), strings.Repeat("a", 60) + ".json", strings.Repeat("a", 63) + ".b"} {
		for method, body := range map[string]string{"GET": "", "PUT": "v", "DELETE": ""} {
			got := w.do(w.request(method, "/u/alice/secrets/"+name, alice, body))
			if got.status != 400 || got.code(t) != "secret_name_invalid" || !strings.Contains(got.body, "such as GITHUB_TOKEN") {
				t.Errorf("%s %s: %d %s", method, name, got.status, got.body)
			}
		}
	}
	if calls := w.secrets.calls(); len(calls) > 0 {
		t.Errorf("the keybroker was asked %d times", len(calls))
	}
}

func TestTheBodyOfASecret(t *testing.T) {
	for _, tt := range []struct {
		name    string
		size    int
		chunked bool
		status  int
		code    string
	}{
		{"empty", 0, false, 400, "secret_empty"},
		{"empty in chunks", 0, true, 400, "secret_empty"},
		{"one byte", 1, false, 201, ""},
		{"one byte in chunks", 1, true, 201, ""},
		{"the largest", management.MaxSecret, false, 201, ""},
		{"the largest in chunks", management.MaxSecret, true, 201, ""},
		{"too large", management.MaxSecret + 1, false, 413, "body_too_large"},
		{"too large in chunks", management.MaxSecret + 1, true, 413, "body_too_large"},
		{"much too large in chunks", 5 * management.MaxSecret, true, 413, "body_too_large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, alice, _ := secretsWorld(t, defaults())
			value := strings.Repeat("v", tt.size)
			r := w.request("PUT", "/u/alice/secrets/TOKEN", alice, value)
			if tt.chunked {
				r.Body, r.ContentLength = io.NopCloser(iotestOneByteFirst(value)), -1
			}
			got := w.do(r)
			if got.status != tt.status || tt.code != "" && got.code(t) != tt.code {
				t.Errorf("%d %s, want %d %s", got.status, got.body, tt.status, tt.code)
			}
			calls := w.secrets.calls()
			if (len(calls) == 1) != (tt.status == 201) || len(calls) == 1 && calls[0].value != value {
				t.Errorf("%d calls of the keybroker, or another value", len(calls))
			}
			eventually(t, func() bool {
				return w.server.router.bounds.memory.Bodies.Held() == 0
			})
		})
	}
}

// iotestOneByteFirst reads s, one byte first, as a slow client sends it.
func iotestOneByteFirst(s string) io.Reader {
	n := min(1, len(s))
	return io.MultiReader(strings.NewReader(s[:n]), strings.NewReader(s[n:]))
}

func TestAValueIsClearedWhenItsCallHasEnded(t *testing.T) {
	for name, fail := range map[string]error{"set": nil, "refused": &client.Refusal{Status: 503, Code: "busy"}, "lost": io.ErrUnexpectedEOF} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w, alice, _ := secretsWorld(t, defaults())
				w.secrets.failBy(func(context.Context, int) error { return fail })
				w.do(w.request("PUT", "/u/alice/secrets/TOKEN", alice, "a value to clear"))
				w.stop() // So that the handler has returned.
				if err := <-w.ended; err != nil {
					t.Fatal(err)
				}
				w.ended <- nil
				for _, b := range w.secrets.buffers {
					if len(b) != 16 || len(bytes.Trim(b[:cap(b)], "\x00")) > 0 {
						t.Errorf("%d bytes are left as they were", len(b))
					}
				}
			})
		})
	}
}

func TestWhatTheKeybrokerSaysBecomesAProblem(t *testing.T) {
	w, alice, _ := secretsWorld(t, defaults())
	refusal := func(status int, code, detail string) error {
		return fmt.Errorf("set secret: %w", &client.Refusal{Status: status, Code: code, Detail: detail})
	}
	for _, tt := range []struct {
		name   string
		err    error
		status int
		code   string
		detail string // Empty: not the keybroker's.
		retry  string
	}{
		{"managed", refusal(409, "secret_managed", "Change the Secret gitops."), 409, "secret_managed", "Change the Secret gitops.", ""},
		{"managed, without saying by what", refusal(409, "secret_managed", ""), 409, "secret_managed", "", ""},
		{"one too many", refusal(409, "secret_limit_reached", "The tier free allows 5 secrets."), 409, "secret_limit_reached", "The tier free allows 5 secrets.", ""},
		{"no such secret", refusal(404, "secret_not_found", "x-detail"), 404, "secret_not_found", "", ""},
		{"too large", refusal(413, "body_too_large", "x-detail"), 413, "body_too_large", "", ""},
		{"too large together", refusal(413, "secrets_too_large", "x-detail"), 413, "secrets_too_large", "", ""},
		{"changed by others all the time", refusal(409, "conflict", "x-detail"), 503, "secrets_unavailable", "", "5"},
		{"busy", refusal(503, "busy", "x-detail"), 503, "secrets_unavailable", "", "5"},
		{"the API server is away", refusal(503, "cluster_unavailable", "x-detail"), 503, "secrets_unavailable", "", "5"},
		{"too many requests", refusal(429, "", ""), 503, "secrets_unavailable", "", "5"},
		{"something in between is busy", refusal(503, "", ""), 503, "secrets_unavailable", "", "5"},
		{"the salt is gone", refusal(409, "salt_missing", "x-detail"), 409, "secrets_lost", "", ""},
		{"the salt is none", refusal(409, "salt_invalid", "x-detail"), 500, "secrets_damaged", "", ""},
		{"a tier that does not exist", refusal(409, "tier_unknown", "spec.tier names gold."), 409, "tier_unknown", "spec.tier names gold.", ""},
		{"our own body broke off", refusal(400, "body_unreadable", "x-detail"), 503, "secrets_unavailable", "", "5"},
		{"the master key is away", refusal(503, "master_key_unavailable", "x-detail"), 503, "secrets_unavailable", "", "5"},
		{"somebody else's Secret", refusal(409, "secret_not_owned", "x-detail"), 500, "secrets_damaged", "", ""},
		{"it does not open", refusal(500, "secret_unreadable", "x-detail"), 500, "secrets_damaged", "", ""},
		{"we are not who we should be", refusal(403, "caller_not_allowed", "x-detail"), 500, "internal", "", ""},
		{"a name that we should not have let in", refusal(400, "name_invalid", "x-detail"), 500, "internal", "", ""},
		{"another answer", refusal(302, "", ""), 500, "internal", "", ""},
		{"no answer", io.ErrUnexpectedEOF, 503, "secrets_unavailable", "", "5"},
		{"no answer in time", context.DeadlineExceeded, 503, "secrets_unavailable", "", "5"},
		{"no connection", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, 503, "secrets_unavailable", "", "5"},
		{"a bridge that is gone", refusal(404, "bridge_not_found", "x-detail"), 404, "not_found", "", ""},
	} {
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			t.Run(tt.name+", "+method, func(t *testing.T) {
				w.secrets.failWith(tt.err)
				body := ""
				if method == "PUT" {
					body = "value"
				}
				got := w.do(w.request(method, "/u/alice/secrets/TOKEN", alice, body))
				if got.status != tt.status || got.code(t) != tt.code || got.header.Get("Retry-After") != tt.retry {
					t.Errorf("%d %s, Retry-After %q; want %d %s, %q", got.status, got.body, got.header.Get("Retry-After"), tt.status, tt.code, tt.retry)
				}
				if got.header.Get("Content-Type") != "application/problem+json" || got.header.Get("Cache-Control") != "no-store" {
					t.Errorf("header %v", got.header)
				}
				if !strings.Contains(got.body, tt.detail) || strings.Contains(got.body, "x-detail") || strings.Contains(got.body, `"detail":""`) {
					t.Errorf("body %s, want the detail %q", got.body, tt.detail)
				}
			})
		}
	}
}

func TestOnlyWhatWasNotSentIsSentAgain(t *testing.T) {
	w, alice, _ := secretsWorld(t, defaults())
	refused := fmt.Errorf("set secret: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})
	once := func(err error) func(context.Context, int) error {
		return func(_ context.Context, n int) error {
			if n == 1 {
				return err
			}
			return nil
		}
	}
	for _, tt := range []struct {
		name  string
		fail  func(context.Context, int) error
		calls int
		sets  bool
	}{
		{"nobody listened once", once(refused), 2, true},
		{"nobody listens", func(context.Context, int) error { return refused }, management.SecretsAttempts, false},
		{"the answer was lost", once(io.ErrUnexpectedEOF), 1, false},
		{"the connection was reset", once(&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}), 1, false},
		{"it took too long", once(context.DeadlineExceeded), 1, false},
		{"busy", once(&client.Refusal{Status: 503, Code: "busy"}), 1, false},
	} {
		for method, set := range map[string]int{"PUT": 201, "GET": 200} {
			t.Run(tt.name+", "+method, func(t *testing.T) {
				w.secrets.forget()
				w.secrets.failBy(tt.fail)
				path, body := "/u/alice/secrets", ""
				if method == "PUT" {
					path, body = path+"/TOKEN", "value"
				}
				got := w.do(w.request(method, path, alice, body))
				want := set
				if !tt.sets {
					want = 503
				}
				calls := w.secrets.calls()
				if got.status != want || len(calls) != tt.calls {
					t.Errorf("%d after %d calls, want %d after %d", got.status, len(calls), want, tt.calls)
				}
				for _, call := range calls {
					if method == "PUT" && call.value != "value" {
						t.Error("another attempt had another value")
					}
				}
			})
		}
	}
}

func TestSecretsAreTheirUsersAlone(t *testing.T) {
	w, alice, bob := secretsWorld(t, defaults())
	w.do(w.request("PUT", "/u/bob/secrets/TOKEN", bob, "bob's"))
	w.changeBridge("bob", func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended })
	w.secrets.failBy(nil)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		for _, path := range []string{"/secrets/TOKEN", "/secrets/NONE", "/secrets"} {
			t.Run(method+" "+path, func(t *testing.T) {
				ask := func(user, key string, change ...func(*http.Request)) reply {
					r := w.request(method, "/u/"+user+path, key, "value")
					for _, f := range change {
						f(r)
					}
					return withoutChance(w.do(r))
				}
				if method != "PUT" {
					ask = func(user, key string, change ...func(*http.Request)) reply {
						r := w.request(method, "/u/"+user+path, key, "")
						for _, f := range change {
							f(r)
						}
						return withoutChance(w.do(r))
					}
				}
				if method != "GET" && path == "/secrets" {
					if got := ask("bob", alice); got.status != 405 || got.header.Get("Allow") != "GET" {
						t.Errorf("%d, Allow %q", got.status, got.header.Get("Allow"))
					}
					return
				}
				unknown := ask("nobody", alice)
				if unknown.status != 401 || unknown.code(t) != "unauthorized" {
					t.Errorf("an unknown user: %d %s", unknown.status, unknown.body)
				}
				if diff := cmp.Diff(unknown, ask("bob", alice), cmp.AllowUnexported(reply{})); diff != "" {
					t.Errorf("bob's differs from an unknown user's (-unknown +bob's):\n%s", diff)
				}
				none := ask("bob", "")
				if none.status != 401 {
					t.Errorf("without a key: %d %s", none.status, none.body)
				}
				if diff := cmp.Diff(none, ask("nobody", otherKey(t)), cmp.AllowUnexported(reply{})); diff != "" {
					t.Errorf("an unknown key differs from none (-none +unknown):\n%s", diff)
				}
				evil := ask("bob", bob, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example.com") })
				if evil.status != 403 || evil.code(t) != "origin_not_allowed" {
					t.Errorf("from another origin: %d %s", evil.status, evil.body)
				}
			})
		}
	}
	if calls := w.secrets.calls(); len(calls) != 0 {
		t.Errorf("the keybroker was asked %v", calls)
	}
}

func TestAKeyThatIsRevokedWhileTheValueComesSetsNothing(t *testing.T) {
	w, alice, _ := secretsWorld(t, defaults())
	conn := w.open("PUT /u/alice/secrets/TOKEN HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\nAuthorization: Bearer " + alice + "\r\n\r\nva")
	eventually(t, func() bool {
		return w.server.router.bounds.memory.Bodies.Held() == 5
	})
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = nil })
	if _, err := io.WriteString(conn, "lue"); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(wait.Limit))
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 401") {
		t.Errorf("%v: %.100q", err, answer)
	}
	if calls := w.secrets.calls(); len(calls) != 0 {
		t.Errorf("the keybroker was asked %v", calls)
	}
}

func TestAClientThatLeavesEndsTheCall(t *testing.T) {
	w, alice, _ := secretsWorld(t, defaults())
	asking, ended := make(chan struct{}), make(chan error, 1)
	w.secrets.failBy(func(ctx context.Context, _ int) error {
		close(asking)
		<-ctx.Done()
		ended <- ctx.Err()
		return fmt.Errorf("set secret: %w", ctx.Err())
	})
	conn := w.open("PUT /u/alice/secrets/TOKEN HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nAuthorization: Bearer " + alice + "\r\n\r\nvalue")
	<-asking
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	eventually(t, func() bool { return w.metric("requests_total", "secrets", "PUT", "499") == 1 })
}

func TestSecretsInLogAndMetrics(t *testing.T) {
	w, alice, bob := secretsWorld(t, defaults())
	w.do(w.request("PUT", "/u/alice/secrets/TOKEN?x=QUERY", alice, "value"))
	w.do(w.request("GET", "/u/alice/secrets", alice, ""))
	w.do(w.request("GET", "/u/alice/secrets/FOREIGN", bob, ""))
	w.do(w.request("GET", "/u/alice/secrets/STRANGE", "", ""))
	eventually(t, func() bool { return w.metric("requests_total", "secrets") == 4 })
	if n := w.metric("requests_total", "secrets", "PUT", "201"); n != 1 {
		t.Errorf("%v PUTs are counted, want 1", n)
	}
	var names []any
	eventually(t, func() bool {
		names = nil
		for line := range strings.Lines(w.logs.String()) {
			var record map[string]any
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatal(err)
			}
			if record["route"] == "secrets" {
				names = append(names, record["secret"])
			}
		}
		return len(names) == 4
	})
	// Of those who are not the user, nothing that they wrote is kept.
	if want := []any{"TOKEN", nil, nil, nil}; !slices.Equal(names, want) {
		t.Errorf("the log names %v, want %v", names, want)
	}
	_, metrics := w.probe("/metrics")
	for _, word := range []string{"TOKEN", "FOREIGN", "STRANGE", "QUERY", "alice"} {
		if strings.Contains(metrics, word) {
			t.Errorf("the metrics have %s", word)
		}
		if word != "TOKEN" && word != "alice" && strings.Contains(w.logs.String(), word) {
			t.Errorf("the log has %s", word)
		}
	}
}

// Who is refused while still sending may have the connection closed under it
// and never read why.
func TestATooLongSecretIsRefusedAfterItHasCome(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice := oneUser(t, defaults(), servedBy("alice"))
		conn := w.dial()
		half := strings.Repeat("x", management.MaxSecret)
		_, err := fmt.Fprintf(conn, "PUT /u/alice/secrets/TOKEN HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
			alice, 2*management.MaxSecret, half)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("answered before the body has come: %d bytes, %v", n, err)
		}
		if _, err := io.WriteString(conn, half); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(wait.Limit)); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d, want %d", res.StatusCode, http.StatusRequestEntityTooLarge)
		}
	})
}

func TestEachChangeOfASecretIsInTheAuditTrail(t *testing.T) {
	w, alice, _ := secretsWorld(t, defaults())
	const value = "hb-canary-value"
	for _, step := range []struct {
		method, name, body string
		fail               error
		status             int
	}{
		{"PUT", "TOKEN", value, nil, 201},
		{"PUT", "TOKEN", value, nil, 200},
		{"PUT", "managed.json", "managed", nil, 201},
		{"GET", "TOKEN", "", nil, 200},
		{"PUT", "token", value, nil, 400},
		{"PUT", "OTHER", value, nil, 409},
		{"DELETE", "managed.json", "", nil, 409},
		{"DELETE", "OTHER", "", nil, 404},
		{"PUT", "TOKEN", value, syscall.ECONNREFUSED, 503},
		{"PUT", "TOKEN", value, io.ErrUnexpectedEOF, 503},
		{"DELETE", "TOKEN", "", &client.Refusal{Status: 503, Code: "cluster_unavailable"}, 503},
		{"DELETE", "TOKEN", "", nil, 204},
	} {
		w.secrets.failWith(step.fail)
		if got := w.do(w.request(step.method, "/u/alice/secrets/"+step.name, alice, step.body)); got.status != step.status {
			t.Errorf("%s %s: %d %s, want %d", step.method, step.name, got.status, got.body, step.status)
		}
	}
	var acts []string
	for _, e := range w.audit.all() {
		if line, err := json.Marshal(e); err != nil || strings.Contains(string(line), value) {
			t.Errorf("an entry has the value, or error %v", err)
		}
		acts = append(acts, strings.Join([]string{e.Method, e.Action, e.UserID, string(e.Principal.Kind), string(e.Status), e.ErrorType}, " "))
	}
	want := []string{
		"user/secrets.set TOKEN alice user_key success ", "user/secrets.set TOKEN alice user_key success ", "user/secrets.set managed.json alice user_key success ",
		"user/secrets.set TOKEN alice user_key upstream_error outcome_unknown", "user/secrets.delete TOKEN alice user_key upstream_error outcome_unknown",
		"user/secrets.delete TOKEN alice user_key success ",
	}
	if diff := cmp.Diff(want, acts); diff != "" {
		t.Errorf("acts (-want +got):\n%s", diff)
	}
	w.audit.fail(errors.New("the disk is full"))
	if got := w.do(w.request("PUT", "/u/alice/secrets/TOKEN", alice, value)); got.status != 503 || got.code(t) != "audit_unavailable" {
		t.Errorf("without an audit trail: %d %s", got.status, got.body)
	}
}

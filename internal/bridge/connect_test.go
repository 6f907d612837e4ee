// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/pipeline"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	connectPage = "https://bridges.example.com/oauth/connect/alice/one"
	// codeSecret is a login as who connects an account leaves it.
	codeSecret = `{"authorization_code":"c4n4ry-code","code_verifier":"c4n4ry-verifier","redirect_uri":"https://bridges.example.com/oauth/connected/one"}`
)

// account is a bridge of a server that is used with an account of its user.
type account struct {
	*rig
	server *guardedServer
	log    *logtest.Log

	mu       sync.Mutex
	secrets  []string // pairs
	revision int
	asked    []string // the grants that the authorization server was asked for
	codes    map[string]bool
}

func newAccount(t *testing.T, t0 upstream.Timing, change ...func(*bridgeconfig.Config)) *account {
	t.Helper()
	a := &account{server: newGuardedServer(t, bridgeconfig.StreamableHTTP), log: &logtest.Log{}, codes: map[string]bool{"c4n4ry-code": true}}
	tokens := httptest.NewServer(http.HandlerFunc(a.grant))
	t.Cleanup(tokens.Close)
	a.server.OAuth = &bridgeconfig.OAuth{Grant: bridgeconfig.AuthorizationCode, TokenURL: tokens.URL, ClientID: "me", Token: "LOGIN"}
	a.server.Secrets, a.server.ConnectURL = []string{"LOGIN"}, connectPage
	c := bridgeconfig.Config{UserID: "alice", BridgeUID: "uid-1", Egress: bridgeconfig.Egress{Unrestricted: true}, Servers: []bridgeconfig.Server{a.server.Server}}
	for _, edit := range change {
		edit(&c)
	}
	must.Succeed(t, c.Validate())
	b := New(t.Context(), c, Options{
		Log: slog.New(slog.NewJSONHandler(a.log, &slog.HandlerOptions{Level: slog.LevelDebug})), timing: &t0,
		SaveSecret: func(_ context.Context, _ string, value []byte) error {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.secrets = []string{"LOGIN", string(value)}
			return nil
		},
	})
	t.Cleanup(func() {
		if strings.Contains(a.log.String(), "c4n4ry") {
			t.Errorf("log = %s", a.log)
		}
	})
	a.rig = serveBridge(t, b)
	a.use()
	return a
}

// grant is the authorization server's answer: a code is good once, and no
// refresh token is.
func (a *account) grant(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.PostForm.Get("grant_type"))
	w.Header().Set("Content-Type", "application/json")
	code := r.PostForm.Get("code")
	if !a.codes[code] || r.PostForm.Get("code_verifier") != "c4n4ry-verifier" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"c4n4ry"}`)
		return
	}
	delete(a.codes, code)
	_, _ = io.WriteString(w, `{"access_token":"c4n4ry-access","refresh_token":"c4n4ry-refresh","token_type":"Bearer","expires_in":3600}`)
}

// use gives the bridge the user's secrets as they are, after a change of them.
func (a *account) use(pairs ...string) {
	a.mu.Lock()
	if pairs != nil {
		a.secrets = pairs
	}
	a.revision++
	set := secretsOf(fmt.Sprint(a.revision), a.secrets...)
	a.mu.Unlock()
	a.bridge.UseSecrets(set)
}

// logIn is what the installation does when the user has been at the page.
func (a *account) logIn() { a.use("LOGIN", codeSecret) }

func (a *account) grants() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.asked, " ")
}

// visitor is a client that sends its user to pages. What it was asked it tells
// there, and go on says what the user does.
func visitor(asked chan *mcp.ElicitParams, goOn func() string) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked <- req.Params
			return &mcp.ElicitResult{Action: goOn()}, nil
		},
	}
}

func TestAModernClientSendsItsUserToThePageAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*bridgeconfig.Config){
		"to the one server": func(*bridgeconfig.Config) {},
		"through the router": func(c *bridgeconfig.Config) {
			c.Mode = bridgeconfig.Router
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, fast, change)
			// The tools of a server that nobody has logged in at are not known.
			a.logIn()
			connected(t, a.bridge)
			a.use("OTHER", "x")
			a.mu.Lock()
			a.codes["c4n4ry-code"] = true
			a.mu.Unlock()
			asked := make(chan *mcp.ElicitParams, 4)
			client := a.connect(t, "modern", visitor(asked, func() string {
				go func() {
					for a.bridge.Health().Busy == 0 {
						runtime.Gosched() // The call comes back before the user has logged in.
					}
					a.logIn()
				}()
				return "accept"
			}))
			params := &mcp.CallToolParams{Name: "echo"}
			if name == "through the router" {
				params = &mcp.CallToolParams{Name: "mcp", Arguments: map[string]any{"tool": "echo", "server": "one"}}
			}
			result, err := client.CallTool(t.Context(), params)
			if err != nil || text(t, result) != "ok" {
				t.Fatalf("result = %+v, %v", result, err)
			}
			want := &mcp.ElicitParams{Mode: "url", URL: connectPage, Message: `Log in to use the server "one".`}
			if diff := cmp.Diff(want, next(t, asked, "question")); diff != "" || len(asked) != 0 {
				t.Errorf("asked %d times more (-want +got):\n%s", len(asked), diff)
			}
			if got := a.grants(); got != "authorization_code authorization_code" {
				t.Errorf("the authorization server was asked for %s", got)
			}
		})
	}
}

// TestAUserIsNotSentToThePageForEver has one who does not want to log in, and one
// who says so and does not.
func TestAUserIsNotSentToThePageForEver(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"decline", "cancel", "accept"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			soon := fast
			soon.Login = 20 * time.Millisecond
			a := newAccount(t, soon)
			asked := make(chan *mcp.ElicitParams, 4)
			client := a.connect(t, "modern", visitor(asked, func() string { return action }))
			result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
			if err != nil || !result.IsError || !strings.Contains(text(t, result), connectPage) || len(asked) != 1 {
				t.Errorf("asked %d times; result = %+v, %v", len(asked), result, err)
			}
		})
	}
}

func TestALegacyClientIsToldWhenItsUserHasLoggedIn(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fast)
	done := make(chan string, 4)
	opts := visitor(make(chan *mcp.ElicitParams, 4), func() string { return "accept" })
	opts.ElicitationCompleteHandler = func(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
		done <- req.Params.ElicitationID
	}
	client := a.connect(t, "legacy", opts)
	other := a.connect(t, "legacy", nil) // It was asked nothing and is told nothing.
	var ids []string
	for range 2 {
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
		var rpc *jsonrpc.Error
		if !errors.As(err, &rpc) || rpc.Code != mcp.CodeURLElicitationRequired || !strings.Contains(rpc.Message, connectPage) {
			t.Fatalf("error = %v", err)
		}
		var data struct {
			Elicitations []map[string]string `json:"elicitations"`
		}
		if err := json.Unmarshal(rpc.Data, &data); err != nil || len(data.Elicitations) != 1 {
			t.Fatalf("data = %s, %v", rpc.Data, err)
		}
		asked := data.Elicitations[0]
		ids = append(ids, asked["elicitationId"])
		delete(asked, "elicitationId")
		if diff := cmp.Diff(map[string]string{"mode": "url", "url": connectPage, "message": `Log in to use the server "one".`}, asked); diff != "" {
			t.Errorf("question (-want +got):\n%s", diff)
		}
	}
	if len(ids[0]) < 20 || ids[1] != ids[0] {
		t.Errorf("ids = %q", ids)
	}
	a.logIn()
	if got := next(t, done, "notification"); got != ids[0] {
		t.Errorf("the client is told of %q, want %q", got, ids[0])
	}
	for _, c := range []*mcp.ClientSession{client, other} {
		if result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"}); err != nil || text(t, result) != "ok" {
			t.Errorf("result = %+v, %v", result, err)
		}
	}
	if len(done) != 0 {
		t.Error("it is told again")
	}
}

// TestAClientThatOpensNoPagesIsToldWhereItIs has clients that ask by forms alone,
// and such that ask nothing.
func TestAClientThatOpensNoPagesIsToldWhereItIs(t *testing.T) {
	t.Parallel()
	const said = `server "one" is not available: secret LOGIN is not set; the user has to log in at ` + connectPage
	for clientEra := range eraNames {
		for name, opts := range map[string]*mcp.ClientOptions{"asks nothing": nil, "asks by forms": asking("ann")} {
			t.Run(clientEra+" that "+name, func(t *testing.T) {
				t.Parallel()
				a := newAccount(t, fast)
				client := a.connect(t, clientEra, opts)
				if got := client.InitializeResult().Instructions; !strings.Contains(got, connectPage) {
					t.Errorf("instructions = %q", got)
				}
				for range 2 * pipeline.UnreachedCalls { // It is given no rest for that.
					result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
					if err != nil || !result.IsError {
						t.Fatalf("result = %+v, %v", result, err)
					}
					want := fmt.Sprintf(`{"error":"login_required","message":%s,"server":"one","connectURL":%q}`, message.Quote(said), connectPage)
					if got := text(t, result); got != want {
						t.Errorf("result = %s, want %s", got, want)
					}
				}
				_, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "ask"})
				var rpc *jsonrpc.Error
				if !errors.As(err, &rpc) || rpc.Message != said ||
					string(rpc.Data) != `{"code":"upstream_unavailable","connectURL":"`+connectPage+`","server":"one"}` {
					t.Errorf("error = %v", err)
				}
				a.logIn()
				if result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"}); err != nil || text(t, result) != "ok" {
					t.Errorf("result = %+v, %v", result, err)
				}
			})
		}
	}
}

func TestHealthSaysWhereTheUserLogsIn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		secret, want string
	}{
		"who never did":                      {"", "secret LOGIN is not set"},
		"whose login is used up":             {"c4n4ry-used", "log in again: the authorization server does not accept the login any more"},
		"whose login is none":                {"c4n4ry none", "log in again: secret LOGIN holds no tokens of a login"},
		"whose login was not finished":       {strings.Replace(codeSecret, "c4n4ry-code", "c4n4ry-late", 1), "log in again: the authorization server does not accept the code of the last login, which is good for minutes and once"},
		"whose login cannot be refreshed":    {`{"access_token":"c4n4ry","expiry":"2026-01-01T00:00:00Z"}`, "log in again: the login has expired and cannot be refreshed"},
		"who has another kind of token only": {`{"access_token":"c4n4ry","token_type":"mac"}`, "log in again: secret LOGIN holds no tokens of a login"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, fast)
			if tt.secret != "" {
				a.use("LOGIN", tt.secret)
			}
			var got health.Server
			wait.Until(t, "the reason", func() bool {
				got = a.bridge.Health().Servers["one"]
				return got.Error == tt.want && got.Status == health.Unhealthy
			})
			if got.Reason != health.ReasonLoginRequired || got.ConnectURL != connectPage {
				t.Errorf("health = %+v", got)
			}
			client := a.connect(t, "modern", nil)
			result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
			if err != nil || !result.IsError || !strings.Contains(text(t, result), tt.want+"; the user has to log in at "+connectPage) {
				t.Errorf("result = %+v, %v", result, err)
			}
			a.logIn()
			wait.Until(t, "its being healthy", func() bool {
				got = a.bridge.Health().Servers["one"]
				return got.Status == health.Healthy && got.Reason == "" && got.ConnectURL == ""
			})
			connected(t, a.bridge) // It is healthy a moment before.
			l := a.bridge.set.only().Peek()
			a.use() // What was stored meanwhile comes back.
			if a.bridge.set.only().Peek() != l || l.Life.Dead() {
				t.Error("what the bridge has stored itself is taken for a new login")
			}
			if result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"}); err != nil || text(t, result) != "ok" {
				t.Errorf("result = %+v, %v", result, err)
			}
		})
	}
}

// TestALoginThatEndsDuringASessionIsAskedForAnew has the server refuse a token
// that it took before.
func TestALoginThatEndsDuringASessionIsAskedForAnew(t *testing.T) {
	t.Parallel()
	for _, clientEra := range []string{"legacy", "modern"} {
		t.Run(clientEra, func(t *testing.T) {
			t.Parallel()
			slow := fast
			slow.Interval = time.Hour // So that the call is the first to see it.
			a := newAccount(t, slow)
			a.logIn()
			connected(t, a.bridge)
			client := a.connect(t, clientEra, nil)
			if result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"}); err != nil || text(t, result) != "ok" {
				t.Fatalf("result = %+v, %v", result, err)
			}
			a.bridge.set.only().Login.Source.Refill(func(string) (string, bool) { return "c4n4ry-used", true })
			result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
			if err != nil || !result.IsError || !strings.Contains(text(t, result), "log in again: ") || !strings.Contains(text(t, result), connectPage) {
				t.Errorf("result = %+v, %v", result, err)
			}
		})
	}
}

// TestAUserWhoseLoginEndsDuringASessionIsWaitedFor has a call be the first to see
// that it has ended, and the user be at the page while the client goes on.
func TestAUserWhoseLoginEndsDuringASessionIsWaitedFor(t *testing.T) {
	t.Parallel()
	slow := fast
	slow.Interval = time.Hour
	a := newAccount(t, slow)
	a.logIn()
	connected(t, a.bridge)
	asked := make(chan *mcp.ElicitParams, 4)
	client := a.connect(t, "modern", visitor(asked, func() string {
		if got := a.bridge.Health().Servers["one"]; got.Reason != health.ReasonLoginRequired || got.ConnectURL != connectPage {
			t.Errorf("health = %+v", got)
		}
		a.mu.Lock()
		a.codes["c4n4ry-again"] = true
		a.mu.Unlock()
		go a.use("LOGIN", strings.Replace(codeSecret, "c4n4ry-code", "c4n4ry-again", 1))
		return "accept"
	}))
	a.bridge.set.only().Login.Source.Refill(func(string) (string, bool) { return "c4n4ry-used", true })
	result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
	if err != nil || text(t, result) != "ok" || len(asked) != 1 {
		t.Errorf("asked %d times; result = %+v, %v", len(asked), result, err)
	}
	if got := a.bridge.Health().Servers["one"]; got.Reason != "" {
		t.Errorf("health = %+v", got)
	}
}

func TestTheRouterSaysWhereTheUserLogsIn(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, fast, func(c *bridgeconfig.Config) { c.Mode = bridgeconfig.Router })
			client := a.connect(t, clientEra, visitor(make(chan *mcp.ElicitParams, 4), func() string { return "decline" }))
			if got := client.InitializeResult().Instructions; !strings.Contains(got, "# one\n\nThe user has to log in") {
				t.Errorf("instructions = %q", got)
			}
			for _, arguments := range []map[string]any{
				{"action": "status"}, {"action": "refresh"}, {"action": "list", "server": "one"}, {"tool": "echo", "server": "one"},
			} {
				result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "mcp", Arguments: arguments})
				said := fmt.Sprint(err) // A legacy client is asked by an error.
				if err == nil {
					said = text(t, result)
				}
				if !strings.Contains(said, connectPage) {
					t.Errorf("%v: %s", arguments, said)
				}
			}
		})
	}
}

// TestWithoutAPageThereIsNoneToName holds for a person's own machine.
func TestWithoutAPageThereIsNoneToName(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fast, func(c *bridgeconfig.Config) { c.Servers[0].ConnectURL = "" })
	if got := a.bridge.Health().Servers["one"]; got.Reason != health.ReasonLoginRequired || got.ConnectURL != "" {
		t.Errorf("health = %+v", got)
	}
	for clientEra := range eraNames {
		client := a.connect(t, clientEra, visitor(make(chan *mcp.ElicitParams, 4), func() string { return "accept" }))
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
		var rpc *jsonrpc.Error
		if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInternalError || rpc.Message != `server "one" is not available: secret LOGIN is not set` {
			t.Errorf("%s: error = %v", clientEra, err)
		}
		if got := client.InitializeResult().Instructions; got != "This server is not available: secret LOGIN is not set." {
			t.Errorf("instructions = %q", got)
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/programs"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// received is a message that a scripted server was sent.
type received struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string                     `json:"name"`
		Meta      map[string]json.RawMessage `json:"_meta"`
		Arguments struct{ Format string }    `json:"arguments"`
	} `json:"params"`
	Error  json.RawMessage `json:"error"`
	header http.Header
}

// dialogue is a legacy server that says exactly what the test says, over a
// transport whose messages share one stream.
type dialogue struct {
	// answers are called for each message with what speaks to the client.
	answer func(m received, say func(format string, args ...any))
	// endpoint is where messages go over HTTP+SSE.
	endpoint string
	opened   atomic.Int32 // connections
}

const dialogueInitialized = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}`

// heard answers what every client sends and leaves the rest to the test.
func (s *dialogue) heard(m received, say func(format string, args ...any)) {
	switch {
	case m.Method == methods.Initialize:
		say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, dialogueInitialized)
	case m.Method == methods.Discover:
		say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
	case m.Method == methods.ListTools:
		say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`, m.ID)
	case m.Method == methods.Ping:
		say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	default:
		s.answer(m, say)
	}
}

// serve serves the dialogue over a transport.
func (s *dialogue) serve(t *testing.T, kind bridgeconfig.Transport) bridgeconfig.Server {
	t.Helper()
	if kind == bridgeconfig.SSE {
		return bridgeconfig.Server{Name: "one", Transport: kind, URL: s.overSSE(t).URL + "/sse"}
	}
	memoryPrograms.Store(t.Name(), s)
	t.Cleanup(func() { memoryPrograms.Delete(t.Name()) })
	return bridgeconfig.Server{Name: "one", Transport: kind, Program: &bridgeconfig.Program{Command: []string{t.Name()}}}
}

func (s *dialogue) connect(stdio.Launch) client.Dialer { return s.start }

func (s *dialogue) start(context.Context) (client.Stream, error) {
	s.opened.Add(1)
	toServer, ours := io.Pipe()
	theirs, toClient := io.Pipe()
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(toClient, format+"\n", args...)
	}
	go func() {
		defer func() { _ = toClient.Close() }()
		for lines := bufio.NewReader(toServer); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var m received
			if json.Unmarshal(line, &m) == nil {
				s.heard(m, say)
			}
		}
	}()
	return programs.Lines(theirs, ours), nil
}

func (s *dialogue) overSSE(t *testing.T) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	streams := map[string]func(string, ...any){}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Query().Get("id")
		if r.Method == http.MethodPost {
			var m received
			if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
				return
			}
			m.header = r.Header
			mu.Lock()
			say := streams[id]
			mu.Unlock()
			w.WriteHeader(http.StatusAccepted)
			s.heard(m, say)
			return
		}
		id = fmt.Sprint(s.opened.Add(1))
		var writing sync.Mutex
		over := false // Nothing may be written any more.
		say := func(format string, args ...any) {
			writing.Lock()
			defer writing.Unlock()
			if over {
				return
			}
			_, _ = fmt.Fprintf(w, "event: message\ndata: "+format+"\n\n", args...)
			_ = http.NewResponseController(w).Flush()
		}
		mu.Lock()
		streams[id] = say
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		writing.Lock()
		_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s?id=%s\n\n", s.endpoint, id)
		_ = http.NewResponseController(w).Flush()
		writing.Unlock()
		<-r.Context().Done()
		writing.Lock()
		over = true
		writing.Unlock()
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// wires are the transports whose messages share one stream.
var wires = []bridgeconfig.Transport{bridgeconfig.SSE, bridgeconfig.Stdio}

func TestWhatNobodyKnowsPassesOnEveryWire(t *testing.T) {
	t.Parallel()
	const call = `{"content":[{"type":"hologram","x":1}],"structuredContent":{"id":9007199254740993},"future":[true]}`
	for _, kind := range wires {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := &dialogue{endpoint: "/messages", answer: func(m received, say func(string, ...any)) {
				if m.Method == methods.CallTool {
					say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"odd":9007199254740993}}`, m.Params.Meta["progressToken"])
					say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"late","odd":1}}`)
					say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, call)
				}
			}}
			r := newRig(t, fast, s.serve(t, kind))
			connected(t, r.bridge)
			bodies := map[string]string{}
			_, bodies["legacy"] = r.do(t, "POST", r.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":7}}}`, r.session(t))
			modern := strings.Replace(modernBody(1, "tools/call", `"name":"t",`), `"_meta":{`, `"_meta":{"progressToken":7,"io.modelcontextprotocol/logLevel":"info",`, 1)
			_, bodies["modern"] = r.do(t, "POST", r.url, modern, modernHeader("tools/call", "t"))
			for clientEra, body := range bodies {
				got := fieldsOf(t, string(answerOf(t, body)["result"]))
				delete(got, "_meta")
				delete(got, "resultType")
				if diff := cmp.Diff(fieldsOf(t, call), got); diff != "" {
					t.Errorf("%s client (-want +got):\n%s", clientEra, diff)
				}
				at := -1
				for _, part := range []string{`"progressToken":7`, `"late"`, "hologram"} {
					before := at
					if at = strings.Index(body, part); at <= before {
						t.Errorf("%s client: %s comes at %d, after %d: %s", clientEra, part, at, before, body)
					}
				}
				if !strings.Contains(body, `"odd":9007199254740993`) {
					t.Errorf("%s client: the progress has changed: %s", clientEra, body)
				}
			}
		})
	}
}

// TestAnAnswerThatIsTooLargeEndsItsCallAlone has one call wait while another one
// is answered with too much.
func TestAnAnswerThatIsTooLargeEndsItsCallAlone(t *testing.T) {
	t.Parallel()
	large := `{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"` + strings.Repeat("x", eventstream.MaxMessage) + `"}]},"id":%s}`
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			waiting := make(chan struct{})
			var mu sync.Mutex
			var first json.RawMessage
			s := &dialogue{endpoint: "/messages", answer: func(m received, say func(string, ...any)) {
				if m.Method != methods.CallTool {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = m.ID
					close(waiting)
					return
				}
				say(large, m.ID)
				say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"small"}]}}`, first)
			}}
			slow := fast
			slow.Interval = time.Hour
			r := newRig(t, slow, s.serve(t, bridgeconfig.SSE))
			client := r.connect(t, clientEra, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
			answers := outcomeOf(t, client)
			next(t, waiting, "call")
			opened := s.opened.Load()
			_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
			var rpc *jsonrpc.Error
			if !errors.As(err, &rpc) || rpc.Message != "the server's answer is larger than 16 MiB" || !strings.Contains(string(rpc.Data), "answer_too_large") {
				t.Errorf("error = %v, want one that says so", err)
			}
			if got := next(t, answers, "answer to the other call"); got != "small" {
				t.Errorf("the other call's answer = %s", got)
			}
			if got := s.opened.Load(); got != opened {
				t.Errorf("%d connections were made anew", got-opened)
			}
		})
	}
}

// TestMessagesOverSSEStayAtTheServer has a server name another one as the place
// for its messages, which would be sent the user's.
func TestMessagesOverSSEStayAtTheServer(t *testing.T) {
	t.Parallel()
	stranger, connections := countedServer(t, http.NotFoundHandler())
	s := &dialogue{endpoint: stranger.URL + "/messages", answer: func(received, func(string, ...any)) {}}
	server := s.serve(t, bridgeconfig.SSE)
	r := newRig(t, fast, server)
	wait.Until(t, "a failure", func() bool {
		return strings.Contains(r.bridge.Health().Servers["one"].Error, egress.ErrElsewhere.Error())
	})
	if got := connections.Load(); got != 0 {
		t.Errorf("%d connections to the stranger", got)
	}
}

// TestAnSSEServersHeadersAndStream covers that all requests have the server's
// headers, that the stream outlives the attempt to connect, and that a stream
// which ends is made anew.
func TestAnSSEServersHeadersAndStream(t *testing.T) {
	t.Parallel()
	s := echoServer("one")
	inner := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
	var mu sync.Mutex
	seen := map[string]bool{}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Method+" "+r.Header.Get("Authorization")] = true
		mu.Unlock()
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	server := bridgeconfig.Server{Name: "one", Transport: bridgeconfig.SSE, URL: front.URL, Headers: bearer("TOKEN"), Secrets: []string{"TOKEN"}}
	r := newRig(t, fast, server)
	r.bridge.UseSecrets(secretsOf("r", "TOKEN", "a-token"))
	client := r.connect(t, "modern", nil)
	must.Succeed(t, called(t, client, "echo"))
	l := r.bridge.set.only().Peek()
	for range 3 {
		must.Succeed(t, called(t, client, "echo"))
	}
	if r.bridge.set.only().Peek() != l {
		t.Error("the connection did not stay")
	}
	for ss := range s.Sessions() {
		_ = ss.Close()
	}
	wait.Until(t, "another connection", func() bool {
		now := r.bridge.set.only().Peek()
		return now != nil && now != l
	})
	// The connection for calls of this client ended too, which a call may find out.
	wait.Until(t, "a call", func() bool { return called(t, client, "echo") == nil })
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(map[string]bool{"GET Bearer a-token": true, "POST Bearer a-token": true}, seen); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestServersLearnTheWayOfARequest looks at what each transport carries.
func TestServersLearnTheWayOfARequest(t *testing.T) {
	t.Parallel()
	const came = "0123456789abcdef"
	for _, kind := range kinds {
		for clientEra := range eraNames {
			t.Run(clientEra+" client, "+string(kind), func(t *testing.T) {
				t.Parallel()
				ways := make(chan [2]string, 64)
				note := func(m received, header http.Header) {
					if m.Method != methods.CallTool {
						return
					}
					var inMeta string
					_ = json.Unmarshal(m.Params.Meta[message.MetaHops], &inMeta)
					ways <- [2]string{header.Get(message.HeaderHops), inMeta}
				}
				var server bridgeconfig.Server
				if kind == bridgeconfig.StreamableHTTP {
					inner := mcpHandler(t, echoServer("one"), "legacy")
					front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						body, err := io.ReadAll(r.Body)
						if err != nil {
							return
						}
						var m received
						_ = json.Unmarshal(body, &m)
						note(m, r.Header)
						if r.Header.Get(message.HeaderHops) == "" {
							t.Errorf("%s %s says nothing of this bridge", r.Method, m.Method)
						}
						r.Body = io.NopCloser(strings.NewReader(string(body)))
						inner.ServeHTTP(w, r)
					}))
					t.Cleanup(front.Close)
					server = bridgeconfig.Server{Name: "one", URL: front.URL}
				} else {
					s := &dialogue{endpoint: "/messages", answer: func(m received, say func(string, ...any)) {
						note(m, m.header)
						if m.ID != nil {
							say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
						}
					}}
					server = s.serve(t, kind)
				}
				r := newRig(t, fast, server)
				own := r.bridge.hopID()
				for _, inbound := range []string{"", came} {
					header, body := modernHeader("tools/call", "echo"), modernBody(1, "tools/call", `"name":"echo","arguments":{"text":"x"},`)
					if clientEra == "legacy" {
						header, body = r.session(t), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`
					}
					want := own
					if inbound != "" {
						header[message.HeaderHops], want = inbound, came+","+own
					}
					if _, answer := r.do(t, "POST", r.url, body, header); answerOf(t, answer)["result"] == nil {
						t.Fatalf("answer = %s", answer)
					}
					way := next(t, ways, "call")
					got := way[0]
					if kind == bridgeconfig.Stdio {
						got = way[1]
					}
					if got != want {
						t.Errorf("the way is %q, want %q", got, want)
					}
				}
			})
		}
	}
}

// TestAnErrorKeepsItsCodeWhateverItsTextSays has a server refuse in words that
// sound as if the call had not arrived. It did, and is not made again.
func TestAnErrorKeepsItsCodeWhateverItsTextSays(t *testing.T) {
	t.Parallel()
	const words = "timeout: connection aborted, network unreachable"
	for _, kind := range kinds {
		for clientEra := range eraNames {
			t.Run(clientEra+" client, "+string(kind), func(t *testing.T) {
				t.Parallel()
				var calls atomic.Int32
				s := emptyServer(nil)
				rawTool(s, "t", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					calls.Add(1)
					return nil, &jsonrpc.Error{Code: -32077, Message: words, Data: json.RawMessage(`{"n":1}`)}
				})
				server := serveOver(t, kind, s, "legacy")
				server.Retry = bridgeconfig.Retry{MaxAttempts: 3, Delay: bridgeconfig.Duration(time.Millisecond)}
				r := newRig(t, fast, server)
				_, err := r.connect(t, clientEra, nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
				var rpc *jsonrpc.Error
				if !errors.As(err, &rpc) || rpc.Code != -32077 || rpc.Message != words || string(rpc.Data) != `{"n":1}` {
					t.Errorf("error = %#v", err)
				}
				if got := calls.Load(); got != 1 {
					t.Errorf("called %d times", got)
				}
			})
		}
	}
}

// TestACallTouchesNoOtherServer counts what comes to the server that is not
// meant.
func TestACallTouchesNoOtherServer(t *testing.T) {
	t.Parallel()
	slow := fast
	slow.Interval = time.Hour
	one := newWitness(t, "one", "modern", nil)
	var touched atomic.Int32
	inner := mcpHandler(t, echoServer("two"), "modern")
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		touched.Add(1)
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	p := newMemoryProgram(t, echoServer("three"), "legacy")
	p.Name = "three"
	r := newRig(t, slow, one.Server, bridgeconfig.Server{Name: "two", URL: front.URL}, p.Server)
	wait.Until(t, "healthy", func() bool { return r.bridge.Health().Status == health.Healthy })
	var heard atomic.Int32
	p.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			heard.Add(1)
			return next(ctx, method, req)
		}
	})
	before := touched.Load()
	for clientEra := range eraNames {
		client := r.connect(t, clientEra, nil)
		must.Succeed(t, called(t, client, "one_echo"))
		for _, unknown := range []string{"none", "four_echo", "two_none"} {
			if err := called(t, client, unknown); err == nil {
				t.Errorf("%s was called", unknown)
			}
		}
		must.Value(client.ListTools(t.Context(), nil))(t)
	}
	if got := touched.Load() - before; got != 0 || heard.Load() != 0 {
		t.Errorf("the others got %d and %d messages", got, heard.Load())
	}
}

// countedServer is a server that counts the connections to it.
func countedServer(t *testing.T, handler http.Handler) (server *httptest.Server, connections *atomic.Int32) {
	t.Helper()
	connections = &atomic.Int32{}
	server = httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return server, connections
}

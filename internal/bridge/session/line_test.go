// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// console is a client over a pair of pipes, in a bubble.
type console struct {
	t       *testing.T
	in      io.WriteCloser
	lines   chan string
	served  chan error
	leave   context.CancelFunc
	leaving chan struct{} // closed when the calls that hang are cancelled
}

// newConsole serves a client whose tool "hang" works until it is cancelled, and whose tool "ask" asks.
func newConsole(t *testing.T) *console {
	t.Helper()
	c := &console{t: t, lines: make(chan string, 64), served: make(chan error, 1), leaving: make(chan struct{})}
	ctx, leave := context.WithCancel(t.Context())
	c.leave = leave
	h := Host{Life: t.Context()}
	h.Answer = func(ctx context.Context, s *Session, q *message.Request) (mcp.Result, error) {
		p, ok := q.Params.(*mcp.CallToolParamsRaw)
		switch {
		case ok && p.Name == "hang":
			<-ctx.Done()
			close(c.leaving)
			return nil, ctx.Err()
		case ok && p.Name == "ask":
			answer, err := q.Send(ctx, methods.Elicit, &message.Params{})
			if err != nil {
				return nil, err
			}
			return message.ParseResult(must.Value(message.RawAnswer(answer))(t))
		case q.Method == methods.ListTools:
			return message.ParseResult([]byte(`{"tools":[]}`))
		}
		return s.Answer(ctx, q)
	}
	h.Alone = func(_ context.Context, m rpc.Message, _ *message.Sent, _ message.Send) (mcp.Result, error) {
		if m.Method == methods.Listen {
			return nil, nil // Its stream has ended.
		}
		return message.ParseResult([]byte(`{"alone":true}`))
	}
	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	c.in = toBridge
	go func() { c.served <- h.ServeStdio(ctx, in, out) }()
	go func() {
		defer close(c.lines)
		for lines := bufio.NewScanner(fromBridge); lines.Scan(); {
			c.lines <- lines.Text()
		}
	}()
	return c
}

// say sends a line, and returns what comes of it.
func (c *console) say(line string) []string {
	c.t.Helper()
	must.Value(io.WriteString(c.in, line+"\n"))(c.t)
	synctest.Wait()
	return c.heard()
}

// heard returns the lines so far.
func (c *console) heard() (lines []string) {
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return lines
			}
			lines = append(lines, line)
		default:
			return lines
		}
	}
}

// begin begins a session of a version.
func (c *console) begin(version string) {
	c.t.Helper()
	answer := c.say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if len(answer) != 1 || !strings.Contains(answer[0], `"protocolVersion":"`+version+`"`) {
		c.t.Fatalf("the session begins with %q", answer)
	}
}

// end has the client leave.
func (c *console) end(want error) {
	c.t.Helper()
	_ = c.in.Close()
	if err := <-c.served; !errors.Is(err, want) {
		c.t.Errorf("serving ended with %v", err)
	}
	c.leave()
}

// TestALineIsAnsweredByALine says each line to a session of a version with batches, and of one without.
func TestALineIsAnsweredByALine(t *testing.T) {
	t.Parallel()
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	refused := func(words string) []string {
		return []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"` + words + `"}}`}
	}
	for line, want := range map[string][]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                      {`{"jsonrpc":"2.0","id":1,"result":{}}`},
		"\n  \n" + `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}`:      {`{"jsonrpc":"2.0","id":9007199254740993,"result":{"tools":[]}}`},
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modern + `}}`:      {`{"jsonrpc":"2.0","id":1,"result":{"alone":true}}`},
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`:               {`{"jsonrpc":"2.0","id":1,"result":{"alone":true}}`},
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`:          nil,
		`{"jsonrpc":"2.0","id":1,"method":"no/such"}`:                                   {`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found: \"no/such\""}}`},
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                                    {`{"jsonrpc":"2.0","id":1.5,"error":{"code":-32600,"message":"the request's id is a number with a fraction: use an integer or a text"}}`},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:                                {`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"invalid request: missing required \"params\""}}`},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`:            {`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: another form at \"/name\" than tools/call has"}}`},
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`:                    {`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"duplicate \"initialize\" received"}}`},
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`:                  {`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: another form than initialize has"}}`},
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`:                 nil,
		`{"jsonrpc":"2.0","method":"notifications/no/such"}`:                            nil,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`: nil,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                          nil,
		`{`:                                                                             {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"malformed payload: not a JSON-RPC message"}}`},
		`7`:                                                                             refused("malformed payload: not a JSON-RPC message"),
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                                      refused(`malformed payload: the message is not of JSON-RPC \"2.0\"`),
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                                     refused("malformed payload: an id is a text or a number"),
		`{"jsonrpc":"2.0","id":1,"method":7}`:                                           refused("malformed payload: a method is a text"),
		`{"jsonrpc":"2.0","method":"tools/list"}`:                                       refused(`invalid request: missing id for \"tools/list\"`),
		`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"hang"}}`:    refused(`invalid request: missing id for \"tools/call\"`),
		`[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]`:                  refused(`invalid request: \"initialize\" must not be part of a batch`),
		`[]`: refused("malformed payload: empty batch"),
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`: nil, // below
	} {
		for version, batches := range map[string]bool{"2025-03-26": true, "2025-11-25": false} {
			want := want
			if strings.HasSuffix(line, `"ping"}]`) {
				want = refused("JSON-RPC batching is not supported in this version of the protocol")
				if batches {
					want = []string{`[{"jsonrpc":"2.0","id":1,"result":{}}]`}
				}
			}
			synctest.Test(t, func(t *testing.T) {
				c := newConsole(t)
				c.begin(version)
				if diff := cmp.Diff(want, c.say(line)); diff != "" {
					t.Errorf("%s in version %s (-want +got):\n%s", line, version, diff)
				}
				c.end(nil)
			})
		}
	}
}

// TestARequestBeforeTheFirstOneIsRefused says what it may not be.
func TestARequestBeforeTheFirstOneIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsole(t)
		if got := c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); len(got) != 1 || !strings.Contains(got[0], `"code":-32600`) || !strings.Contains(got[0], "during session initialization") {
			t.Errorf("the answer is %q", got)
		}
		if got := c.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); len(got) != 1 || !strings.Contains(got[0], `"result":{}`) {
			t.Errorf("the answer is %q", got)
		}
		c.end(nil)
	})
}

// TestACallOfALineEnds by a cancellation, which is not answered, and with its client.
func TestACallOfALineEnds(t *testing.T) {
	t.Parallel()
	const hang = `{"jsonrpc":"2.0","id":"a\/b","method":"tools/call","params":{"name":"hang"}}`
	for name, end := range map[string]func(*console){
		"by a cancellation": func(c *console) {
			if got := c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a/b"}}`); got != nil {
				t.Errorf("it is answered with %q", got)
			}
		},
		"with its client":  func(c *console) { c.end(nil) },
		"with its context": func(c *console) { c.leave() },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newConsole(t)
			c.begin("2025-11-25")
			if got := c.say(hang); got != nil {
				t.Errorf("%s: the call is answered with %q", name, got)
			}
			if got := c.say(hang); len(got) != 1 || !strings.Contains(got[0], "duplicate in-flight request ID") {
				t.Errorf("%s: the second is answered with %q", name, got)
			}
			end(c)
			<-c.leaving
			if name == "by a cancellation" {
				c.end(nil)
			}
		})
	}
}

// TestAQuestionOfALineIsAnswered by the answer with its id, and by no other one.
func TestAQuestionOfALineIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsole(t)
		c.begin("2025-11-25")
		if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`}, c.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`)); diff != "" {
			t.Errorf("question (-want +got):\n%s", diff)
		}
		for _, other := range []string{`{"jsonrpc":"2.0","id":"1","result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`} {
			if got := c.say(other); got != nil {
				t.Errorf("%s is taken: %q", other, got)
			}
		}
		got := c.say(`{"jsonrpc":"2.0","id":1.0,"result":{"n":1.0}}`)
		if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","id":2,"result":{"n":1.0}}`}, got); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		if got := c.say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask"}}`); len(got) != 1 {
			t.Errorf("the second question is %q", got)
		}
		if got := c.say(`{"jsonrpc":"2.0","id":2,"error":{"code":7,"message":"no"}}`); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","id":3,"error":{"code":7,"message":"no"}}` {
			t.Errorf("the refusal is passed as %q", got)
		}
		for i, outcome := range []string{``, `,"result":{},"error":{"code":1,"message":"m"}`, `,"result":{},"result":{}`} {
			c.say(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask"}}`)
			got := c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d%s}`, i+3, outcome))
			if len(got) != 1 || !strings.Contains(got[0], `"code":-32603,"message":"the client's answer is not a valid JSON-RPC answer: it has `) {
				t.Errorf("%q ends the question with %q", outcome, got)
			}
		}
		c.end(nil)
	})
}

// unclosed is an output that stays open, as stdout does.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// TestServingEndsThoughTheClientDoesNotRead has nobody read the answer when the context ends.
func TestServingEndsThoughTheClientDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := Host{Life: t.Context(), Answer: func(ctx context.Context, s *Session, q *message.Request) (mcp.Result, error) { return s.Answer(ctx, q) }}
		in, toBridge := io.Pipe()
		fromBridge, out := io.Pipe()
		defer fromBridge.Close()
		ctx, leave := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- h.ServeStdio(ctx, in, unclosed{out}) }()
		must.Value(io.WriteString(toBridge, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"))(t)
		synctest.Wait()
		leave()
		must.Succeed(t, <-served)
	})
}

// TestAClientThatLeavesGetsItsAnswers closes its pipe behind a request that takes some time.
func TestAClientThatLeavesGetsItsAnswers(t *testing.T) {
	t.Parallel()
	const first = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}` + "\n"
	for name, tt := range map[string]struct {
		lines, slow string // the lines, and the method of the request that takes some time
		takes, ends time.Duration
		answers     int
	}{
		"a request that ends":           {first + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, methods.ListTools, 3 * time.Second, 3 * time.Second, 2},
		"a request that goes on":        {first + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, methods.ListTools, time.Hour, leaveTimeout, 1},
		"a first request that goes on":  {first, methods.Initialize, time.Hour, leaveTimeout, 0},
		"a stream on which it listened": {first + `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{}}`, methods.Listen, time.Hour, 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			pause := func(ctx context.Context, method string) {
				if method == tt.slow {
					select {
					case <-ctx.Done():
					case <-time.After(tt.takes):
					}
				}
			}
			h := Host{Life: t.Context()}
			h.Answer = func(ctx context.Context, s *Session, q *message.Request) (mcp.Result, error) {
				if pause(ctx, q.Method); q.Method == methods.ListTools {
					return message.EmptyResult(), ctx.Err()
				}
				return s.Answer(ctx, q)
			}
			h.Alone = func(ctx context.Context, m rpc.Message, _ *message.Sent, _ message.Send) (mcp.Result, error) {
				pause(ctx, m.Method)
				return nil, nil
			}
			began, out := time.Now(), &strings.Builder{}
			must.Succeed(t, h.ServeStdio(t.Context(), io.NopCloser(strings.NewReader(tt.lines)), unclosed{out}))
			synctest.Wait()
			if took := time.Since(began); took != tt.ends {
				t.Errorf("%s: serving ended after %v, want %v", name, took, tt.ends)
			}
			if got := strings.Count(out.String(), `"result"`); got != tt.answers {
				t.Errorf("%s: %d answers, want %d: %s", name, got, tt.answers, out)
			}
		})
	}
}

// TestALineThatIsTooLongEndsTheSession, since nobody would read to its end.
func TestALineThatIsTooLongEndsTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsole(t)
		go func() { _, _ = io.WriteString(c.in, strings.Repeat("x", message.MaxBody+1<<13)) }()
		if err := <-c.served; err == nil || !strings.Contains(err.Error(), "exceeds 16777216 bytes") {
			t.Errorf("serving ended with %v", err)
		}
		c.leave()
	})
}

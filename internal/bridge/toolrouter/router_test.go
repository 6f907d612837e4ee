// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package toolrouter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/serverlists"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// server is a server and its tools, of which those with the name "hidden" are in no list.
type server struct {
	name, about string
	tools       []string
}

// newRouter returns a router before servers that are not connected. Calls go to forward.
func newRouter(t *testing.T, forward func(*message.Request, *upstream.Server) (mcp.Result, error), servers ...server) *Router {
	t.Helper()
	catalog := &serverlists.Catalog{Lists: map[string][]serverlists.Entry{}, RouterTool: json.RawMessage("{}")}
	var upstreams []*upstream.Server
	for _, s := range servers {
		u := &upstream.Server{Config: bridgeconfig.Server{Name: s.name, Description: s.about, URL: "http://" + s.name}}
		upstreams = append(upstreams, u)
		for _, raw := range s.tools {
			var tool struct{ Name string }
			must.Succeed(t, json.Unmarshal([]byte(raw), &tool))
			catalog.Lists[methods.ListTools] = append(catalog.Lists[methods.ListTools], serverlists.Entry{
				Assignment: serverlists.Assignment{Feature: serverlists.Feature{ServerName: s.name, Original: tool.Name}}, Raw: json.RawMessage(raw), Server: u, Hidden: tool.Name == "hidden",
			})
		}
	}
	return New(Host{
		Enabled:    func() bool { return true },
		Servers:    func() []*upstream.Server { return upstreams },
		Catalog:    func() *serverlists.Catalog { return catalog },
		AwaitStart: func(_ context.Context, starting func() bool) { starting() },
		AwaitLists: func(context.Context, string) {},
		Enter:      func(*upstream.Server, string) bool { return true },
		Leave:      func(*upstream.Server) {},
		Forward: func(_ context.Context, q *message.Request, u *upstream.Server) (mcp.Result, error) {
			return forward(q, u)
		},
		Health: func() health.Report {
			return health.Report{Servers: map[string]health.Server{"one": {Status: health.Healthy, Tools: 2}, "two": {Status: health.Unhealthy, Error: "it is gone"}}}
		},
	})
}

// ask calls the router's tool with the arguments, and returns its answer, whose text and structured content
// must say the same.
func ask(t *testing.T, r *Router, arguments string, era message.Era) (answer any, failed bool) {
	t.Helper()
	q := &message.Request{Method: methods.CallTool, Era: era, Params: &mcp.CallToolParamsRaw{Name: ToolName, Arguments: json.RawMessage(arguments)}}
	if !r.Handles(q) {
		t.Fatal("the call is not the router's")
	}
	result := must.Value(r.Call(t.Context(), q))(t)
	var got struct {
		Content           []struct{ Text string }
		StructuredContent any
		IsError           bool
		ResultType        string
	}
	must.Succeed(t, json.Unmarshal(must.Value(json.Marshal(result))(t), &got))
	must.Succeed(t, json.Unmarshal([]byte(got.Content[0].Text), &answer))
	if diff := cmp.Diff(answer, got.StructuredContent); diff != "" || (got.ResultType == "complete") != (era == message.Modern) {
		t.Errorf("a result of the type %q; the structured content differs from the text (-text +structured):\n%s", got.ResultType, diff)
	}
	return answer, got.IsError
}

// twoServers are a server for mails and one that echoes.
func twoServers() []server {
	mail := `{"name":"send_mail","title":"Send","description":"Sends a mail. ` + strings.Repeat("It is very good at that. ", 20) + `","inputSchema":{"type":"object","required":["to"],"properties":{"to":{"type":"string"},"body":{"type":"string"}}},"outputSchema":{"type":"object"}}`
	const echo = `{"name":"echo","inputSchema":{"properties":{"text":{}}}}`
	return []server{
		{"one", "The user's mails", []string{mail, echo, `{"name":"hidden","description":"delete a mail"}`}},
		{"two", "", []string{echo, `{"name":"other_thing"}`}},
	}
}

func TestWhatTheRouterAnswersItself(t *testing.T) {
	t.Parallel()
	r := newRouter(t, nil, twoServers()...)
	tests := map[string]struct {
		in, want string
		failed   bool
	}{
		"a server that there is not":                        {`{"server":"three","tool":"echo"}`, `{"error":"unknown_server","message":"there is no server \"three\"","available":["one","two"]}`, true},
		"a tool that no server has, with those it could be": {`{"tool":"other_things"}`, `{"error":"unknown_tool","message":"no server has tool \"other_things\"","available":["two/other_thing"]}`, true},
		"a tool that no list shows":                         {`{"tool":"hidden"}`, `{"error":"unknown_tool","message":"no server has tool \"hidden\""}`, true},
		"no tool":                                           {`{"params":{}}`, `{"error":"invalid_params","message":"tool is missing; other things than a call need an action","available":["call","list","schema","intent","refresh","status"]}`, true},
		"parameters that are no object":                     {`{"tool":"other_thing","params":"x"}`, `{"error":"invalid_params","message":"params must be an object"}`, true},
		"arguments of other types":                          {`{"tool":1}`, `{"error":"invalid_params","message":"the arguments are server, action and tool as strings and params as an object"}`, true},
		"a list of no server":                               {`{"action":"list"}`, `{"error":"invalid_params","message":"server is missing","available":["one","two"]}`, true},
		"a schema of no tool":                               {`{"action":"schema","server":"one"}`, `{"error":"invalid_params","message":"tool is missing"}`, true},
		"no intent":                                         {`{"action":"intent"}`, `{"error":"invalid_params","message":"params.intent is missing: say what you want to do"}`, true},
		"an unknown server to refresh":                      {`{"action":"refresh","server":"three"}`, `{"error":"unknown_server","message":"there is no server \"three\"","available":["one","two"]}`, true},
		"a tool of several servers": {`{"tool":"echo","params":{"text":"hi"}}`, `{"ambiguous":true,"message":"several servers have tool \"echo\": name one as server",` +
			`"candidates":[{"server":"two","tool":"echo","score":1.2,"suggested":true},{"server":"one","tool":"echo","score":1.1}]}`, true},
		"a list in short": {`{"action":"list","server":"one"}`, `{"server":"one","action":"list","tools":[{"name":"send_mail","description":"Sends a mail.","requiredParams":["to"]},{"name":"echo","description":"","requiredParams":[]}]}`, false},
		"an intent":       {`{"action":"intent","params":{"intent":"send an email to my mother"}}`, `{"action":"intent","match":{"server":"one","tool":"send_mail","score":0.518},"alternatives":[{"server":"one","tool":"echo","score":0.041}]}`, false},
		"an intent that nothing fits": {`{"action":"intent","params":{"intent":"boil an egg"}}`, `{"action":"intent","match":null,"alternatives":[],` +
			`"message":"no tool fits well: try other words, or list a server's tools"}`, false},
		"an intent at another server": {`{"action":"intent","tool":"mail","server":"two"}`, `{"action":"intent","match":null,"alternatives":[],"message":"no tool fits well: try other words, or list a server's tools"}`, false},
		"the status": {`{"action":"status"}`, `{"action":"status","mode":"router","servers":[{"name":"one","transport":"streamable-http","status":"idle","tools":2},` +
			`{"name":"two","transport":"streamable-http","status":"disconnected","tools":0,"error":"it is gone"}]}`, false},
	}
	for name, tt := range tests {
		for _, era := range []message.Era{message.Legacy, message.Modern} {
			t.Run(fmt.Sprint(name, " in era ", era), func(t *testing.T) {
				var want any
				must.Succeed(t, json.Unmarshal([]byte(tt.want), &want))
				got, failed := ask(t, r, tt.in, era)
				if diff := cmp.Diff(want, got); diff != "" || failed != tt.failed {
					t.Errorf("isError %v, answer (-want +got):\n%s", failed, diff)
				}
			})
		}
	}
}

func TestNoActionChangesTheConfigurationOrASecret(t *testing.T) {
	t.Parallel()
	r := newRouter(t, nil, twoServers()...)
	for _, action := range []string{"remove", "set-mode", "set-env", "install", "promotions", "batch", "no such thing"} {
		got, failed := ask(t, r, `{"action":"`+action+`","server":"one","key":"TOKEN","value":"x","mode":"direct"}`, message.Legacy)
		want := fmt.Sprintf(`map[available:[call list schema intent refresh status] error:invalid_params message:unknown action %q]`, action)
		if fmt.Sprint(got) != want || !failed {
			t.Errorf("isError %v, answer %v, want %s", failed, got, want)
		}
	}
}

// TestACallGoesToItsServerWithTheHeadersOfItsArguments has the client send headers of its own.
func TestACallGoesToItsServerWithTheHeadersOfItsArguments(t *testing.T) {
	t.Parallel()
	zone := server{"one", "", []string{`{"name":"zone","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"at":{"type":"object","properties":{"rack":{"type":"integer","x-mcp-header":"Rack"}}}}}}`}}
	refused := &jsonrpc.Error{Code: -32042, Message: "not so"}
	var got string
	r := newRouter(t, func(q *message.Request, u *upstream.Server) (mcp.Result, error) {
		p := q.Params.(*mcp.CallToolParamsRaw)
		got = fmt.Sprintf("%s %s %s %s %v %v", u.Config.Name, p.Name, p.Arguments, p.RequestState, q.Header, q.Routed)
		return nil, refused
	}, zone, server{"two", "", []string{`{"name":"zone"}`}}, server{"three", "", nil})
	for arguments, want := range map[string]string{
		`{"server":"one","tool":"zone","params":{"region":"eu","at":{"rack":7}}}`: `one zone {"region":"eu","at":{"rack":7}} s map[Mcp-Param-Rack:[7] Mcp-Param-Region:[eu] X:[y]] true`,
		`{"server":"one","tool":"zone","params":{"region":"köln"}}`:               `one zone {"region":"köln"} s map[Mcp-Param-Region:[=?base64?a8O2bG4=?=] X:[y]] true`,
		`{"server":"two","tool":"zone"}`:                                          `two zone {} s map[X:[y]] true`,
	} {
		q := &message.Request{Method: methods.CallTool, Header: map[string][]string{"X": {"y"}, "Mcp-Param-Region": {"us"}},
			Params: &mcp.CallToolParamsRaw{Name: ToolName, Arguments: json.RawMessage(arguments), RequestState: "s"}}
		if _, err := r.Call(t.Context(), q); !errors.Is(err, refused) || got != want || len(q.Header) != 2 {
			t.Errorf("%s: %v, called %s, want %s", arguments, err, got, want)
		}
	}
}

// TestTheServerCalledLastIsLikelier calls one of two servers that have the tool.
func TestTheServerCalledLastIsLikelier(t *testing.T) {
	t.Parallel()
	var called string
	r := newRouter(t, func(q *message.Request, u *upstream.Server) (mcp.Result, error) {
		called = u.Config.Name
		return q.Reply(map[string]any{}, false)
	}, twoServers()...)
	for range recentCalls {
		ask(t, r, `{"server":"one","tool":"echo"}`, message.Legacy)
	}
	if ask(t, r, `{"tool":"echo"}`, message.Legacy); called != "one" {
		t.Errorf("after calls of one, %s is called", called)
	}
	r.ForgetServers(func(server string) bool { return server == "one" })
	if answer, _ := ask(t, r, `{"tool":"echo"}`, message.Legacy); answer.(map[string]any)["ambiguous"] != true {
		t.Errorf("after its calls are forgotten: %v", answer)
	}
}

func TestTheOneToolsDescriptionIsBounded(t *testing.T) {
	t.Parallel()
	var upstreams []*upstream.Server
	for i := range 200 {
		upstreams = append(upstreams, upstream.New(t.Context(), bridgeconfig.Server{
			Name: fmt.Sprintf("server-%d", i), Description: strings.Repeat("much to say ", 100),
		}, upstream.Options{Timing: upstream.DefaultTiming, Log: slog.New(slog.DiscardHandler)}))
	}
	var tool struct {
		Description string `json:"description"`
		InputSchema struct {
			Properties map[string]struct {
				Enum []string `json:"enum"`
			} `json:"properties"`
		} `json:"inputSchema"`
	}
	must.Succeed(t, json.Unmarshal(Tool(upstreams, nil), &tool))
	if len(tool.Description) > MaxDescription+50 || !strings.HasSuffix(tool.Description, "more, see action status") {
		t.Errorf("%d bytes, ending in %q", len(tool.Description), tool.Description[len(tool.Description)-60:])
	}
	if diff := cmp.Diff(MetaActions, tool.InputSchema.Properties["action"].Enum); diff != "" {
		t.Errorf("the schema's actions (-want +got):\n%s", diff)
	}
}

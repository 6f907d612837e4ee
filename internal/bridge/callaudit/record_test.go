// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// canary is a value in arguments, results and errors. It stands in no entry, log line, metric or span.
const canary = "canary-7f3a"

// rig is a trail with all that it writes. Its requests pass it as those of the bridge do.
type rig struct {
	*Trail
	log   bytes.Buffer
	spans *tracetest.InMemoryExporter
}

func newRig(t *testing.T) *rig {
	r := &rig{spans: tracetest.NewInMemoryExporter()}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans)).Tracer("test")
	r.Trail = NewTrail(slog.New(slog.NewJSONHandler(&r.log, nil)), tracer, nil, func(*mcp.CallToolParamsRaw) string { return "call" })
	t.Cleanup(func() {
		var metrics strings.Builder
		r.Metrics.Write(&metrics)
		if all := r.log.String() + metrics.String() + fmt.Sprintf("%+v", r.spans.GetSpans()); strings.Contains(all, canary) {
			t.Errorf("a value was written: %s", all)
		}
		if r.InProgress() != 0 {
			t.Error("a request that is answered is in progress")
		}
	})
	return r
}

// answers answers a request of a client.
type answers func(context.Context) (mcp.Result, error)

// observe has a request of a client observed.
func (r *rig) observe(ctx context.Context, method, record string, header http.Header, answer answers) {
	_, _ = r.Observe(ctx, &message.Request{
		Method: method, Header: header, Record: record, Params: params,
		Meta: map[string]any{message.MetaProtocolVersion: "2026-07-28", "x": canary},
	}, answer)
}

// params are those of the requests.
var params = &mcp.CallToolParamsRaw{Name: "t'", Arguments: []byte(`{"b":{"` + canary + `":1},"a":1,"` + canary + `?":"` + canary + `"}`)}

// serve has an HTTP request pass, and returns the value of the trailer and the body.
func (r *rig) serve(req *http.Request, method string, answer answers) (trailer, body string) {
	w := httptest.NewRecorder()
	r.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		r.observe(req.Context(), method, req.Header.Get(HeaderRecord), nil, answer)
		if req.Context().Err() == nil {
			_, _ = io.WriteString(w, "event: message\ndata: x\n\n")
		}
	})).ServeHTTP(w, req)
	res := w.Result()
	_ = res.Body.Close()
	return res.Trailer.Get(audit.TrailerName), w.Body.String()
}

// ended returns a handler that answers with a result or an error.
func ended(result string, err error) answers {
	return func(context.Context) (mcp.Result, error) {
		if err != nil {
			return nil, err
		}
		return message.ParseResult([]byte(result))
	}
}

// post returns a request of the session s.
func post() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set(message.HeaderSessionID, "s")
	return r
}

func callsIn(t *testing.T, trailer string) []audit.Call {
	t.Helper()
	if strings.Contains(trailer, canary) {
		t.Errorf("an entry has a value: %s", trailer)
	}
	return must.Value(audit.ParseTrailer(trailer))(t).Calls
}

// TestAnEntryAMetricAndASpanSayHowACallEnded without a value of the user.
func TestAnEntryAMetricAndASpanSayHowACallEnded(t *testing.T) {
	t.Parallel()
	unanswered := func(err error) error { return &fault.Unanswered{Err: err} }
	for name, tt := range map[string]struct {
		result    string
		err       error
		want      audit.Status
		errorType string
	}{
		"a result":                 {`{"content":[{"type":"text","text":"` + canary + `"}]}`, nil, audit.Success, ""},
		"an error result":          {`{"isError":true,"content":[]}`, nil, audit.ToolError, ""},
		"a question":               {`{"resultType":"input_required"}`, nil, audit.InputRequired, ""},
		"a server's error":         {"", &jsonrpc.Error{Code: -32000, Message: canary}, audit.ProtocolError, "-32000"},
		"an unknown tool":          {"", fault.InvalidParams("unknown tool %q", canary), audit.ProtocolError, "-32602"},
		"a loop of bridges":        {"", fault.NewHops("bridge_loop", canary), audit.Denied, "bridge_loop"},
		"another code of a server": {"", fault.NewHops(canary, canary), audit.ProtocolError, "-32600"},
		"a server that is late":    {"", unanswered(fault.ErrTimeout), audit.Timeout, "upstream_timeout"},
		"a client that gave up":    {"", context.Canceled, audit.Cancelled, "cancelled"},
		"a connection that broke":  {"", unanswered(io.ErrUnexpectedEOF), audit.UpstreamError, "upstream_unavailable"},
		"an open breaker":          {"", unanswered(&fault.CircuitOpen{}), audit.UpstreamError, "upstream_unavailable"},
		"a server out of service":  {"", unanswered(&fault.Unavailable{Reason: canary}), audit.UpstreamError, "upstream_unavailable"},
		"a server that starts":     {"", unanswered(&fault.Starting{Reason: canary}), audit.UpstreamError, "upstream_unavailable"},
		"a defect":                 {"", errors.New(canary), audit.ProtocolError, "internal_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			trailer, body := r.serve(post(), methods.CallTool, ended(tt.result, tt.err))
			got := callsIn(t, trailer)
			want := []audit.Call{{
				Tool: "t_", Action: "call", Method: methods.CallTool, ParamKeys: []string{"a", "b"}, ProtocolVersion: "2026-07-28",
				Status: tt.want, ErrorType: tt.errorType, BytesIn: int64(len(`{"b":{"":1},"a":1,"?":""}`) + 3*len(canary)),
			}}
			ignore := cmpopts.IgnoreFields(audit.Call{}, "ID", "LatencyMS", "BytesOut")
			if diff := cmp.Diff(want, got, ignore, cmpopts.EquateEmpty()); diff != "" || got[0].ID == "" || strings.Contains(body, "audit") {
				t.Errorf("entries (-want +got):\n%s\nbody: %s", diff, body)
			}
			var metrics strings.Builder
			r.Metrics.Write(&metrics)
			if line := fmt.Sprintf(`_count{mcp_method_name="tools/call",outcome=%q,server=""} 1`, tt.want); !strings.Contains(metrics.String(), line) {
				t.Errorf("no %s in %s", line, metrics.String())
			}
			errorType := tt.errorType
			if tt.want == audit.ToolError {
				errorType = "tool_error"
			}
			if got := attributesOf(r.spans.GetSpans()[0])["error.type"]; got != errorType {
				t.Errorf("the span's error is %q", got)
			}
		})
	}
}

func attributesOf(span tracetest.SpanStub) map[string]string {
	found := map[string]string{}
	for _, a := range span.Attributes {
		found[string(a.Key)] = a.Value.AsString()
	}
	return found
}

// TestOnlyCallsHaveEntries and only the methods of the protocol have metrics, since clients choose methods.
func TestOnlyCallsHaveEntries(t *testing.T) {
	t.Parallel()
	for method, measured := range map[string]bool{
		methods.ListTools: true, methods.GetPrompt: true, "notifications/roots/list_changed": false, canary: false,
	} {
		r := newRig(t)
		trailer, _ := r.serve(post(), method, ended(`{}`, nil))
		var metrics strings.Builder
		r.Metrics.Write(&metrics)
		if trailer != "" || (metrics.Len() > 0) != measured || r.log.Len() > 0 {
			t.Errorf("%s has the trailer %q, the metrics %q and the log %s", method, trailer, metrics.String(), r.log.String())
		}
	}
}

// TestACallThatIsToldOfHasNoOtherEntry has one request go to several servers. Its metric names none of them.
func TestACallThatIsToldOfHasNoOtherEntry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	trailer, _ := r.serve(post(), methods.CallTool, func(ctx context.Context) (mcp.Result, error) {
		for _, server := range []string{"one", "two"} {
			OperationOf(ctx).Forwarded(server, audit.Success)
			OperationOf(ctx).Record(audit.Call{Server: server, Tool: "t", Status: audit.Success}, params)
		}
		return message.EmptyResult(), nil
	})
	var metrics strings.Builder
	r.Metrics.Write(&metrics)
	if got := callsIn(t, trailer); len(got) != 2 || got[0].Server != "one" || got[1].Server != "two" || !strings.Contains(metrics.String(), `server=""} 1`) {
		t.Errorf("entries = %+v, metrics = %s", got, metrics.String())
	}
}

// TestACallThatNobodyIsToldOfIsLogged, unless an ingress fetches its entry with the rest of the answer.
func TestACallThatNobodyIsToldOfIsLogged(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	asking := post()
	asking.Header.Set(audit.TrailerName, audit.InStreams)
	for name, tt := range map[string]struct {
		request      *http.Request // nil for a connection without HTTP
		answer       answers
		logged, told string
	}{
		"no HTTP":               {nil, ended(`{}`, nil), `"tool":"t_","action":"call","paramKeys":["a","b"],"status":"success"`, ""},
		"no HTTP, an error":     {nil, ended("", &jsonrpc.Error{Code: -32000, Message: canary}), `"status":"protocol_error","errorType":"-32000"`, ""},
		"a client that left":    {post().WithContext(gone), ended("", context.Canceled), `"status":"cancelled"`, ""},
		"one that comes back":   {asking.WithContext(gone), ended(`{}`, nil), "", "success"},
		"a stream that is read": {asking, ended(`{}`, nil), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var trailer, body string
			if tt.request == nil {
				r.observe(t.Context(), methods.CallTool, "", nil, tt.answer)
			} else {
				request := tt.request.Clone(tt.request.Context())
				request.Header.Set(HeaderRecord, "1") // A client's own is dropped.
				trailer, body = r.serve(request, methods.CallTool, tt.answer)
			}
			if said := r.log.String(); trailer != "" || !strings.Contains(said, tt.logged) || strings.Count(said, "tool called") != min(len(tt.logged), 1) {
				t.Errorf("trailer %q, log: %s", trailer, said)
			}
			if name == "a stream that is read" && !strings.HasPrefix(body, audit.EventPrefix) {
				t.Errorf("the stream does not begin with the entry: %s", body)
			}
			again := asking.Clone(t.Context())
			again.Method = http.MethodGet
			if _, body := r.serve(again, methods.Ping, ended(`{}`, nil)); strings.Contains(body, `"status":"`+tt.told) != (tt.told != "") {
				t.Errorf("the next stream is told %s", body)
			}
		})
	}
}

// TestSpansNameWhatRanAndNotWhatWasSaid sends a request on to a server.
func TestSpansNameWhatRanAndNotWhatWasSaid(t *testing.T) {
	t.Parallel()
	const traceID, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	r := newRig(t)
	sent := &message.Request{Method: methods.CallTool}
	header := http.Header{"Traceparent": {"00-" + traceID + "-" + parent + "-01"}, "Tracestate": {"a=b"}}
	r.observe(t.Context(), methods.CallTool, "", header, func(ctx context.Context) (mcp.Result, error) {
		_, end := r.ClientSpan(ctx, sent, "one", "t")
		end(audit.ToolError, "")
		return ended(`{"isError":true,"content":[{"type":"text","text":"`+canary+`"}]}`, nil)(ctx)
	})
	client, server := r.spans.GetSpans()[0], r.spans.GetSpans()[1]
	if server.Name != "tools/call t_" || client.Name != "tools/call t" || server.SpanContext.TraceID().String() != traceID ||
		server.Parent.SpanID().String() != parent || client.Parent.SpanID() != server.SpanContext.SpanID() {
		t.Errorf("spans = %+v and %+v", server, client)
	}
	common := map[string]string{"mcp.method.name": methods.CallTool, "gen_ai.operation.name": "execute_tool", "error.type": "tool_error"}
	for span, more := range map[*tracetest.SpanStub]map[string]string{
		&server: {"gen_ai.tool.name": "t_", "mcp.protocol.version": "2026-07-28"}, &client: {"gen_ai.tool.name": "t", "hostedbridge.server": "one"},
	} {
		got := attributesOf(*span)
		for _, want := range []map[string]string{common, more} {
			for key, value := range want {
				if got[key] != value {
					t.Errorf("attribute %s = %q, want %q", key, got[key], value)
				}
			}
		}
	}
	if parent, state := message.TraceContext(nil, sent.Meta); parent != "00-"+traceID+"-"+client.SpanContext.SpanID().String()+"-01" || state != "a=b" {
		t.Errorf("the server is called with the trace %q, %q", parent, state)
	}
}

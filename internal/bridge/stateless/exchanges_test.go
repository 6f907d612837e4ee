// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stateless

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	sent "github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var update = flag.Bool("update", false, "write the answers in the golden file anew")

// golden holds requests of 2026-07-28, right and wrong, and their answers.
const golden = "testdata/exchanges.json"

// exchange is a request and its answer, as they are on the wire.
type exchange struct {
	Header       map[string]string `json:"header"`
	Body         string            `json:"body"`
	Status       int               `json:"status"`
	ContentType  string            `json:"contentType,omitempty"`
	CacheControl string            `json:"cacheControl,omitempty"`
	Answer       string            `json:"answer,omitempty"`
}

// headed is a tool whose arguments are repeated in headers.
const headed = `{"inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},` +
	`"size":{"type":"integer","x-mcp-header":"Size"},"in":{"type":"object","properties":{"dry":{"type":"boolean","x-mcp-header":"Dry"}}}}}}`

// TestAnswersStay compares the answers to requests, byte for byte, with those that are recorded. The
// answer to a valid request repeats its parameters.
func TestAnswersStay(t *testing.T) {
	t.Parallel()
	h := &Handler{
		Answer: func(_ context.Context, q *sent.Request) (mcp.Result, error) {
			result := sent.EmptyResult()
			result.Set("got", q.Params)
			return result, nil
		},
		CheckArguments: func(_ string, arguments json.RawMessage, header http.Header) error {
			return sent.CompareParamHeaders(json.RawMessage(headed), arguments, header)
		},
		Implementation: &mcp.Implementation{Name: "bridge", Version: "1"},
	}
	want, got := map[string]exchange{}, map[string]exchange{}
	must.Succeed(t, json.Unmarshal(must.Value(os.ReadFile(golden))(t), &want))
	for name, e := range want {
		r, w := httptest.NewRequest(http.MethodPost, "/", nil), httptest.NewRecorder()
		for key, value := range e.Header {
			r.Header.Set(key, value)
		}
		h.Serve(w, r, []byte(e.Body))
		got[name] = exchange{e.Header, e.Body, w.Code, w.Header().Get("Content-Type"), w.Header().Get("Cache-Control"), w.Body.String()}
	}
	if *update {
		var indented bytes.Buffer
		must.Succeed(t, json.Indent(&indented, jsondoc.EncodeExact(got), "", " "))
		must.Succeed(t, os.WriteFile(golden, append(indented.Bytes(), '\n'), 0o644))
	}
	for name := range want {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAListenerHearsWhatItAskedFor has lists and resources change, and one client listen whose lists
// may be of before.
func TestAListenerHearsWhatItAskedFor(t *testing.T) {
	t.Parallel()
	const note, of = `data: {"jsonrpc":"2.0","method":"notifications/`, `"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}`
	const acknowledged = "event: message\n" + note + `subscriptions/acknowledged","params":{` + of + `,"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["file:///r"]}}}` + "\n\n"
	changed := func(list string) string {
		return "event: message\n" + note + list + `/list_changed","params":{` + of + "}}\n\n"
	}
	const updated = "event: message\n" + note + `resources/updated","params":{` + of + `,"uri":"file:///r"}}` + "\n\n"
	for kept, before := range map[bool]string{false: "", true: changed("tools") + changed("prompts")} {
		synctest.Test(t, func(t *testing.T) {
			subscribed := map[string]int{}
			l := &Listeners{Outdated: func() bool { return true }, Subscribe: func(_ context.Context, uri string) (func(), error) {
				subscribed[uri]++
				return func() { subscribed[uri]-- }, nil
			}}
			h := &Handler{Answer: func(ctx context.Context, q *sent.Request) (mcp.Result, error) {
				return l.Listen(ctx, q.Params.(*mcp.SubscriptionsListenParams), Listening{q.ID, q.Send, kept})
			}}
			ctx, leave := context.WithCancel(t.Context())
			r, w := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil), httptest.NewRecorder()
			r.Header.Set("Mcp-Protocol-Version", FirstVersion)
			r.Header.Set("Mcp-Method", methods.Listen)
			go h.Serve(w, r, []byte(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["file:///r"]},`+
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
			time.Sleep(2 * together)
			l.Updated("file:///other")
			l.Changed(methods.ResourcesChanged)
			for range 2 { // Both changes are told of once.
				l.Changed(methods.PromptsChanged)
				l.Changed(methods.ToolsChanged)
			}
			l.Updated("file:///r")
			time.Sleep(2 * together)
			if subscribed["file:///r"] != 1 || len(subscribed) != 1 {
				t.Errorf("subscribed to %v", subscribed)
			}
			leave()
			synctest.Wait()
			l.Changed(methods.ToolsChanged)
			if diff := cmp.Diff(acknowledged+before+updated+changed("prompts")+changed("tools"), w.Body.String()); diff != "" || subscribed["file:///r"] != 0 {
				t.Errorf("kept lists %v, subscribed %v (-want +got):\n%s", kept, subscribed, diff)
			}
		})
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// do sends one request to the bridge, past any SDK.
func (r *rig) do(t testing.TB, method, url, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req := must.Value(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp := must.Value(r.http.Do(req))(t)
	defer resp.Body.Close()
	answer := must.Value(io.ReadAll(resp.Body))(t)
	return resp, string(answer)
}

// answerOf returns the message with an id in a response of either form.
func answerOf(t *testing.T, body string) map[string]json.RawMessage {
	t.Helper()
	for line := range strings.SplitSeq(body, "\n") {
		line = strings.TrimPrefix(line, "data: ")
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(line), &m) == nil && m["id"] != nil && m["method"] == nil {
			return m
		}
	}
	t.Fatalf("no answer in %q", body)
	return nil
}

// session opens a legacy session and returns its headers.
func (r *rig) session(t testing.TB) map[string]string {
	t.Helper()
	resp, _ := r.do(t, "POST", r.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, nil)
	header := map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"}
	if header["Mcp-Session-Id"] == "" {
		t.Fatalf("no session: %s", resp.Status)
	}
	r.do(t, "POST", r.url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header)
	return header
}

// modernBody is a modern request, and modernHeader its headers.
func modernBody(id any, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id, method, params)
}

func modernHeader(method, name string) map[string]string {
	return map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name}
}

func TestHTTPRules(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	base, list := strings.TrimSuffix(r.url, "/u/alice/mcp"), `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	for name, tt := range map[string]struct {
		method, url, body string
		status            int
	}{
		"another user's path does not exist": {"POST", base + "/u/bob/mcp", list, 404},
		"nor does a path below":              {"POST", r.url + "/x", list, 404},
		"nor one below that of HTTP+SSE":     {"GET", r.sseURL() + "/x", "", 404},
		"health is asked, not told":          {"POST", base + "/health", "", 405},
		"a request without a session":        {"POST", r.url, list, 400},
	} {
		if resp, body := r.do(t, tt.method, tt.url, tt.body, nil); resp.StatusCode != tt.status || resp.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: answer = %d %q, want %d", name, resp.StatusCode, body, tt.status)
		}
	}
}

// TestWhatNeedsASessionIsRefusedWithoutOne sends what only a session can answer
// in every form that might pass for a modern request.
func TestWhatNeedsASessionIsRefusedWithoutOne(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	forms := map[string]struct {
		meta, header, says string
	}{
		"a legacy version in the metadata":           {`"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}`, "2025-11-25", "session_missing"},
		"an empty version":                           {`"_meta":{"io.modelcontextprotocol/protocolVersion":""}`, "2025-11-25", "session_missing"},
		"a version that is no text":                  {`"_meta":{"io.modelcontextprotocol/protocolVersion":1}`, "2025-11-25", "session_missing"},
		"a modern version under a name in capitals":  {`"_META":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, "2025-11-25", "-32601"},
		"the same without a version header":          {`"_META":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, "", "-32601"},
		"a modern header beside the legacy metadata": {`"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}`, "2026-07-28", "-32020"},
	}
	params := map[string]string{
		"logging/setLevel":      `"level":"info"`,
		"resources/subscribe":   `"uri":"file:///a"`,
		"resources/unsubscribe": `"uri":"file:///a"`,
	}
	for name, form := range forms {
		for method, p := range params {
			t.Run(method+" with "+name, func(t *testing.T) {
				header := map[string]string{"Mcp-Method": method}
				if form.header != "" {
					header["Mcp-Protocol-Version"] = form.header
				}
				_, body := r.do(t, "POST", r.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, p, form.meta), header)
				if !strings.Contains(body, form.says) {
					t.Errorf("answer = %q, want %s", body, form.says)
				}
			})
		}
	}
}

// TestEqualIDsNeverMix has many clients send the same id at once, in both eras.
func TestEqualIDsNeverMix(t *testing.T) {
	t.Parallel()
	for serverEra := range eraNames {
		t.Run(serverEra+" server", func(t *testing.T) {
			t.Parallel()
			upstream := serveMCP(t, echoServer("one"), serverEra)
			t.Cleanup(upstream.Close)
			r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
			var waiting sync.WaitGroup
			for i := range 40 {
				text := fmt.Sprintf("caller %d", i)
				arguments := fmt.Sprintf(`"name":"echo","arguments":{"text":%q},`, text)
				body, header := modernBody(1, "tools/call", arguments), modernHeader("tools/call", "echo")
				if i%2 == 0 {
					header = r.session(t)
					body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + strings.TrimSuffix(arguments, ",") + `}}`
				}
				waiting.Go(func() {
					for range 5 {
						_, got := r.do(t, "POST", r.url, body, header)
						if m := answerOf(t, got); string(m["id"]) != "1" || !strings.Contains(string(m["result"]), "one: "+text+`"`) {
							t.Errorf("%s got %s", text, got)
						}
					}
				})
			}
			waiting.Wait()
		})
	}
}

// wireServer is a legacy server that answers with exactly these results, which
// have fields that no SDK knows. Each list ends with the page after the first.
func wireServer(t *testing.T, results map[string]string) *httptest.Server {
	t.Helper()
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Cursor string `json:"cursor"`
			} `json:"params"`
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		result, ok := results[m.Method]
		if !ok {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
			return
		}
		if m.Params.Cursor != "" {
			result = `{"tools":[]}`
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
}

func fieldsOf(t *testing.T, object string) map[string]string {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &raw); err != nil {
		t.Fatalf("%v in %q", err, object)
	}
	fields := map[string]string{}
	for k, v := range raw {
		fields[k] = string(v)
	}
	return fields
}

// newZone starts a bridge to a server whose tool wants its argument in a header too
// and returns what the header says.
func newZone(t *testing.T) *rig {
	t.Helper()
	s := emptyServer(nil)
	s.AddTool(&mcp.Tool{Name: "zone", InputSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"region": map[string]any{"type": "string", "x-mcp-header": "Region"}},
	}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("%s", req.Extra.Header.Get("Mcp-Param-Region")), nil
	})
	upstream := serveMCP(t, s, "modern")
	t.Cleanup(upstream.Close)
	return newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
}

// expectZone calls the tool with clients of both eras, which send no such header.
func expectZone(t *testing.T, connect func(*testing.T, string, *mcp.ClientOptions) *mcp.ClientSession) {
	t.Helper()
	for clientEra := range eraNames {
		client := connect(t, clientEra, nil)
		must.Value(client.ListTools(t.Context(), nil))(t)
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "zone", Arguments: map[string]string{"region": "eu"}})
		if err != nil {
			t.Fatalf("%s client: %v", clientEra, err)
		}
		if got := text(t, result); got != "eu" {
			t.Errorf("%s client: the server saw %q", clientEra, got)
		}
	}
}

// TestArgumentHeaders checks the headers that repeat a tool's arguments: a
// modern client's pass on, and for a legacy client the bridge writes them.
func TestArgumentHeaders(t *testing.T) {
	t.Parallel()
	r := newZone(t)
	awaitLists(t, r.bridge)
	_, body := r.do(t, "POST", r.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"zone","arguments":{"region":"eu"}}}`, r.session(t))
	if !strings.Contains(body, `"text":"eu"`) {
		t.Errorf("a client of an earlier version that has listed nothing: %s", body)
	}
	expectZone(t, r.connect)
	header := modernHeader("tools/call", "zone")
	header["Mcp-Param-Region"] = "us"
	resp, body := r.do(t, "POST", r.url, modernBody(1, "tools/call", `"name":"zone","arguments":{"region":"eu"},`), header)
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "-32020") {
		t.Errorf("a header that contradicts the body: %d %s", resp.StatusCode, body)
	}
}

func TestHealthOverHTTP(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "modern")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	wait.Until(t, "healthy", func() bool { return r.bridge.Health().Status == health.Healthy })
	resp, body := r.do(t, "GET", strings.TrimSuffix(r.url, "/u/alice/mcp")+"/health", "", nil)
	var report health.Report
	must.Succeed(t, json.Unmarshal([]byte(body), &report))
	if resp.StatusCode != 200 || report.Status != health.Healthy || report.Tools != 1 || report.Servers["one"].Tools != 1 || report.Servers["one"].LastCheck == nil {
		t.Errorf("health = %d %s", resp.StatusCode, body)
	}
}

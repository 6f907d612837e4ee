// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestEachProtocolHasTheToolCalledAndItsResultRead asks in each protocol as its clients do:
// first with the tools alone, then with the result.
func TestEachProtocolHasTheToolCalledAndItsResultRead(t *testing.T) {
	tests := []struct {
		name, path, first, then string
		// called is what the first answer has in it.
		called string
	}{
		{
			name: "Messages", path: "/v1/messages", called: `"name":"mcp__hb__echo"`,
			first: `{"stream":true,"tools":[{"name":"Bash"},{"name":"mcp__hb__echo"}],
				"messages":[{"role":"user","content":"Hello"}]}`,
			then: `{"tools":[{"name":"Bash"},{"name":"mcp__hb__echo"}],"messages":[{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"hello"}]}]}]}`,
		},
		{
			name: "Responses", path: "/v1/responses", called: `"namespace":"mcp__hb__"`,
			first: `{"stream":true,"tools":[{"type":"function","name":"shell"},
				{"type":"namespace","name":"mcp__hb__","tools":[{"name":"echo"}]}]}`,
			then: `{"tools":[{"type":"namespace","name":"mcp__hb__","tools":[{"name":"echo"}]}],"input":[
				{"type":"function_call_output","call_id":"call_1","output":"hello"}]}`,
		},
		{
			name: "Chat Completions", path: "/v1/chat/completions", called: `"name":"hb_echo"`,
			first: `{"stream":true,"tools":[{"type":"function","function":{"name":"hb_echo"}}],
				"messages":[{"role":"system","content":"Be brief."}]}`,
			then: `{"tools":[{"type":"function","function":{"name":"hb_echo"}}],"messages":[
				{"role":"tool","tool_call_id":"call_1","content":"hello"}]}`,
		},
		{
			name: "generateContent", path: "/v1beta/models/any:streamGenerateContent", called: `"name":"mcp_hb_echo"`,
			first: `{"tools":[{"functionDeclarations":[{"name":"mcp_hb_echo"}]}],"contents":[{"parts":[{"text":"Hello"}]}]}`,
			then: `{"tools":[{"functionDeclarations":[{"name":"mcp_hb_echo"}]}],"contents":[
				{"parts":[{"functionResponse":{"name":"mcp_hb_echo","response":{"output":"hello"}}}]}]}`,
		},
		{
			name: "a program", path: "/program", called: `"call":"echo"`,
			first: `{"tools":["echo"],"results":[]}`, then: `{"tools":["echo"],"results":["hello"]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &Model{Tool: "echo"}
			if got := post(t, m, tt.path, tt.first); !strings.Contains(got, tt.called) {
				t.Errorf("the first answer is %s, want %s in it", got, tt.called)
			}
			if got := post(t, m, tt.path, tt.then); !strings.Contains(got, "The tool answered: hello") {
				t.Errorf("the second answer is %s", got)
			}
			if diff := cmp.Diff([]string{"hello"}, m.Seen().Results); diff != "" {
				t.Errorf("the results differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAToolBehindASearchIsFoundAndCalled has an agent with many tools, which offers a search
// and a tool that calls another one.
func TestAToolBehindASearchIsFoundAndCalled(t *testing.T) {
	t.Parallel()
	m := &Model{Tool: "echo"}
	const tools = `"tools":[{"function":{"name":"tool_search"}},{"function":{"name":"tool_call"}}]`
	if got := post(t, m, "/chat/completions", `{`+tools+`,"messages":[]}`); !strings.Contains(got, `"name":"tool_search"`) {
		t.Errorf("the first answer is %s", got)
	}
	const found = `{"role":"tool","tool_call_id":"search_1","content":"<name>mcp__hb__echo</name>"}`
	got := post(t, m, "/chat/completions", `{`+tools+`,"messages":[`+found+`]}`)
	if !strings.Contains(got, `"name":"tool_call"`) || !strings.Contains(got, `mcp__hb__echo`) {
		t.Errorf("the second answer is %s", got)
	}
}

// TestASearchThatFindsNothingFindsNoTool has a search that repeats the question.
func TestASearchThatFindsNothingFindsNoTool(t *testing.T) {
	t.Parallel()
	m := &Model{Tool: "echo"}
	got := post(t, m, "/chat/completions", `{"tools":[{"function":{"name":"tool_search"}},{"function":{"name":"tool_call"}}],
		"messages":[{"role":"tool","tool_call_id":"search_1","content":"nothing matches echo"}]}`)
	if !strings.Contains(got, "I have no tool") || len(m.Seen().Offered) != 2 {
		t.Errorf("the answer is %s, offered are %v", got, m.Seen().Offered)
	}
}

func post(t *testing.T, m *Model, path, body string) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return string(must.Value(io.ReadAll(w.Body))(t))
}

func TestWordsAreWithoutKeysAndWhatAnotherRunWouldPrintOtherwise(t *testing.T) {
	t.Parallel()
	w := Window{URL: "http://127.0.0.1:4711/u/client-x/mcp", Key: "hb_secret", Home: "/home/x", Modules: "/modules"}
	got := w.words("YOLO mode is enabled.\n\x1b[31mFailed\x1b[0m after 23ms:\n" +
		" http://127.0.0.1:4711/u/client-x/mcp said hb_secret, see /home/x/log")
	if want := "Failed after …: http://127.0.0.1:PORT/u/alice/mcp said [key], see ~/log"; got != want {
		t.Errorf("the words are %q, want %q", got, want)
	}
}

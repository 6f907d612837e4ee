// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// tells is a bridge whose answer ends with these trailers, announced or not.
func tells(announced bool, values ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		name := http.TrailerPrefix + audit.TrailerName
		if announced {
			name = audit.TrailerName
			rw.Header().Set("Trailer", name)
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, "answer")
		_ = http.NewResponseController(rw).Flush()
		rw.Header()[name] = values
	}
}

func called(server, tool string, status audit.Status) audit.Call {
	return audit.Call{Server: server, Tool: tool, Method: "tools/call", Status: status}
}

func TestTheAccessLogSaysWhatABridgeCalled(t *testing.T) {
	good := audit.EncodeTrailer([]audit.Call{called("jira", "search", audit.Success)})
	for _, test := range []struct {
		name   string
		values []string
		said   string
		result string
	}{
		{"one call", []string{good}, `"calls":1,"server":"jira","tool":"search","callStatus":"success"`, "read"},
		{"several, of which the first that failed is shown", []string{audit.EncodeTrailer([]audit.Call{
			called("a", "one", audit.Success), called("b", "two", audit.ToolError), called("c", "three", audit.Denied),
		})}, `"calls":3,"server":"b","tool":"two","callStatus":"tool_error"`, "read"},
		{"more than a trailer holds", []string{audit.EncodeTrailer(twoHundred())}, `"calls":200,"server":"jira"`, "read"},
		{"none", nil, "", ""},
		{"what is no trailer", []string{"canary"}, "", "invalid"},
		{"an unknown field", []string{strings.Replace(good, `"tool"`, `"arguments":"canary","tool"`, 1)}, "", "invalid"},
		{"two trailers", []string{good, good}, "", "invalid"},
	} {
		for _, announced := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, announced %v", test.name, announced), func(t *testing.T) {
				w, alice := oneUser(t, defaults(), tells(announced, test.values...))
				for _, http2 := range []bool{false, true} {
					if http2 {
						w.useHTTP2()
					}
					res, err := w.client.Do(w.request("POST", "/u/alice/mcp", alice, toolCall))
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(res.Body)
					res.Body.Close()
					header := fmt.Sprint(res.Header)
					if err != nil || string(body) != "answer" || len(res.Trailer) != 0 || strings.Contains(header, "Audit") || strings.Contains(header, "Trailer") {
						t.Errorf("HTTP/2 %v: %q, error %v, header %s, trailer %v", http2, body, err, header, res.Trailer)
					}
				}
				eventually(t, func() bool { return strings.Count(w.logs.String(), `"msg":"request"`) == 2 })
				log := w.logs.String()
				if test.said != "" && strings.Count(log, test.said) != 2 || test.said == "" && strings.Contains(log, `"calls"`) || strings.Contains(log, "canary") {
					t.Errorf("log: %s", log)
				}
				if n := w.metric("audit_trailers_total", test.result); test.result != "" && n != 2 {
					t.Errorf("trailers = %v", n)
				}
			})
		}
	}
}

func twoHundred() []audit.Call {
	calls := make([]audit.Call, 200)
	for i := range calls {
		calls[i] = called("jira", strings.Repeat("t", 100), audit.Success)
	}
	return calls
}

func TestNamesInTheLogAreShortAndPrintable(t *testing.T) {
	for name, want := range map[string]string{
		"search": "search", "": "", "a b": "a b", "a\nb": `a\nb`, `a"b`: `a\"b`, "\x1b[2J": `\x1b[2J`, "ü": `\u00fc`, "\u202e": `\u202e`, "\xff": `\xff`,
		strings.Repeat("a", 1000):      strings.Repeat("a", maxShown),
		strings.Repeat("\u202e", 1000): strings.Repeat(`\u202e`, 1000)[:maxShown],
	} {
		if got := printable(name); got != want {
			t.Errorf("printable(%q) = %q, want %q", name, got, want)
		}
	}
}

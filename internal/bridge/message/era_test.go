// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`

func TestDetectEra(t *testing.T) {
	tests := map[string]struct {
		method, version, session, body string
		want                           Era
	}{
		"a modern version header decides":             {"POST", "2026-07-28", "", `{}`, Modern},
		"so does a later one":                         {"POST", "2027-01-01", "", `{}`, Modern},
		"a session header beside it does not matter":  {"POST", "2026-07-28", "s", `{}`, Modern},
		"initialize is legacy":                        {"POST", "", "", `{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, Legacy},
		"initialize that claims a modern version too": {"POST", "", "", `{"id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}`, Legacy},
		"ping needs no session":                       {"POST", "", "", `{"id":1,"method":"ping"}`, Legacy},
		"a request with a session is legacy":          {"POST", "2025-11-25", "s", `{"id":1,"method":"tools/list"}`, Legacy},
		"its body is not looked at":                   {"POST", "", "s", `{"method":"tools/list","params":{` + modernMeta + `}}`, Legacy},
		"metadata with a version is modern":           {"POST", "", "", `{"id":1,"method":"tools/list","params":{` + modernMeta + `}}`, Modern},
		"even behind large arguments":                 {"POST", "", "", `{"id":1,"method":"tools/call","params":{"arguments":{"x":"` + strings.Repeat("y", 1<<20) + `"},` + modernMeta + `}}`, Modern},
		"a legacy header does not hide the metadata":  {"POST", "2025-11-25", "", `{"id":1,"method":"tools/list","params":{` + modernMeta + `}}`, Modern},
		"metadata with a later version is modern":     {"POST", "2025-11-25", "", `{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`, Modern},
		"metadata with a legacy version strays":       {"POST", "2025-11-25", "", `{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}`, Sessionless},
		"so does an empty version":                    {"POST", "2025-11-25", "", `{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":""}}}`, Sessionless},
		"and one that is no text":                     {"POST", "2025-11-25", "", `{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}}`, Sessionless},
		"or null":                                     {"POST", "2025-11-25", "", `{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":null}}}`, Sessionless},
		"a name in capitals counts, as for the SDK":   {"POST", "2025-11-25", "", `{"id":1,"method":"logging/setLevel","params":{"_META":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, Modern},
		"a level without a session strays":            {"POST", "2025-11-25", "", `{"id":1,"method":"logging/setLevel","params":{"level":"info"}}`, Sessionless},
		"so does a subscription":                      {"POST", "2025-11-25", "", `{"id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}`, Sessionless},
		"and its end":                                 {"POST", "2025-11-25", "", `{"id":1,"method":"resources/unsubscribe","params":{"uri":"file:///a"}}`, Sessionless},
		"server/discover is modern":                   {"POST", "", "", `{"id":1,"method":"server/discover"}`, Modern},
		"subscriptions/listen is modern":              {"POST", "", "", `{"id":1,"method":"subscriptions/listen","params":{}}`, Modern},
		"a request without session or version strays": {"POST", "", "", `{"id":1,"method":"tools/list"}`, Sessionless},
		"other metadata does not help it":             {"POST", "", "", `{"id":1,"method":"tools/list","params":{"_meta":{"progressToken":1}}}`, Sessionless},
		"nor do parameters of another shape":          {"POST", "", "", `{"id":1,"method":"tools/list","params":[1]}`, Sessionless},
		"a response without a session is legacy":      {"POST", "", "", `{"id":1,"result":{}}`, Legacy},
		"a batch is left to the legacy handler":       {"POST", "", "", `[{"id":1,"method":"tools/list"}]`, Legacy},
		"so is what is no JSON":                       {"POST", "", "", `{`, Legacy},
		"and nothing at all":                          {"POST", "", "", ``, Legacy},
		"GET is legacy":                               {"GET", "", "s", ``, Legacy},
		"DELETE is legacy":                            {"DELETE", "2025-06-18", "s", ``, Legacy},
		"GET with a modern version is modern":         {"GET", "2026-07-28", "", ``, Modern},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, "/u/alice/mcp", strings.NewReader(tt.body))
			if tt.version != "" {
				r.Header.Set(HeaderVersion, tt.version)
			}
			if tt.session != "" {
				r.Header.Set(HeaderSessionID, tt.session)
			}
			got, _, err := DetectEra(r)
			if err != nil || got != tt.want {
				t.Errorf("era = %v, %v, want %v", got, err, tt.want)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || string(body) != tt.body {
				t.Errorf("the body afterwards has %d bytes, %v, want the %d sent", len(body), err, len(tt.body))
			}
		})
	}
}

// TestDetectEraReadsABoundedPart makes sure that a huge body is not read to
// find out that it is too large.
func TestDetectEraReadsABoundedPart(t *testing.T) {
	read := &countingReader{}
	r := httptest.NewRequest(http.MethodPost, "/u/alice/mcp", read)
	must.Values(DetectEra(r))(t)
	if read.n > 2*MaxBody {
		t.Errorf("%d bytes were read, want about %d", read.n, MaxBody)
	}
}

// countingReader is an endless body.
type countingReader struct{ n int }

func (c *countingReader) Read(p []byte) (int, error) {
	c.n += len(p)
	return copy(p, bytes.Repeat([]byte("{"), len(p))), nil
}

func FuzzEraOfBody(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`))
	f.Add([]byte(`{"id":"x","method":"initialize"}`))
	f.Add([]byte(`[{"method":"tools/list"}]`))
	f.Add([]byte(`{"method":1,"params":{"_meta":[]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/u/alice/mcp", bytes.NewReader(body))
		got, _ := must.Values(DetectEra(r))(t)
		after, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(after, body) {
			t.Fatalf("the body changed: %q, %v", after, err)
		}
		if again, _ := eraOfBody(body); again != got {
			t.Fatalf("era %v, then %v", got, again)
		}
	})
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package outputs

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const numberSchema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`

// listed returns the entry of a tool in a server's list.
func listed(schema string) json.RawMessage {
	if schema != "" {
		schema = `,"outputSchema":` + schema
	}
	return json.RawMessage(`{"inputSchema":{"type":"object"},"name":"t"` + schema + `}`)
}

// settled returns the result of a call as the client gets it, and whether the list of tools changed.
func settled(t *testing.T, o *Outputs, schema, result string, now time.Time) (*message.Result, bool) {
	t.Helper()
	r := must.Value(message.ParseResult([]byte(result)))(t)
	o.Of("t", listed(schema), r, now).Mend()
	return r, o.Of("t", listed(schema), r, now).Settle(now)
}

// checked returns why a client on the TypeScript SDK (1.32.2 or 2.4.0) shows an error in place of a
// result, empty if it shows the result. It has listed the tool with its schema.
func checked(result map[string]json.RawMessage) string {
	raw, structured := result["structuredContent"]
	switch {
	case !structured && string(result["isError"]) != "true":
		return "it did not return structured content"
	case !structured:
		return ""
	}
	var value struct{ N *int }
	if json.Unmarshal(raw, &value) != nil || value.N == nil {
		return "its structured content does not match"
	}
	return ""
}

// TestNoTextOfAResultIsLostBecauseOfItsSchema has a server answer in ways that clients with its list
// show as errors. marked are the texts in the result of one that is marked.
func TestNoTextOfAResultIsLostBecauseOfItsSchema(t *testing.T) {
	t.Parallel()
	const hello = `{"type":"text","text":"hello"}`
	long := strings.Repeat("a", 70_000)
	for name, tt := range map[string]struct {
		schema, result string
		want           string   // empty for the result as it is, or marked
		marked         []string // the texts before that of the bridge
	}{
		"a result that fits":         {numberSchema, `{"content":[` + hello + `],"structuredContent":{"n":1}}`, "", nil},
		"structured content alone":   {numberSchema, `{"content":[],"structuredContent":{"n":1.0}}`, `{"content":[{"text":"{\"n\":1.0}","type":"text"}],"structuredContent":{"n":1.0}}`, nil},
		"no content":                 {numberSchema, `{"structuredContent":{"n":1}}`, `{"content":[{"text":"{\"n\":1}","type":"text"}],"structuredContent":{"n":1}}`, nil},
		"no content and no schema":   {"", `{"structuredContent":{"n":1}}`, `{"content":[{"text":"{\"n\":1}","type":"text"}],"structuredContent":{"n":1}}`, nil},
		"a text that is the content": {numberSchema, `{"content":[` + hello + `,{"type":"text","text":" {\"n\":12}"}]}`, `{"content":[` + hello + `,{"type":"text","text":" {\"n\":12}"}],"structuredContent":{"n":12}}`, nil},
		"a text alone":               {numberSchema, `{"content":[` + hello + `]}`, "", []string{"hello"}},
		"a null":                     {numberSchema, `{"content":[` + hello + `],"structuredContent":null}`, "", []string{"hello"}},
		"no text and no structure":   {numberSchema, `{"content":[]}`, "", []string{}},
		"another type":               {numberSchema, `{"content":[` + hello + `],"structuredContent":{"n":"1"}}`, "", []string{"hello", `{"n":"1"}`}},
		"another type, and its text": {numberSchema, `{"content":[{"type":"text","text":"{\"n\": \"1\"}"}],"structuredContent":{"n":"1"}}`, "", []string{`{"n": "1"}`}},
		"another type alone":         {numberSchema, `{"structuredContent":{}}`, "", []string{`{}`}},
		"a null and no schema":       {"", `{"content":[` + hello + `],"structuredContent":null}`, `{"content":[` + hello + `]}`, nil},
		"an error":                   {numberSchema, `{"content":[` + hello + `],"isError":true}`, "", nil},
		"a task":                     {numberSchema, `{"task":{"taskId":"a","status":"working"},"content":[]}`, "", nil},
		"a large result":             {numberSchema, `{"content":[{"type":"text","text":"` + long + `"}],"structuredContent":{}}`, "", nil},
		"a tool without a schema":    {"", `{"content":[` + hello + `]}`, "", nil},
		"a schema of itself":         {`{"type":"object","properties":{"n":{"$ref":"#"}},"required":["n"]}`, `{"content":[` + hello + `],"structuredContent":{}}`, "", nil},
		"a schema without an end":    {`{"type":"object","allOf":[{"$ref":"#"}]}`, `{"content":[` + hello + `],"structuredContent":{}}`, "", nil},
		"a schema elsewhere":         {`{"type":"object","allOf":[{"$ref":"https://127.0.0.1:1/a.json"}]}`, `{"content":[` + hello + `],"structuredContent":{}}`, "", nil},
		"no schema":                  {`{"type":"object","pattern":5}`, `{"content":[` + hello + `],"structuredContent":{}}`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o Outputs
			got, changed := settled(t, &o, tt.schema, tt.result, time.Now())
			if changed != (tt.marked != nil) || (o.Unfit() == 1) != changed || (string(o.Listed("t", listed(tt.schema))) == string(listed(""))) != (changed || tt.schema == "") {
				t.Errorf("the list changed: %t, %d results do not fit", changed, o.Unfit())
			}
			if tt.marked != nil {
				checkMarked(t, got, tt.marked)
				return
			}
			want := tt.want
			if want == "" {
				want = tt.result
			}
			if diff := cmp.Diff(must.Value(message.ParseResult([]byte(want)))(t), got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// checkMarked checks a result that is marked as an error.
func checkMarked(t *testing.T, r *message.Result, want []string) {
	t.Helper()
	got := texts(r)
	if len(got) == 0 || got[len(got)-1] != note {
		t.Fatalf("no text says that the tool reports no error: %q", got)
	}
	if diff := cmp.Diff(want, append([]string{}, got[:len(got)-1]...)); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	if why := checked(r.Fields); why != "" || !cmp.Equal(r.Meta[MetaUnfit], any(map[string]any{"isError": false})) {
		t.Errorf("a client shows %q in place of %s", why, r.Fields)
	}
}

// TestASchemaIsLeftOutUntilTheServerListsAnotherOne. When clients know, results pass as they are.
func TestASchemaIsLeftOutUntilTheServerListsAnotherOne(t *testing.T) {
	t.Parallel()
	var o Outputs
	var calls sync.WaitGroup
	now := time.Now()
	for range 50 {
		calls.Go(func() { settled(t, &o, numberSchema, `{"structuredContent":{}}`, now) })
	}
	calls.Wait()
	if o.Unfit() != 50 {
		t.Errorf("%d results do not fit", o.Unfit())
	}
	const another = `{"required":["n"]}`
	for i, tt := range []struct {
		after          time.Duration
		schema         string
		listed, marked bool
	}{{59 * time.Second, numberSchema, false, true}, {61 * time.Second, numberSchema, false, false}, {61 * time.Second, another, true, true}, {time.Hour, numberSchema, true, true}} {
		if got := string(o.Listed("t", listed(tt.schema))); (got == string(listed(tt.schema))) != tt.listed {
			t.Errorf("%d: the tool is listed as %s", i, got)
		}
		if r, _ := settled(t, &o, tt.schema, `{"content":[],"structuredContent":{}}`, now.Add(tt.after)); r.IsError() != tt.marked {
			t.Errorf("%d: the result is %s", i, r.Fields)
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// sample is a call with every field set.
var sample = Call{
	ID: "4fd1", Server: "My server", Tool: "search_web", Method: "tools/call", Action: "batch", ParamKeys: []string{"a", "b.c"},
	Status: ToolError, ErrorType: "-32602", LatencyMS: 12, BytesIn: 34, BytesOut: 56, Cached: true, Retries: 2,
	ProtocolVersion: "2026-07-28",
}

func many(n int) []Call {
	calls := make([]Call, n)
	for i := range calls {
		calls[i] = sample
		calls[i].Tool = fmt.Sprintf("tool_%d", i)
	}
	return calls
}

func TestATrailerIsReadAsItWasWritten(t *testing.T) {
	calls := append(many(3), Call{Tool: "x", Method: "tools/call", Status: Success})
	got := must.Value(ParseTrailer(EncodeTrailer(calls)))(t)
	if diff := cmp.Diff(Trailer{Calls: calls}, got); diff != "" {
		t.Error(diff)
	}
	if EncodeTrailer(nil) != "" {
		t.Error("there is a trailer for no calls")
	}
}

func TestATrailerStaysSmall(t *testing.T) {
	for _, n := range []int{1, 20, 40, 60, 1000} {
		value := EncodeTrailer(many(n))
		got, err := ParseTrailer(value)
		if err != nil {
			t.Fatalf("%d calls: %v", n, err)
		}
		if len(value) > maxTrailer || len(got.Calls)+got.Dropped != n {
			t.Errorf("%d calls: %d bytes with %d calls and %d dropped", n, len(value), len(got.Calls), got.Dropped)
		}
		if n == 1000 && (len(value) < maxTrailer*3/4 || got.Calls[0].ParamKeys != nil) {
			t.Errorf("%d bytes with keys %v: the keys go first, and no more calls than must", len(value), got.Calls[0].ParamKeys)
		}
	}
}

func TestWhateverACallIsMadeOfItsTrailerCanBeRead(t *testing.T) {
	strange := strings.Repeat("\r\nX: \x00é\"\\ü", 100)
	value := EncodeTrailer([]Call{{
		Server: strange, Tool: strange, Method: strange, Action: strange, ErrorType: strange, ProtocolVersion: strange,
		ParamKeys: append([]string{strange, "ok", ""}, make([]string, 100)...), Status: "strange", LatencyMS: -1, BytesIn: -1, Retries: -1,
	}})
	got := must.Value(ParseTrailer(value))(t)
	if strings.IndexFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) >= 0 {
		t.Errorf("%q is no header's value", value)
	}
	if c := got.Calls[0]; len(c.Tool) != maxName || c.Status != ProtocolError || !cmp.Equal(c.ParamKeys, []string{"ok"}) {
		t.Errorf("call = %+v", c)
	}
}

func TestWhatIsNoTrailerIsRefused(t *testing.T) {
	const good = `{"calls":[{"tool":"t","method":"tools/call","status":"success","latencyMs":1,"bytesIn":1,"bytesOut":1}]}`
	must.Value(ParseTrailer(good))(t)
	replaced := func(old, by string) string { return strings.Replace(good, old, by, 1) }
	tests := map[string]string{
		"nothing":                        "",
		"no calls":                       `{"calls":[]}`,
		"no JSON":                        "x",
		"data after it":                  good + "{}",
		"an unknown field":               replaced(`"tool"`, `"arguments":{},"tool"`),
		"an unknown status":              replaced("success", "fine"),
		"a negative number":              replaced(`"latencyMs":1`, `"latencyMs":-1`),
		"a name that is none":            replaced(`"tool":"t"`, `"tool":"a\nb"`),
		"a name that is too long":        replaced(`"tool":"t"`, `"tool":"`+strings.Repeat("a", 200)+`"`),
		"an act of an administrator":     replaced("tools/call", "admin/keys.revoke"),
		"another method":                 replaced("tools/call", "tools/list"),
		"no method":                      replaced("tools/call", ""),
		"a key that is none":             replaced(`"method"`, `"paramKeys":["a b"],"method"`),
		"too many keys":                  replaced(`"method"`, `"paramKeys":["a"`+strings.Repeat(`,"a"`, 50)+`],"method"`),
		"more than a trailer holds":      good + strings.Repeat(" ", maxTrailer),
		"a negative number of lost ones": replaced(`{"calls"`, `{"dropped":-1,"calls"`),
	}
	for name, value := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := ParseTrailer(value); err == nil {
				t.Errorf("%q is read as %+v", value, got)
			}
		})
	}
}

func TestKeysAreNamesOnly(t *testing.T) {
	tests := map[string]struct {
		object string
		want   []string
	}{
		"names in order":               {`{"b":1,"a":{"deep":2}}`, []string{"a", "b"}},
		"what might be a value is not": {`{"my secret":1,"é":2,"":3,"` + strings.Repeat("a", 65) + `":4,"x-y.z_1":5}`, []string{"x-y.z_1"}},
		"no object":                    {`["a"]`, nil},
		"nothing":                      {``, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Keys(json.RawMessage(tt.object))); diff != "" && len(tt.want)+len(Keys(json.RawMessage(tt.object))) > 0 {
				t.Error(diff)
			}
		})
	}
	var object strings.Builder
	object.WriteString(`{"a":1`)
	for i := range 100 {
		fmt.Fprintf(&object, `,"k%d":1`, i)
	}
	if got := Keys(json.RawMessage(object.String() + "}")); len(got) != maxKeys {
		t.Errorf("%d keys, want at most %d", len(got), maxKeys)
	}
}

// TestACallCannotHoldAValue fails when a field comes that could: only strings
// that are names, numbers and one boolean may be there.
func TestACallCannotHoldAValue(t *testing.T) {
	names := map[string]bool{
		"ID": true, "Server": true, "Credential": true, "Tool": true, "Method": true, "Action": true, "ParamKeys": true, "Status": true, "ErrorType": true, "ProtocolVersion": true,
	}
	for field := range reflect.TypeFor[Call]().Fields() {
		switch field.Type.Kind() {
		case reflect.Int, reflect.Int64, reflect.Bool:
			continue
		}
		if !names[field.Name] {
			t.Errorf("%s is a %v", field.Name, field.Type)
		}
	}
}

func FuzzParseTrailer(f *testing.F) {
	f.Add(EncodeTrailer([]Call{sample}))
	f.Add(EncodeTrailer(many(100)))
	f.Add(`{"calls":[{}]}`)
	f.Fuzz(func(t *testing.T, value string) {
		got, err := ParseTrailer(value)
		if err != nil {
			return
		}
		again, err := ParseTrailer(EncodeTrailer(got.Calls))
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		if len(again.Calls)+again.Dropped != len(got.Calls) {
			t.Errorf("%d calls became %d and %d dropped", len(got.Calls), len(again.Calls), again.Dropped)
		}
	})
}

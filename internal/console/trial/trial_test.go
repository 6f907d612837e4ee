// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

const schema = `{"$schema":"x","type":"object","required":["query","mode"],"properties":{
	"query":{"type":"string","description":"What to look for.","maxLength":10},
	"mode":{"enum":["fast","slow"]},
	"limit":{"type":"integer","minimum":1,"maximum":50,"default":10},
	"ratio":{"type":"number","minimum":0},
	"deep":{"type":"boolean"},
	"level":{"enum":[1,2,"2x"]},
	"nested":{"type":"object","properties":{"query":{"type":"string"},"zeta":{}}},
	"either":{"type":["string","null"]}}}`

func TestASchemaBecomesAForm(t *testing.T) {
	fields, ok := Fields(json.RawMessage(schema))
	if !ok {
		t.Fatal("the schema is no form")
	}
	var got []string
	for _, f := range fields {
		got = append(got, fmt.Sprintf("%s %s %t %s", f.Name, f.Kind, f.Required, f.Accepted))
	}
	want := []string{
		"query text true Text of at most 10 characters.",
		"mode oneof true One of these.",
		"limit whole false A whole number from 1 to 50. If left empty, the server takes 10.",
		"ratio number false A number, 0 or more.",
		"deep yes false ",
		"level oneof false One of these.",
		`nested json false JSON, such as ["a", "b"] or {"a": 1}.`,
		`either json false JSON, such as ["a", "b"] or {"a": 1}.`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSchemasThatAreNoForm(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": `{`, "a choice of schemas": `{"anyOf":[{}]}`, "a text": `"x"`,
		"too many arguments": `{"properties":{` + strings.TrimSuffix(many(maxFields+1), ",") + `}}`,
	} {
		if _, ok := Fields(json.RawMessage(text)); ok {
			t.Errorf("%s is a form", name)
		}
	}
	if fields, ok := Fields(json.RawMessage(`{"type":"object"}`)); !ok || len(fields) > 0 {
		t.Errorf("no arguments: %v %t", fields, ok)
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{},`, i)
	}
	return b.String()
}

func TestAFormBecomesArguments(t *testing.T) {
	for name, tt := range map[string]struct {
		form  url.Values
		want  string
		wrong map[string]string
	}{
		"all of it": {
			url.Values{"arg.query": {"a\r\nb"}, "arg.mode": {"slow"}, "arg.limit": {"5"}, "arg.ratio": {"1.5"}, "arg.deep": {"true"}, "arg.level": {"2"}, "arg.nested": {`{"a":[1]}`}, "arg.either": {`"x"`}},
			`{"query":"a\nb","mode":"slow","limit":5,"ratio":1.5,"deep":true,"level":2,"nested":{"a":[1]},"either":"x"}`, nil,
		},
		"what is needed": {url.Values{"arg.query": {"q"}, "arg.mode": {"fast"}}, `{"query":"q","mode":"fast"}`, nil},
		"nothing":        {url.Values{}, `{}`, map[string]string{"query": "Enter a value", "mode": "Enter a value"}},
		"all of it wrong": {
			url.Values{"arg.query": {"longer than that"}, "arg.mode": {"other"}, "arg.limit": {"500"}, "arg.ratio": {"NaN"}, "arg.level": {"3"}, "arg.nested": {"{"}, "arg.either": {"x"}},
			`{}`, map[string]string{
				"query": "The text has 16 characters", "mode": "Choose one", "limit": "Enter a whole number from 1 to 50", "ratio": "Enter a number", "level": "Choose one",
				"nested": "Enter JSON", "either": "Enter JSON",
			},
		},
		"not whole":        {url.Values{"arg.query": {"q"}, "arg.mode": {"fast"}, "arg.limit": {"1.5"}}, `{"query":"q","mode":"fast"}`, map[string]string{"limit": "Enter a whole number"}},
		"no JSON number":   {url.Values{"arg.query": {"q"}, "arg.mode": {"fast"}, "arg.limit": {"0x5"}}, `{"query":"q","mode":"fast"}`, map[string]string{"limit": "Enter a whole number"}},
		"markup is a text": {url.Values{"arg.query": {`"},{"<b>`}, "arg.mode": {"fast"}}, `{"query":"\"},{\"<b>","mode":"fast"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			fields, _ := Fields(json.RawMessage(schema))
			got, right := Arguments(fields, tt.form)
			if string(got) != tt.want || right != (tt.wrong == nil) || !json.Valid(got) {
				t.Errorf("%s %t, want %s", got, right, tt.want)
			}
			for _, f := range fields {
				if want := tt.wrong[f.Name]; !strings.HasPrefix(f.Error, want) || want == "" && f.Error != "" {
					t.Errorf("%s: %q, want %q", f.Name, f.Error, want)
				}
			}
		})
	}
}

func TestAnObjectIsAnObject(t *testing.T) {
	for text, ok := range map[string]bool{"": true, ` {"a":1} `: true, "[]": false, "null": false, "{": false, `"x"`: false, "{} {}": false} {
		if _, why := Object(text); (why == "") != ok {
			t.Errorf("%q: %q", text, why)
		}
	}
}

func answered(contentType, body string) httpapi.Exchanged {
	return httpapi.Exchanged{Status: http.StatusOK, Header: http.Header{"Content-Type": {contentType}}, Body: []byte(body)}
}

func TestTheResultOfAnAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		answer httpapi.Exchanged
		want   string
		fails  string
	}{
		"one message": {answered("application/json", `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`), `{"a":1}`, ""},
		"events":      {answered("text/event-stream", ": comment\n\ndata: {\"method\":\"x\"}\n\nevent: message\r\ndata: {\"id\":1,\r\ndata: \"result\":{\"a\":1}}\r\n\r\n"), `{"a":1}`, ""},
		"an error":    {answered("application/json", `{"id":1,"error":{"message":"The quota is used up.","data":{"code":"rate_limited"}}}`), "", "The quota is used up."},
		"nothing":     {answered("text/html", `<p>`), "", "The bridge answered with status 200 and no result."},
		"too much":    {httpapi.Exchanged{Truncated: true}, "", ErrTruncated.Error()},
	} {
		got, err := Result(tt.answer)
		if string(got) != tt.want || (err == nil) != (tt.fails == "") || err != nil && err.Error() != tt.fails {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
}

func TestAToolIsFoundOnALaterPage(t *testing.T) {
	asked := 0
	exchange := func(r httpapi.RPC) httpapi.Exchanged {
		if asked++; asked == 1 {
			return answered("application/json", `{"id":1,"result":{"tools":[{"name":"first"}],"nextCursor":"more"}}`)
		}
		if !strings.Contains(string(r.Body), `"cursor":"more"`) {
			t.Errorf("asked %s", r.Body)
		}
		return answered("application/json", `{"id":1,"result":{"tools":[{"name":"second","annotations":{"destructiveHint":true}}]}}`)
	}
	got, err := Find(exchange, "second")
	if err != nil || got == nil || got.Name != "second" || !got.Deletes() {
		t.Fatalf("%+v %v", got, err)
	}
	endless := func(httpapi.RPC) httpapi.Exchanged {
		return answered("application/json", `{"id":1,"result":{"nextCursor":"more"}}`)
	}
	if got, err := Find(endless, "none"); got != nil || err != nil {
		t.Errorf("a list without end: %v %v", got, err)
	}
	broken := func(httpapi.RPC) httpapi.Exchanged { return answered("application/json", `{"id":1,"result":[]}`) }
	if _, err := Find(broken, "none"); err == nil {
		t.Error("a list that is none is no error")
	}
	var failure *Failure
	if _, err := Find(broken, "none"); !errors.As(err, &failure) {
		t.Errorf("%v", err)
	}
}

func TestAnOutcomeIsText(t *testing.T) {
	for name, tt := range map[string]struct {
		result string
		want   Outcome
	}{
		"text":       {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, Outcome{Text: "a\n\nb"}},
		"a picture":  {`{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}`, Outcome{Text: "(image, image/png, 4 characters in base64)"}},
		"a resource": {`{"content":[{"type":"resource","resource":{"uri":"x:y","text":"t"}},{"type":"resource_link","uri":"x:z"}]}`, Outcome{Text: "x:y\nt\n\nx:z"}},
		"an object":  {`{"structuredContent":{"a":1}}`, Outcome{Text: "{\n  \"a\": 1\n}"}},
		"a failure":  {`{"isError":true,"content":[{"type":"text","text":"no"}]}`, Outcome{Failed: true, Text: "no"}},
		"a question": {`{"resultType":"input_required"}`, Outcome{Asks: true}},
		"nothing":    {`{}`, Outcome{}},
		"no object":  {`[]`, Outcome{Failed: true, Text: "The result could not be read."}},
	} {
		if diff := cmp.Diff(tt.want, OutcomeOf(json.RawMessage(tt.result))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzASchemaAndAForm(f *testing.F) {
	f.Add(schema, "arg.query=a&arg.limit=3")
	f.Add(`{"properties":{"a":{"enum":[null,{}]},"a":{"type":"string"}}}`, "arg.a=null")
	f.Fuzz(func(t *testing.T, text, query string) {
		fields, ok := Fields(json.RawMessage(text))
		form, err := url.ParseQuery(query)
		if !ok || err != nil {
			return
		}
		if got, right := Arguments(fields, form); right && !json.Valid(got) {
			t.Errorf("%q and %q make %q", text, query, got)
		}
	})
}

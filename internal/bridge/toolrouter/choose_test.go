// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package toolrouter

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestShorten(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"a short text stays":               {"Says it", "Says it"},
		"the first sentence is enough":     {"Says it. And then some.", "Says it."},
		"a dot within a word ends nothing": {"Reads a.txt and b.txt", "Reads a.txt and b.txt"},
		"lines are joined":                 {"Says\n  it", "Says it"},
		"a long text ends at a word":       {"Takes one thing after another", "Takes one thing after…"},
		"a comma before the end goes":      {"Takes one, two, three, four", "Takes one, two, three…"},
		"one long word is cut":             {"Donaudampfschifffahrtsgesellschaft", "Donaudampfschifffahrtsgesell…"[:24] + "…"},
		"characters count, not bytes":      {"ééééééééééééééééééééééé", "ééééééééééééééééééééééé"},
		"nothing":                          {"", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := shorten(tt.in, 25); got != tt.want {
				t.Errorf("shortened to %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTheServerForATool(t *testing.T) {
	tool := func(arguments ...string) []string {
		properties := map[string]any{}
		for _, a := range arguments {
			properties[a] = map[string]any{}
		}
		return []string{string(must.Value(json.Marshal(map[string]any{"name": "x", "inputSchema": map[string]any{"properties": properties}}))(t))}
	}
	tests := map[string]struct {
		servers []server
		recent  []string
		params  string
		want    []string // server and score, the likeliest first
		chosen  bool
	}{
		"one server is it":                       {[]server{{"a", "", tool()}, {"b", "", nil}}, nil, ``, []string{"a 0.9"}, true},
		"the order alone does not decide":        {[]server{{"a", "", tool()}, {"b", "", tool()}}, nil, ``, []string{"b 1", "a 0.9"}, false},
		"two places apart it does":               {[]server{{"a", "", tool()}, {"b", "", nil}, {"c", "", tool()}}, nil, ``, []string{"c 1", "a 0.8"}, true},
		"the one called lately is taken":         {[]server{{"a", "", tool()}, {"b", "", tool()}}, []string{"a"}, ``, []string{"a 1.2", "b 1"}, true},
		"both called lately are equal again":     {[]server{{"a", "", tool()}, {"b", "", tool()}}, []string{"a", "", "b"}, ``, []string{"b 1.3", "a 1.2"}, false},
		"the one with the arguments is nearer":   {[]server{{"a", "", tool("p", "q")}, {"b", "", tool("p")}}, nil, `{"p":1,"q":2}`, []string{"b 1.1", "a 1.1"}, false},
		"all arguments and the place decide":     {[]server{{"a", "", tool("r")}, {"b", "", tool("p", "q")}}, nil, `{"p":1,"q":2}`, []string{"b 1.2", "a 0.9"}, true},
		"far down the order there is no less":    {append(make([]server, 0), server{"a", "", tool()}, server{"b", "", tool()}, server{"c", "", nil}, server{"d", "", nil}, server{"e", "", nil}, server{"f", "", nil}, server{"g", "", nil}, server{"h", "", nil}, server{"i", "", nil}, server{"j", "", nil}, server{"k", "", nil}, server{"l", "", nil}), nil, ``, []string{"b 0.1", "a 0.1"}, false},
		"no server has it":                       {[]server{{"a", "", nil}}, nil, ``, nil, false},
		"an argument that is no object is none":  {[]server{{"a", "", tool("p")}, {"b", "", nil}}, nil, `"p"`, []string{"a 0.9"}, true},
		"a tool with an odd schema is a tool":    {[]server{{"a", "", []string{`{"name":"x","inputSchema":7}`}}}, nil, `{"p":1}`, []string{"a 1"}, true},
		"a gap of exactly the bound decides":     {[]server{{"a", "", tool("p", "q")}, {"b", "", tool("p", "q", "s")}}, nil, `{"p":1,"q":1,"s":1,"t":1}`, []string{"b 1.15", "a 1"}, true},
		"a gap of a little less does not decide": {[]server{{"a", "", tool("p")}, {"b", "", tool("p", "q")}}, nil, `{"p":1,"q":1,"s":1,"t":1,"u":1}`, []string{"b 1.08", "a 0.94"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newRouter(t, nil, tt.servers...)
			for _, server := range tt.recent {
				b.remember(server)
			}
			w := call{Tool: "x", Params: json.RawMessage(tt.params)}
			var got []string
			for _, c := range b.candidates(w) {
				got = append(got, fmt.Sprint(c.Server, " ", c.Score))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
			e, refused, err := b.resolve(t.Context(), w)
			if chosen := refused == nil && err == nil; chosen != tt.chosen || chosen && e.ServerName+" " != got[0][:len(e.ServerName)+1] {
				t.Errorf("chosen %q, refused %v, %v", e.ServerName, refused, err)
			}
		})
	}
}

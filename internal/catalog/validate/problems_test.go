// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// TestARecipeWithManyFaultsIsAnsweredBriefly holds for the longest recipes.
func TestARecipeWithManyFaultsIsAnsweredBriefly(t *testing.T) {
	const head = `{"schemaVersion":2,"id":"notes","name":"n","description":"d","repository":"https://example.com",`
	const remote = `"transports":[{"type":"sse","url":"https://example.com"`
	list := func(item string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	members := func(value string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"x%d":%s`, i, value)
		}
		return b.String()[1:]
	}
	for name, tt := range map[string]struct {
		text string
		code catalog.Code
		more int
	}{
		"of the format":    {head + remote + `}],"metadata":{"tags":` + list("1", 128_000) + `}}`, catalog.CodeInvalid, 127_900},
		"unknown fields":   {head + remote + `}],` + members("1", 20_000) + `}`, catalog.CodeUnknownField, 19_900},
		"broken rules":     {head + remote + `}],"install":{"method":"binary","version":"1.0","configFiles":` + list(`{"name":"/"}`, 10_000) + `}}`, catalog.CodeInvalid, 9_900},
		"credentials":      {head + remote + `,"headers":{` + members(`"Bearer 0123456789"`, 5_000) + `}}]}`, catalog.CodeSecret, 4_900},
		"as many as named": {head + remote + `}],` + members("1", jsondoc.MaxProblems) + `}`, catalog.CodeUnknownField, 0},
		"a long name":      {head + remote + `,"headers":{"` + strings.Repeat("n", 100_000) + `":1}}]}`, catalog.CodeInvalid, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := Parse([]byte(tt.text), Checks{})
			if len(found) == 0 || found[0].Code != tt.code {
				t.Fatalf("found %.300v", found)
			}
			last, said := found[len(found)-1].Message, fmt.Sprintf("and %d more", tt.more)
			if (tt.more > 0) != (last == said) || len(found) > jsondoc.MaxProblems+1 {
				t.Errorf("%d problems, the last one %q, want %q", len(found), last, said)
			}
			if b, err := json.Marshal(found); err != nil || len(b) > 64<<10 {
				t.Errorf("%d bytes, %v", len(b), err)
			}
		})
	}
}

func TestAFieldIsSaidToBeInvalidOnce(t *testing.T) {
	var p collector
	p.addFound(jsondoc.Problem{Path: "a", Message: "b"}, catalog.CodeInvalid, "b")
	p.add("a", catalog.CodeInvalid, "c")
	p.add("a", catalog.CodeSecret, "d")
	p.addFound(jsondoc.Problem{More: 7}, catalog.CodeInvalid, "")
	want := []catalog.Problem{{Field: "a", Code: catalog.CodeInvalid, Message: "b"}, {Field: "a", Code: catalog.CodeSecret, Message: "d"}, {Field: "", Code: catalog.CodeInvalid, Message: "and 7 more"}}
	if got := p.all(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// spoilt matches what clients do not show as it is: brackets, which some take for markup or
// print as escapes, and the word after "Bearer " and "Authorization: ", which Claude Code hides.
var spoilt = regexp.MustCompile(`[<>]|Bearer |Authorization:`)

func TestNoTextHasWhatClientsSpoil(t *testing.T) {
	file := must.Value(parser.ParseFile(token.NewFileSet(), "problems.go", nil, 0))(t)
	texts := 0
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		texts++
		if text := must.Value(strconv.Unquote(literal.Value))(t); spoilt.MatchString(text) {
			t.Errorf("clients spoil a part of %q", text)
		}
		return true
	})
	if texts < 100 {
		t.Errorf("%d texts: where are the problems?", texts)
	}
}

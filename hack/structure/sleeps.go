// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// notOurs are the folders below which no test is the project's own.
var notOurs = []string{".git", "bin", "node_modules", "testdata"}

// paced are the tests that measure under a load. A call is sent when it is due, and a
// measurement of an idle process takes its time: <-time.After says so.
var paced = regexp.MustCompile(`^test/load/`)

// addSleeps reads the tests of all modules, whatever their build tags are.
func (m *module) addSleeps(root string) error {
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(notOurs, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		name, nameErr := filepath.Rel(root, file)
		if err := errors.Join(err, nameErr); err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		for _, sleep := range sleepsOutsideBubbles(parsed, paced.MatchString(name)) {
			m.sleeps = append(m.sleeps, fmt.Sprintf("%s:%d", name, set.Position(sleep).Line))
		}
		return nil
	})
}

// sleepsOutsideBubbles returns where a test sleeps in real time. The arguments of
// synctest.Test run in a bubble, and so does each function that calls synctest.Wait:
// this call panics outside of a bubble.
func sleepsOutsideBubbles(node ast.Node, mayPace bool) (found []token.Pos) {
	ast.Inspect(node, func(n ast.Node) bool {
		if isSleep(n, mayPace) {
			found = append(found, n.Pos())
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			return n.Body != nil && !waitsForBubble(n.Body)
		case *ast.FuncLit:
			return !waitsForBubble(n.Body)
		case *ast.CommClause: // The case of a select is a limit and no sleep.
			for _, statement := range n.Body {
				found = append(found, sleepsOutsideBubbles(statement, mayPace)...)
			}
			return false
		}
		return !isCall(n, "synctest.Test")
	})
	return found
}

// isSleep reports whether n sleeps: by time.Sleep, or by a timer that is no pace.
func isSleep(n ast.Node, mayPace bool) bool {
	if statement, ok := n.(*ast.ExprStmt); ok && !mayPace {
		received, ok := statement.X.(*ast.UnaryExpr)
		return ok && received.Op == token.ARROW && isCall(received.X, "time.After")
	}
	return isCall(n, "time.Sleep")
}

// waitsForBubble reports whether a function calls synctest.Wait itself.
func waitsForBubble(body *ast.BlockStmt) (waits bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		waits = waits || isCall(n, "synctest.Wait")
		return !waits
	})
	return waits
}

// isCall reports whether n calls the function with this name.
func isCall(n ast.Node, name string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	return ok && pkg.Name+"."+selector.Sel.Name == name
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

const (
	// maxFilter is how long a filter may be, in bytes, maxComparisons how many comparisons it
	// may have, and maxLevels how deep parentheses, brackets and not may be nested.
	maxFilter      = 2048
	maxComparisons = 16
	maxLevels      = 8
)

// The operators of RFC 7644, section 3.4.2.2, that are known. opItems chooses values of an
// attribute with several: some value matches left.
const (
	opAnd   = "and"
	opOr    = "or"
	opNot   = "not"
	opPr    = "pr"
	opEq    = "eq"
	opNe    = "ne"
	opItems = "[]"
)

// comparisons are the operators of an attribute and a value.
var comparisons = map[string]func(value, asked string) bool{
	opEq: func(value, asked string) bool { return value == asked },
	opNe: func(value, asked string) bool { return value == asked }, // The result is turned round.
	"co": strings.Contains, "sw": strings.HasPrefix, "ew": strings.HasSuffix,
}

// expression is a filter, or a part of one.
type expression struct {
	op          string
	left, right *expression
	// attribute is in lower case, without a schema, and may have a sub-attribute after a dot.
	attribute string
	// text is the value that is compared, in lower case if isBool. Null has none.
	text           string
	isBool, isNull bool
}

// term is a comparison by eq.
type term struct {
	attribute, text string
	isBool          bool
}

// field is a value of an attribute, empty for none.
type field struct {
	text          string
	isBool, exact bool
}

// resource is what a filter is about.
type resource struct {
	fields func(attribute string) iter.Seq[field]
	items  func(attribute string) iter.Seq[resource]
}

func oneField(f field) iter.Seq[field] { return func(yield func(field) bool) { yield(f) } }

// all returns an expression and its parts, without those in brackets.
func (e *expression) all() iter.Seq[*expression] {
	return func(yield func(*expression) bool) { e.walk(yield) }
}

func (e *expression) walk(yield func(*expression) bool) bool {
	return e == nil || yield(e) && (e.op == opItems || e.left.walk(yield) && e.right.walk(yield))
}

// terms returns the comparisons by eq that hold for all that matches.
func (e *expression) terms() []term {
	switch {
	case e == nil:
		return nil
	case e.op == opAnd:
		return append(e.left.terms(), e.right.terms()...)
	case e.op == opEq && !e.isNull:
		return []term{{e.attribute, e.text, e.isBool}}
	}
	return nil
}

// matches reports whether a resource matches. No expression matches all of them.
func (e *expression) matches(r resource) bool {
	if e == nil {
		return true
	}
	switch e.op {
	case opAnd:
		return e.left.matches(r) && e.right.matches(r)
	case opOr:
		return e.left.matches(r) || e.right.matches(r)
	case opNot:
		return !e.left.matches(r)
	case opItems:
		if r.items == nil {
			return false
		}
		for item := range r.items(e.attribute) {
			if e.left.matches(item) {
				return true
			}
		}
		return false
	}
	return e.compare(r) != (e.op == opNe)
}

func (e *expression) compare(r resource) bool {
	present := false
	for f := range r.fields(e.attribute) {
		if f.text == "" {
			continue
		}
		if present = true; e.isNull || e.op == opPr {
			break
		}
		if e.fits(f) {
			return true
		}
	}
	return e.op == opPr && present || e.isNull && !present
}

// fits compares a value.
func (e *expression) fits(f field) bool {
	switch {
	case e.isBool && !f.isBool:
		return false
	case f.exact:
		return comparisons[e.op](f.text, e.text)
	case e.op == opEq || e.op == opNe:
		return SameName(f.text, e.text)
	}
	return comparisons[e.op](strings.ToLower(f.text), strings.ToLower(e.text))
}

// filterReader reads a filter.
type filterReader struct {
	rest, schema        string
	levels, comparisons int
}

// parseFilter reads a filter. schema may stand before the names of attributes.
func parseFilter(filter, schema string) (*expression, bool) {
	r := filterReader{rest: filter, schema: schema}
	if len(filter) > maxFilter {
		return nil, false
	}
	e, ok := r.or()
	return e, ok && r.next() == ""
}

// next returns the next token without taking it: a parenthesis, a bracket, a text in quotes or
// a word. It is empty at the end.
func (r *filterReader) next() string {
	r.rest = strings.TrimLeft(r.rest, " ")
	switch {
	case r.rest == "":
		return ""
	case strings.ContainsRune("()[]", rune(r.rest[0])):
		return r.rest[:1]
	case r.rest[0] == '"':
		return r.rest[:max(endOfText(r.rest), 1)]
	}
	if end := strings.IndexAny(r.rest, " ()[]\""); end >= 0 {
		return r.rest[:end]
	}
	return r.rest
}

// take takes the next token if it is this one.
func (r *filterReader) take(token string) bool {
	next := r.next()
	if !strings.EqualFold(next, token) {
		return false
	}
	r.rest = r.rest[len(next):]
	return true
}

func (r *filterReader) or() (*expression, bool) { return r.joined(opOr, r.and) }

func (r *filterReader) and() (*expression, bool) { return r.joined(opAnd, r.one) }

func (r *filterReader) joined(op string, part func() (*expression, bool)) (*expression, bool) {
	e, ok := part()
	for ok && r.take(op) {
		var right *expression
		right, ok = part()
		e = &expression{op: op, left: e, right: right}
	}
	return e, ok
}

// one reads what and joins.
func (r *filterReader) one() (*expression, bool) {
	if r.take(opNot) {
		if r.next() != "(" {
			return nil, false
		}
		e, ok := r.nested("(", ")")
		return &expression{op: opNot, left: e}, ok
	}
	if r.next() == "(" {
		return r.nested("(", ")")
	}
	attribute, ok := attributeName(r.next(), r.schema)
	if !ok {
		return nil, false
	}
	r.rest = r.rest[len(r.next()):]
	if strings.HasPrefix(r.rest, "[") {
		return r.items(attribute)
	}
	return r.comparison(attribute)
}

func (r *filterReader) nested(open, closed string) (*expression, bool) {
	if r.levels++; r.levels > maxLevels || !r.take(open) {
		return nil, false
	}
	e, ok := r.or()
	r.levels--
	return e, ok && r.take(closed)
}

// items reads attribute[…], or attribute[…].sub and a comparison.
func (r *filterReader) items(attribute string) (*expression, bool) {
	schema := r.schema
	r.schema = ""
	inner, ok := r.nested("[", "]")
	r.schema = schema
	if ok && strings.HasPrefix(r.rest, ".") {
		var sub string
		if sub, ok = attributeName(r.next()[1:], ""); !ok {
			return nil, false
		}
		r.rest = r.rest[len(r.next()):]
		var e *expression
		e, ok = r.comparison(sub)
		inner = &expression{op: opAnd, left: inner, right: e}
	}
	return &expression{op: opItems, attribute: attribute, left: inner}, ok
}

// comparison reads an operator and its value.
func (r *filterReader) comparison(attribute string) (*expression, bool) {
	e := &expression{op: strings.ToLower(r.next()), attribute: attribute}
	if r.comparisons++; r.comparisons > maxComparisons || !r.take(e.op) {
		return nil, false
	}
	if e.op == opPr {
		return e, true
	}
	return e, r.value(e)
}

// value reads the value of a comparison.
func (r *filterReader) value(e *expression) bool {
	value := r.next()
	r.rest = r.rest[len(value):]
	switch lower := strings.ToLower(value); {
	case comparisons[e.op] == nil || value == "":
		return false
	case value[0] == '"':
		ended := r.rest == "" || strings.ContainsRune(" )]", rune(r.rest[0]))
		return ended && json.Unmarshal([]byte(value), &e.text) == nil
	case slices.Contains([]string{"true", "false"}, lower):
		e.text, e.isBool = lower, true
	default:
		e.isNull = lower == "null"
	}
	return e.isBool || e.isNull && (e.op == opEq || e.op == opNe)
}

// endOfText returns where the JSON text ends with which s begins, or -1.
func endOfText(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

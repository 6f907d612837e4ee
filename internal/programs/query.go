// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// maxText is the longest text of a query, in bytes: more than the name of a package.
const maxText = 253

// StateFailed is the state of all programs that could not be installed.
const StateFailed = "Failed"

// states are those that a query may name.
var states = []string{v1alpha1.ReasonReady, v1alpha1.ReasonInstalling, StateFailed}

// Query is what a list is to have.
type Query struct {
	// Search is a part of a name or a package, and State Ready, Installing or Failed; empty means
	// any.
	Search, State string
	// After is the name after which the list begins.
	After string
	Limit int
}

// ParseQuery reads a query. Its errors name the parameter and what it may be.
func ParseQuery(raw string) (Query, error) {
	q := Query{Limit: DefaultPage}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, errors.New("the query is not in the form name=value&name=value")
	}
	for name, given := range values {
		if err := q.set(name, given); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (q *Query) set(name string, given []string) error {
	value := given[0]
	text := map[string]*string{"search": &q.Search, "state": &q.State, "cursor": &q.After}[name]
	switch {
	case len(given) > 1:
		return errors.New(name + " is given more than once")
	case name == "limit":
		return q.setLimit(value)
	case text == nil:
		return errors.New("the parameters are search, state, cursor and limit")
	case value == "" || len(value) > maxText:
		return fmt.Errorf("%s: it must be a text of 1 to %d bytes", name, maxText)
	case name == "state" && !slices.Contains(states, value):
		return errors.New("state: it must be one of " + strings.Join(states, ", "))
	}
	*text = value
	return nil
}

func (q *Query) setLimit(value string) error {
	n, err := strconv.Atoi(value)
	if q.Limit = n; err != nil || n < 1 || n > MaxPage {
		return fmt.Errorf("limit: it must be a number from 1 to %d", MaxPage)
	}
	return nil
}

func (q Query) matches(p Program) bool {
	state := p.State
	if p.Failed() {
		state = StateFailed
	}
	search := strings.ToLower(q.Search)
	return (q.State == "" || q.State == state) &&
		(strings.Contains(p.Name, search) || strings.Contains(strings.ToLower(p.Package+"@"+p.Version), search))
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// parameters are the accepted parameters of a query, and how each is read.
type parameters map[string]func(q *searchQuery, value string) error

// searchQuery is a client's search.
type searchQuery struct {
	search.Query

	// since keeps only recipes that changed at that time or later, and version
	// only recipes that have that version.
	since   time.Time
	version string
}

// listParameters are those of all lists.
var listParameters = parameters{
	"q":         func(q *searchQuery, v string) error { q.Text = v; return nil },
	"category":  func(q *searchQuery, v string) error { q.Category = v; return nil },
	"tag":       func(q *searchQuery, v string) error { q.Tag = v; return nil },
	"transport": func(q *searchQuery, v string) error { q.Transport = v; return nil },
	"owner":     func(q *searchQuery, v string) error { q.Owner = v; return nil },
	"sort":      func(q *searchQuery, v string) error { q.Sort = search.Sort(v); return nil },
	"cursor":    func(q *searchQuery, v string) error { q.Cursor = v; return nil },
	"limit":     setLimit,
	"verified":  func(q *searchQuery, v string) error { return setChoice(&q.Verified, v) },
	"deprecated": func(q *searchQuery, v string) error {
		return setChoice(&q.Deprecated, v)
	},
	"here": func(q *searchQuery, v string) error { return setChoice(&q.Here, v) },
	"hostedSafe": func(q *searchQuery, v string) error {
		var safe *bool
		err := setChoice(&safe, v)
		q.HostedSafe = safe != nil && *safe
		return err
	},
}

func setLimit(q *searchQuery, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > search.MaxLimit {
		return fmt.Errorf("must be a number from 1 to %d", search.MaxLimit)
	}
	q.Limit = n
	return nil
}

func setChoice(to **bool, value string) error {
	if value != "true" && value != "false" {
		return errors.New("must be true or false")
	}
	*to = new(value == "true")
	return nil
}

// read reads a query. Its errors name the parameter and its accepted values.
func (p parameters) read(raw string) (searchQuery, error) {
	var q searchQuery
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, errQuery.Saying("The query is not in the form name=value&name=value.")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given := values[name]
		set, known := p[name]
		switch {
		case !known:
			return q, errQuery.Saying(fmt.Sprintf("There is no parameter %.40q. The parameters are %s.", name, strings.Join(slices.Sorted(maps.Keys(p)), ", ")))
		case len(given) > 1:
			return q, errQuery.Saying(name + " is given more than once.")
		case given[0] == "":
			continue // Forms send empty fields this way.
		}
		if err := set(&q, given[0]); err != nil {
			return q, errQuery.Saying(name + " " + err.Error() + ".")
		}
	}
	return q, nil
}

// queryProblem returns the problem for an error of a list.
func queryProblem(err error) error {
	if e, ok := errors.AsType[*search.QueryError](err); ok {
		return errQuery.Saying(e.Field + " " + e.Message + ".")
	}
	return err
}

// dryRun reports whether a write is only a dry run.
func dryRun(c httpapi.Call) (bool, error) {
	switch c.Request().URL.RawQuery {
	case "":
		return false, nil
	case "dryRun=All":
		return true, nil
	}
	return false, errQuery.Saying("The only parameter is dryRun, and its only value is All.")
}

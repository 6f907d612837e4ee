// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

// parameters are what a query may have, and how each is read.
type parameters map[string]func(q *search, value string) error

// search is what a client looks for.
type search struct {
	catalog.Query

	// since keeps only what changed at that time or later, and version only
	// recipes that have it.
	since   time.Time
	version string
}

// listParameters are those of all lists.
var listParameters = parameters{
	"q":         func(q *search, v string) error { q.Text = v; return nil },
	"category":  func(q *search, v string) error { q.Category = v; return nil },
	"tag":       func(q *search, v string) error { q.Tag = v; return nil },
	"transport": func(q *search, v string) error { q.Transport = v; return nil },
	"owner":     func(q *search, v string) error { q.Owner = v; return nil },
	"sort":      func(q *search, v string) error { q.Sort = catalog.Sort(v); return nil },
	"cursor":    func(q *search, v string) error { q.Cursor = v; return nil },
	"limit":     setLimit,
	"verified":  func(q *search, v string) error { return setChoice(&q.Verified, v) },
	"deprecated": func(q *search, v string) error {
		return setChoice(&q.Deprecated, v)
	},
	"hostedSafe": func(q *search, v string) error {
		var safe *bool
		err := setChoice(&safe, v)
		q.HostedSafe = safe != nil && *safe
		return err
	},
}

func setLimit(q *search, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > catalog.MaxLimit {
		return fmt.Errorf("must be a number from 1 to %d", catalog.MaxLimit)
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

// read reads a query. Its errors name the parameter and what it may be.
func (p parameters) read(raw string) (search, error) {
	var q search
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
			continue // As it is sent by forms that were not filled in.
		}
		if err := set(&q, given[0]); err != nil {
			return q, errQuery.Saying(name + " " + err.Error() + ".")
		}
	}
	return q, nil
}

// queryProblem returns what the caller may know of an error of a list.
func queryProblem(err error) error {
	if e, ok := errors.AsType[*catalog.QueryError](err); ok {
		return errQuery.Saying(e.Field + " " + e.Message + ".")
	}
	return err
}

// dryRun reports whether a write is only to be tried.
func dryRun(c surface.Call) (bool, error) {
	switch c.Request().URL.RawQuery {
	case "":
		return false, nil
	case "dryRun=All":
		return true, nil
	}
	return false, errQuery.Saying("The only parameter is dryRun, and its only value is All.")
}

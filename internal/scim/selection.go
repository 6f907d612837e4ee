// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"net/url"
	"strconv"
	"strings"
)

const (
	// MaxCount is how many resources a list has at most, and defaultCount how many it has if
	// nobody says.
	MaxCount     = 200
	defaultCount = 100
)

// Selection says which attributes of a resource are returned.
type Selection struct{ only, except map[string]bool }

// Query is what the query of a request asks for.
type Query struct {
	Filter     string
	StartIndex int
	Count      int
	Selection  Selection
}

// ParseQuery reads a query. Parameters that are not known are left alone.
func ParseQuery(query string) (Query, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return Query{}, invalid(invalidSyntax, "The query cannot be read.")
	}
	for _, list := range values {
		if len(list) > 1 {
			return Query{}, invalid(invalidSyntax, "A parameter of the query stands twice.")
		}
	}
	return queryOf(values)
}

// ParseSearch reads the body of a search, which asks what a query can (RFC 7644, section 3.4.3).
func ParseSearch(body []byte) (Query, error) {
	doc, err := parseObject(body)
	if err != nil {
		return Query{}, err
	}
	asked, err := members(doc)
	if err != nil {
		return Query{}, err
	}
	values := url.Values{}
	for _, name := range []string{"filter", "startIndex", "count", "attributes", "excludedAttributes"} {
		v := asked[strings.ToLower(name)]
		texts := []string{v.Text}
		for _, item := range v.Items {
			texts = append(texts, item.Text)
		}
		values.Set(name, strings.Trim(strings.Join(texts, ","), ","))
	}
	return queryOf(values)
}

func queryOf(values url.Values) (q Query, err error) {
	q.Filter = values.Get("filter")
	if q.StartIndex, err = numberOf(values, "startIndex", 1); err != nil {
		return Query{}, err
	}
	if q.Count, err = numberOf(values, "count", defaultCount); err != nil {
		return Query{}, err
	}
	// By RFC 7644, section 3.4.2.4, numbers that are too small count as the smallest.
	q.StartIndex, q.Count = max(q.StartIndex, 1), min(max(q.Count, 0), MaxCount)
	q.Selection = Selection{only: listed(values.Get("attributes")), except: listed(values.Get("excludedAttributes"))}
	return q, nil
}

func numberOf(values url.Values, name string, missing int) (int, error) {
	text := values.Get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, invalid(invalidValue, "%s must be a number.", name)
	}
	return n, nil
}

// listed returns the attributes of a list, nil for none. A sub-attribute counts as its
// attribute, which is returned as a whole, and so do values that brackets choose, as Microsoft
// Entra asks for them.
func listed(list string) map[string]bool {
	if list == "" {
		return nil
	}
	set := map[string]bool{}
	for name := range strings.SplitSeq(strings.ToLower(list), ",") {
		name, _, _ = strings.Cut(strings.TrimSpace(name), "[")
		if i := strings.LastIndexByte(name, ':'); i >= 0 {
			name = name[i+1:]
		}
		name, _, _ = strings.Cut(name, ".")
		set[name] = true
	}
	return set
}

// Has reports whether an attribute is returned. id and schemas always are.
func (s Selection) Has(attribute string) bool {
	return (s.only == nil || s.only[attribute]) && !s.except[attribute]
}

// IsAll reports whether the query did not choose attributes.
func (s Selection) IsAll() bool { return s.only == nil && s.except == nil }

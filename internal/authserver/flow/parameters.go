// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import "net/url"

// Parameters are those of a query or a form.
type Parameters struct{ values url.Values }

// ParseParameters reads a query or a form. One that is sent without a value counts
// as not sent (RFC 6749, section 3.1).
func ParseParameters(raw string) (Parameters, bool) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return Parameters{}, false
	}
	for name, all := range values {
		kept := all[:0]
		for _, value := range all {
			if value != "" {
				kept = append(kept, value)
			}
		}
		values[name] = kept
	}
	return Parameters{values}, true
}

// Get returns the first value of a parameter, empty if it was not sent.
func (p Parameters) Get(name string) string { return p.values.Get(name) }

// All returns all values of a parameter.
func (p Parameters) All(name string) []string { return p.values[name] }

// Query returns those of the names that were sent as a query.
func (p Parameters) Query(names ...string) string {
	q := url.Values{}
	for _, name := range names {
		if all := p.values[name]; len(all) > 0 {
			q[name] = all
		}
	}
	return q.Encode()
}

// Repeated reports whether one of the names was sent several times. Which of the
// values counts, two readers may see differently.
func (p Parameters) Repeated(names ...string) bool {
	for _, name := range names {
		if len(p.values[name]) > 1 {
			return true
		}
	}
	return false
}

// RepeatedBut reports whether any other name than this was sent several times.
func (p Parameters) RepeatedBut(name string) bool {
	for other, all := range p.values {
		if other != name && len(all) > 1 {
			return true
		}
	}
	return false
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// ReadObject decodes the JSON object in the body of a request. It returns tooLarge for a body
// over the route's limit, and invalid for anything else than such an object, with the members
// that do not fit. A request without a body leaves into as it is.
func ReadObject(c Call, into any, invalid, tooLarge *Problem) error {
	body, err := c.Body()
	switch {
	case errors.Is(err, BodyTooLarge):
		return tooLarge
	case err != nil || len(body) == 0:
		return err
	}
	doc, err := jsondoc.Parse(body)
	if err != nil || doc.Kind != jsondoc.Object {
		return invalid
	}
	var wrong []string
	for _, p := range jsondoc.Decode(doc, into) {
		wrong = append(wrong, p.String())
	}
	if len(wrong) > 0 {
		return invalid.Saying(strings.Join(wrong, "; ") + ". " + invalid.Detail)
	}
	return nil
}

// ReadQuery reads the query of a request into q, or returns invalid, saying why.
func ReadQuery[Q any](c Call, q *Q, parameters map[string]func(q *Q, value string) error, names string, invalid *Problem) error {
	u := c.Request().URL
	if u.ForceQuery {
		return invalid
	}
	if err := ParseQuery(q, u.RawQuery, parameters, names); err != nil {
		return invalid.Saying(err.Error())
	}
	return nil
}

// ParseQuery sets of q what a query has, each parameter at most once. names lists
// the parameters in the error for an unknown one.
func ParseQuery[Q any](q *Q, raw string, parameters map[string]func(q *Q, value string) error, names string) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("the query is not in the form name=value&name=value")
	}
	for name, given := range values {
		set, known := parameters[name]
		switch {
		case !known:
			return errors.New("the parameters are " + names)
		case len(given) > 1:
			return errors.New(name + " is given more than once")
		}
		if err := set(q, given[0]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// AnswerOf answers with what ask returns of the caller's bridge.
func AnswerOf[T any](c Call, ask func(route.Backend) (T, error)) error {
	of, err := c.Bridge()
	if err != nil {
		return err
	}
	v, err := ask(of)
	if err != nil {
		return err
	}
	return AnswerJSON(c, http.StatusOK, v)
}

// Done does something to the caller's bridge, and answers with nothing.
func Done(c Call, do func(route.Backend) error) error {
	of, err := c.Bridge()
	if err != nil {
		return err
	}
	if err := do(of); err != nil {
		return err
	}
	AnswerNothing(c)
	return nil
}

// AnswerNothing answers that what was asked for is done.
func AnswerNothing(c Call) {
	c.Writer().Header().Set("Cache-Control", "no-store")
	c.Writer().WriteHeader(http.StatusNoContent)
}

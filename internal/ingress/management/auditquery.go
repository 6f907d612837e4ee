// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// searchTimeout bounds a search for audit entries.
const searchTimeout = 10 * time.Second

// AuditIndex is where audit entries can be asked for, and how many there are.
type AuditIndex interface {
	Search(ctx context.Context, q audit.Query) (audit.Page, error)
	Figures(ctx context.Context, q audit.FiguresQuery) (audit.Figures, error)
}

// NoAuditIndex is that of an installation without one.
type NoAuditIndex struct{}

// Search implements AuditIndex.
func (NoAuditIndex) Search(context.Context, audit.Query) (audit.Page, error) {
	return audit.Page{}, problems.AuditIndexDisabled
}

// Figures implements AuditIndex.
func (NoAuditIndex) Figures(context.Context, audit.FiguresQuery) (audit.Figures, error) {
	return audit.Figures{}, problems.AuditIndexDisabled
}

// queryAudit answers with audit entries, the newest first.
func (a *Administration) queryAudit(c httpapi.Call) error {
	u := c.Request().URL
	if u.ForceQuery {
		return problems.AuditQuery
	}
	page, err := a.AuditEntries(c, u.RawQuery)
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, page)
}

// AuditEntries returns audit entries, the newest first, for a query as the route has it.
func (a *Administration) AuditEntries(c httpapi.Call, query string) (overview.AuditPage, error) {
	q, err := parseAuditQuery(query)
	if err != nil {
		return overview.AuditPage{}, problems.AuditQuery.Saying(err.Error())
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), searchTimeout)
	defer cancel()
	found, err := a.o.AuditIndex.Search(ctx, q)
	if err != nil {
		return overview.AuditPage{}, fmt.Errorf("%w: %w", indexProblem(err), err)
	}
	page := overview.AuditPage{Entries: found.Entries, Scope: selfservice.ScopeOf(found.Shared), LagSeconds: found.Lag.Seconds(), Lines: found.Lines}
	if page.Entries == nil {
		page.Entries = []audit.Entry{} // A list, and not null, for whoever reads it.
	}
	if found.Next != nil {
		page.Next = found.Next.Cursor()
	}
	return page, c.Audit(httpapi.Act{Name: "audit.query", User: q.UserID})
}

// auditParameters are what a query may have, and how each is read.
var auditParameters = map[string]func(q *audit.Query, value string) error{
	"userId": func(q *audit.Query, value string) error {
		user, err := v1alpha1.ParseUserID(value)
		q.UserID = string(user)
		return err
	},
	"server": func(q *audit.Query, value string) error { return setName(&q.Server, value) },
	"tool":   func(q *audit.Query, value string) error { return setName(&q.Tool, value) },
	"status": func(q *audit.Query, value string) error {
		q.Status = audit.Status(value)
		if !slices.Contains(audit.Statuses(), q.Status) {
			return errors.New("it must be one of " + statusNames())
		}
		return nil
	},
	"views": func(q *audit.Query, value string) error {
		if q.NoViews = value == "false"; !q.NoViews && value != "true" {
			return errors.New("it must be true or false")
		}
		return nil
	},
	"from": func(q *audit.Query, value string) error { return setTime(&q.From, value) },
	"to":   func(q *audit.Query, value string) error { return setTime(&q.To, value) },
	"cursor": func(q *audit.Query, value string) error {
		p, err := audit.ParseCursor(value)
		q.Before = &p
		return err
	},
	"limit": func(q *audit.Query, value string) (err error) {
		q.Limit, err = numberUpTo(value, audit.MaxPage)
		return err
	},
}

// parseAuditQuery reads a query. Its errors name the parameter and what it may
// be, and repeat nothing of what it was.
func parseAuditQuery(raw string) (audit.Query, error) {
	q := audit.Query{Limit: audit.DefaultPage, Lines: true}
	return q, httpapi.ParseQuery(&q, raw, auditParameters, "userId, server, tool, status, views, from, to, cursor and limit")
}

// numberUpTo reads a number from 1 to most.
func numberUpTo(value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most || value[0] == '+' {
		return 0, fmt.Errorf("it must be a number from 1 to %d", most)
	}
	return n, nil
}

// setName takes what can be a name in an entry.
func setName(to *string, value string) error {
	if value == "" || audit.Name(value) != value {
		return errors.New("it must be a name of at most 128 letters, digits, spaces and ._-/")
	}
	*to = value
	return nil
}

// setTime takes a time or the beginning of a day in UTC, since 1970: the first
// of all times would be one that was not given.
func setTime(to *time.Time, value string) error {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, value); err == nil && t.Unix() >= 0 {
			*to = t
			return nil
		}
	}
	return errors.New("it must be a time such as 2026-03-01T12:00:00Z or a day such as 2026-03-01")
}

func statusNames() string {
	var names []string
	for _, status := range audit.Statuses() {
		names = append(names, string(status))
	}
	return strings.Join(names, ", ")
}

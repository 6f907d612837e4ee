// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/catalog/usage"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

const (
	// figuresTimeout bounds the counting of calls, some 2,500,000 of them in an SQLite file.
	figuresTimeout = 30 * time.Second
	day            = 24 * time.Hour
	// defaultTop is how long lists are where nobody says.
	defaultTop = 10
	// hoursFor is the longest time that is shown by the hour where nobody says:
	// what fits a screen.
	hoursFor = 7 * day
)

// The steps.
const (
	stepHour = "hour"
	stepDay  = "day"
)

var analyticsSteps = map[string]time.Duration{stepHour: time.Hour, stepDay: day}

// queryAnalytics answers with how the installation is used.
func (a *Administration) queryAnalytics(c httpapi.Call) error {
	u := c.Request().URL
	if u.ForceQuery {
		return problems.AnalyticsQuery
	}
	answer, err := a.Analytics(c, u.RawQuery)
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, answer)
}

// Analytics returns how the installation is used, for a query as the route has it.
func (a *Administration) Analytics(c httpapi.Call, query string) (overview.Analytics, error) {
	q, err := parseAnalyticsQuery(query, time.Now())
	if err != nil {
		return overview.Analytics{}, problems.AnalyticsQuery.Saying(err.Error())
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), figuresTimeout)
	defer cancel()
	has, err := a.o.Inventory(ctx)
	if err != nil {
		return overview.Analytics{}, fmt.Errorf("%w: %w", problems.InventoryUnknown, err)
	}
	answer := overview.Analytics{From: q.From, To: q.To, Totals: totalsOf(has)}
	figures, err := a.countCalls(ctx, q.FiguresQuery)
	switch {
	case err == nil:
		answer.CallFigures = callFiguresOf(figures, has, q)
	case !errors.Is(err, problems.AuditIndexDisabled):
		return overview.Analytics{}, err
	}
	return answer, c.Audit(httpapi.Act{Name: "analytics.query", User: q.UserID})
}

// countCalls asks the index. Questions about all users are asked one at a time: an answer
// takes as long as there are calls, and who writes entries has the same disk. A question
// about one user reads that user's entries alone, and does not wait.
func (a *Administration) countCalls(ctx context.Context, q audit.FiguresQuery) (audit.Figures, error) {
	if q.UserID == "" {
		select {
		case a.counting <- struct{}{}:
			defer func() { <-a.counting }()
		case <-ctx.Done():
			return audit.Figures{}, fmt.Errorf("%w: %w", problems.AnalyticsSlow, ctx.Err())
		}
	}
	f, err := a.o.AuditIndex.Figures(ctx, q)
	if err == nil {
		return f, nil
	}
	if _, ok := errors.AsType[*httpapi.Problem](err); ok {
		return f, err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return f, fmt.Errorf("%w: %w", problems.AnalyticsSlow, err)
	}
	return f, fmt.Errorf("%w: %w", problems.AuditIndexAway, err)
}

func totalsOf(has usage.Inventory) overview.Totals {
	t := overview.Totals{Users: has.Users, Bridges: map[string]int{}}
	for phase, n := range has.Phases {
		t.Bridges[string(phase)] = n
	}
	if c := has.Catalog; c != nil {
		t.Recipes, t.Publishers = &c.Recipes, &c.Publishers
	}
	return t
}

func callFiguresOf(f audit.Figures, has usage.Inventory, q analyticsQuery) *overview.CallFigures {
	a := &overview.CallFigures{
		Calls: overview.FiguresOf(f.Total), Step: q.step, Steps: make([]overview.StepFigures, 0, len(f.Steps)),
		Servers: audit.TopServers(f.Uses, q.Top), Tools: f.Tools, Recipes: has.TopRecipes(f.Uses, q.Top), Users: audit.TopUsers(f.Uses, q.Top),
		Scope: selfservice.ScopeOf(f.Shared), LagSeconds: f.Lag.Seconds(),
	}
	if a.Tools == nil {
		a.Tools = []audit.ToolCalls{}
	}
	for _, step := range f.Steps {
		a.Steps = append(a.Steps, overview.StepFigures{Start: step.Start, Figures: overview.FiguresOf(step.Calls), Users: step.Users})
	}
	return a
}

// analyticsQuery is what is asked for.
type analyticsQuery struct {
	audit.FiguresQuery
	step string // A name in analyticsSteps.
}

// usageParameters are what users ask about their own calls.
var usageParameters = map[string]func(q *analyticsQuery, value string) error{
	"from": func(q *analyticsQuery, value string) error { return setTime(&q.From, value) },
	"to":   func(q *analyticsQuery, value string) error { return setTime(&q.To, value) },
	"step": func(q *analyticsQuery, value string) error {
		if analyticsSteps[value] == 0 {
			return errors.New("it must be " + stepHour + " or " + stepDay)
		}
		q.step = value
		return nil
	},
	"top": func(q *analyticsQuery, value string) (err error) {
		q.Top, err = numberUpTo(value, audit.MaxTop)
		return err
	},
}

// analyticsParameters are what administrators ask.
var analyticsParameters = func() map[string]func(q *analyticsQuery, value string) error {
	all := maps.Clone(usageParameters)
	all["userId"] = func(q *analyticsQuery, value string) error { return setName(&q.UserID, value) }
	return all
}()

// parseAnalyticsQuery reads a query, of the last day where it says nothing else.
// Its errors are as those of parseAuditQuery.
func parseAnalyticsQuery(raw string, now time.Time) (analyticsQuery, error) {
	var q analyticsQuery
	if err := httpapi.ParseQuery(&q, raw, analyticsParameters, "from, to, step, top and userId"); err != nil {
		return q, err
	}
	return q.complete(now)
}

// complete returns the query with what it does not say.
func (q analyticsQuery) complete(now time.Time) (analyticsQuery, error) {
	q.Top = cmp.Or(q.Top, defaultTop)
	if q.To.IsZero() {
		q.To = now.UTC().Truncate(time.Millisecond)
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-day)
	}
	length := q.To.Sub(q.From)
	if length <= 0 {
		return q, errors.New("from must be before to")
	}
	if q.step == "" {
		q.step = stepHour
		if length > hoursFor {
			q.step = stepDay
		}
	}
	q.Step = analyticsSteps[q.step]
	if longest := (audit.MaxSteps - 1) * q.Step; length > longest {
		return q, fmt.Errorf("from and to must be at most %d days apart with the step %s", longest/day, q.step)
	}
	return q, nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// usageTimeout bounds the counting of one user's calls.
const usageTimeout = 5 * time.Second

// Usage implements selfservice.History. The quota is known without the audit index.
func (s *Self) Usage(ctx context.Context, of route.Backend, asked selfservice.UsageQuery) (selfservice.Usage, error) {
	q, err := analyticsQuery{FiguresQuery: audit.FiguresQuery{From: asked.From, To: asked.To, Top: asked.Top}, step: asked.Step}.complete(time.Now())
	if err != nil {
		return selfservice.Usage{}, problems.UsageQuery.Saying(err.Error())
	}
	u := selfservice.Usage{Tier: of.Tier, Quota: []selfservice.Quota{}}
	if tier, ok := s.o.Tiers()[of.Tier]; ok {
		u.ConcurrentCalls = int64(tier.ConcurrentCalls)
		u.Quota = selfservice.QuotaOf(tier, s.o.Quotas.Known(ctx, of.BridgeUID, tier), time.Now())
	}
	q.UserID, q.BridgeUID = string(of.User), string(of.BridgeUID)
	figures, err := s.count(ctx, q.FiguresQuery)
	if err != nil {
		u.CallsUnknown = indexProblem(err).Detail
		return u, nil
	}
	u.Calls = selfservice.CallsOf(figures, q.FiguresQuery, q.step)
	return u, nil
}

func (s *Self) count(ctx context.Context, q audit.FiguresQuery) (f audit.Figures, err error) {
	err = s.askIndex(ctx, q.UserID, usageTimeout, func(ctx context.Context) error {
		f, err = s.o.AuditIndex.Figures(ctx, q)
		return err
	})
	return f, err
}

// Activity implements selfservice.History.
func (s *Self) Activity(ctx context.Context, of route.Backend, q audit.Query) (selfservice.Activity, error) {
	q.UserID, q.BridgeUID = string(of.User), string(of.BridgeUID)
	q.Limit = cmp.Or(q.Limit, audit.DefaultPage)
	var page audit.Page
	err := s.askIndex(ctx, q.UserID, searchTimeout, func(ctx context.Context) (err error) {
		page, err = s.o.AuditIndex.Search(ctx, q)
		return err
	})
	if err != nil {
		return selfservice.Activity{}, fmt.Errorf("%w: %w", indexProblem(err), err)
	}
	return selfservice.ActivityOf(page), nil
}

// askIndex asks the audit index, which answers a few users at a time, and each of them once: who
// writes entries has the same disk.
func (s *Self) askIndex(ctx context.Context, user string, timeout time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	end, err := s.counting.wait(ctx, v1alpha1.UserID(user))
	if err != nil {
		return err
	}
	defer end()
	return ask(ctx)
}

// indexProblem returns err of the audit index as the caller may know it.
func indexProblem(err error) *httpapi.Problem {
	if p, ok := errors.AsType[*httpapi.Problem](err); ok {
		return p
	}
	return problems.AuditIndexAway
}

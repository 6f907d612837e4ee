// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
)

// errNotPrepared is what callers get until Run has made the tables, which may
// take longer than any of them waits.
var errNotPrepared = errors.New("the audit index is not prepared yet")

// Run prepares the store until that has succeeded, and closes it when ctx ends.
func (s *Store) Run(ctx context.Context, log *slog.Logger) error {
	for pause := pauseAtLeast; ctx.Err() == nil; pause = min(2*pause, pauseAtMost) {
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
			defer cancel()
			return s.prepare(ctx)
		}()
		if err == nil {
			<-ctx.Done()
			break
		}
		if ctx.Err() == nil {
			log.ErrorContext(ctx, "the audit index cannot be used, and is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return s.Close()
}

// Register adds to mux the calls by which a Remote uses the store, which Run has
// to prepare.
func (s *Store) Register(mux *http.ServeMux) {
	serve(mux, s, pathReady, maxQuestion, func(context.Context, jsoncall.Nothing) (jsoncall.Nothing, error) {
		return jsoncall.Nothing{}, nil
	})
	serve(mux, s, pathAdd, maxAdd, func(ctx context.Context, records []audit.Record) (jsoncall.Nothing, error) {
		return jsoncall.Nothing{}, s.add(ctx, records)
	})
	serve(mux, s, pathProgress, maxQuestion, s.progress)
	serve(mux, s, pathUsers, maxQuestion, func(ctx context.Context, _ jsoncall.Nothing) ([]string, error) { return s.users(ctx) })
	serve(mux, s, pathPurge, maxPurge, s.purge)
	serve(mux, s, pathSearch, maxQuestion, s.Search)
	serve(mux, s, pathFigures, maxQuestion, s.countFigures)
	serve(mux, s, pathUses, maxQuestion, func(ctx context.Context, of span) ([]audit.Use, error) { return s.Uses(ctx, of.From, of.To) })
}

// countFigures is Figures with a step that does not divide by zero or fill the
// memory.
func (s *Store) countFigures(ctx context.Context, q audit.FiguresQuery) (audit.Figures, error) {
	if q.Step < time.Hour || q.To.Sub(q.From) > (audit.MaxSteps+1)*q.Step {
		return audit.Figures{}, fmt.Errorf("%w: there are too many steps", jsoncall.ErrQuestion)
	}
	return s.Figures(ctx, q)
}

// serve adds one call to mux, which fails until the store is prepared.
func serve[Q, A any](mux *http.ServeMux, s *Store, path string, maxBody int64, answer func(context.Context, Q) (A, error)) {
	mux.Handle("POST "+path, jsoncall.Handle(maxBody, func(ctx context.Context, question Q) (a A, err error) {
		if !s.prepared() {
			return a, errNotPrepared
		}
		return answer(ctx, question)
	}))
}

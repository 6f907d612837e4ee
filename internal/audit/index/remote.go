// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
)

// queryTimeout bounds a question that reads much, and the removal of entries.
const queryTimeout = 50 * time.Second

// Remote is the index that another process keeps in a Store, for all replicas of
// the ingress.
type Remote struct {
	client  *jsoncall.Client
	reached atomic.Bool
}

// NewRemote returns the index behind client, which Close closes. It does not
// connect yet.
func NewRemote(client *jsoncall.Client) *Remote { return &Remote{client: client} }

// prepare implements storage: the other process makes the tables.
func (r *Remote) prepare(ctx context.Context) error {
	if r.prepared() {
		return nil
	}
	if err := r.call(ctx, writeTimeout, pathReady, jsoncall.Nothing{}, &jsoncall.Nothing{}); err != nil {
		return err
	}
	r.reached.Store(true)
	return nil
}

func (r *Remote) prepared() bool { return r.reached.Load() }

func (r *Remote) add(ctx context.Context, records []audit.Record) error {
	return r.call(ctx, writeTimeout, pathAdd, records, &jsoncall.Nothing{})
}

func (r *Remote) progress(ctx context.Context, writer string) (seq uint64, err error) {
	err = r.call(ctx, writeTimeout, pathProgress, writer, &seq)
	return seq, err
}

func (r *Remote) users(ctx context.Context) (users []string, err error) {
	err = r.call(ctx, queryTimeout, pathUsers, jsoncall.Nothing{}, &users)
	return users, err
}

func (r *Remote) purge(ctx context.Context, before map[string]time.Time) (removed int64, err error) {
	err = r.call(ctx, queryTimeout, pathPurge, before, &removed)
	return removed, err
}

// Search returns a page of entries. Its Lag is left to the follower.
func (r *Remote) Search(ctx context.Context, q audit.Query) (page audit.Page, err error) {
	err = r.call(ctx, queryTimeout, pathSearch, q, &page)
	page.Shared = true
	return page, err
}

// Figures returns how much was called. Its Lag is left to the follower.
func (r *Remote) Figures(ctx context.Context, q audit.FiguresQuery) (f audit.Figures, err error) {
	err = r.call(ctx, queryTimeout, pathFigures, q, &f)
	f.Shared = true
	return f, err
}

// Uses returns who called which server from that time on and before this one,
// the most calls first, and audit.MaxUses at most.
func (r *Remote) Uses(ctx context.Context, from, to time.Time) (uses []audit.Use, err error) {
	err = r.call(ctx, queryTimeout, pathUses, span{from, to}, &uses)
	return uses, err
}

// Close ends all connections.
func (r *Remote) Close() error {
	r.client.Close()
	return nil
}

func (r *Remote) call(ctx context.Context, timeout time.Duration, path string, question, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := r.client.Call(ctx, path, question, answer); err != nil {
		return fmt.Errorf("call the audit index: %w", err)
	}
	return nil
}

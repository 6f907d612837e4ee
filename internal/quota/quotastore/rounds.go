// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// question is an inquiry that waits for its answer.
type question struct {
	Inquiry

	until    time.Time
	reply    quota.Reply
	err      error
	answered chan struct{}
}

// take implements shared. The inquiries about a user that come during a round of
// others wait, and go together in the next one: so only other replicas can be faster
// than a round.
func (r *redisStore) take(ctx context.Context, inquiry Inquiry) (quota.Reply, error) {
	inquiry.Replica = r.replica
	q := &question{Inquiry: inquiry, until: time.Now().Add(r.timeout), answered: make(chan struct{})}
	r.mu.Lock()
	waiting, runs := r.waiting[q.Bridge]
	r.waiting[q.Bridge] = append(waiting, q)
	r.mu.Unlock()
	if !runs {
		// A client that leaves is no failure of the store.
		go r.runRounds(context.WithoutCancel(ctx), q.Bridge)
	}
	<-q.answered
	return q.reply, q.err
}

// runRounds runs rounds about a user until nobody waits for one.
func (r *redisStore) runRounds(ctx context.Context, bridge types.UID) {
	for {
		r.mu.Lock()
		round := r.waiting[bridge]
		if r.waiting[bridge] = nil; len(round) == 0 {
			delete(r.waiting, bridge)
		}
		r.mu.Unlock()
		if len(round) == 0 {
			return
		}
		r.runRound(ctx, bridge, round)
	}
}

// runRound answers all inquiries of a round in the time that the first one has.
func (r *redisStore) runRound(ctx context.Context, bridge types.UID, round []*question) {
	ctx, cancel := context.WithDeadline(ctx, round[0].until)
	defer cancel()
	late := time.Until(round[0].until) < r.timeout/2
	err := swap(ctx, r.client, key(bridge), func(a *quota.Account, at found) (changed bool) {
		for _, q := range round {
			if q.err = nil; q.Marker != at.marker {
				q.err = ErrForgotten
				continue
			}
			var counted bool
			q.reply, counted = a.Take(q.Inquiry.Inquiry, at.now)
			changed = changed || counted
		}
		for _, q := range round {
			q.reply.State = a.State // What others in the round have used is gone too.
		}
		return changed
	})
	if err != nil && late {
		err = fmt.Errorf("%w: %w", errContended, err) // The last round has used up the time of this one.
	}
	for _, q := range round {
		if err != nil {
			q.err = err
		}
		close(q.answered)
	}
}

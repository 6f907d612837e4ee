// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
)

// reopen is how long after an answer with secrets that do not open the
// keybroker is asked again. Its operator mends that in minutes at best, and
// where all bridges are affected they ask together.
const reopen = 10 * time.Minute

// secretsClient is where the user's secrets come from.
type secretsClient interface {
	// Secrets returns nil where they are still those of the revision.
	Secrets(ctx context.Context, revision string) (*client.Secrets, error)
}

// keeper fetches the user's secrets for the bridge and keeps them fresh. While
// the keybroker is away the bridge goes on with those that it has.
type keeper struct {
	client secretsClient
	clock  client.Clock
	use    func(*secret.Set)
	log    *slog.Logger

	asked chan struct{} // capacity 1: fetch again
	first chan struct{} // closed when there were secrets for the first time
	once  sync.Once

	// revision is that of what the bridge has; run alone uses it.
	revision string
}

func newKeeper(c secretsClient, clock client.Clock, use func(*secret.Set), log *slog.Logger) *keeper {
	return &keeper{
		client: c,
		clock:  clock,
		use:    use,
		log:    log,
		asked:  make(chan struct{}, 1),
		first:  make(chan struct{}),
	}
}

// ready reports whether the secrets were fetched once.
func (k *keeper) ready() bool {
	select {
	case <-k.first:
		return true
	default:
		return false
	}
}

// ask has the secrets fetched again. Of all who ask during one fetch, one more
// serves them all.
func (k *keeper) ask() {
	select {
	case k.asked <- struct{}{}:
	default:
	}
}

// run fetches the secrets until ctx ends: at first, when somebody asks, when
// the certificate was renewed, and again after a failure.
func (k *keeper) run(ctx context.Context, renewed <-chan struct{}) {
	failures := 0
	for {
		wait, err := k.fetch(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			wait = client.Backoff(failures)
			failures++
			k.complain(err, wait)
		} else {
			failures = 0
		}
		var again <-chan time.Time
		if wait > 0 {
			again = k.clock.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-k.asked:
		case <-renewed:
		}
	}
}

// fetch asks the keybroker once, and returns when to do so again; zero is that
// nothing calls for it.
func (k *keeper) fetch(ctx context.Context) (time.Duration, error) {
	answer, err := k.client.Secrets(ctx, k.revision)
	if err != nil {
		return 0, err
	}
	defer k.once.Do(func() { close(k.first) })
	if answer == nil {
		return 0, nil
	}
	set := secret.NewSet(answer.Revision, answer.Values, answer.Unreadable)
	k.log.Info("secrets fetched", "revision", answer.Revision, "count", set.Len())
	k.revision = answer.Revision
	unreadable := set.Unreadable()
	k.use(set)
	if len(unreadable) == 0 {
		return 0, nil
	}
	k.log.Warn("the keybroker cannot open some of the secrets", "names", unreadable, "retryIn", reopen.String())
	return reopen, nil
}

func (k *keeper) complain(err error, wait time.Duration) {
	attrs := []any{"error", err, "retryIn", wait.Round(time.Millisecond).String(), "usable", k.ready()}
	if refusal, ok := errors.AsType[*client.Refusal](err); ok {
		attrs = append(attrs, "code", refusal.Code)
	}
	k.log.Warn("secrets not fetched", attrs...)
}

// refreshPath is where the ingress tells that the user's secrets changed.
const refreshPath = "/secrets/refresh"

// handler answers at refreshPath and leaves everything else to next. Only the
// ingress gets here.
func (k *keeper) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != refreshPath {
			next.ServeHTTP(w, r)
			return
		}
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		k.ask()
		w.WriteHeader(http.StatusAccepted)
	})
}

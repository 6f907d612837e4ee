// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprocess

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/clock"
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
	// SaveSecret stores a secret if nobody has changed any since this client
	// last got or stored one. Otherwise it returns a Refusal with
	// client.CodeRevisionChanged.
	SaveSecret(ctx context.Context, name string, value []byte) error
}

// keeper fetches the user's secrets for the bridge and keeps them fresh. While
// the keybroker is away the bridge goes on with those that it has. It also
// stores the tokens that the bridge has refreshed.
type keeper struct {
	client secretsClient
	clock  clock.Clock
	use    func(*secret.Set)
	// useKeys, where it is not nil, is given the keys of the bridge's sessions
	// before the bridge is ready. It does not keep them as they are.
	useKeys func([][]byte)
	log     *slog.Logger

	asked chan struct{} // capacity 1: fetch again
	first chan struct{} // closed when there were secrets for the first time
	once  sync.Once

	// revision is that of what the bridge has; run alone uses it.
	revision string

	// turn is taken while secrets are fetched and put to use, and while one is
	// stored.
	turn chan struct{}
	// have are the values that the bridge has, hashed, by name. Only the holder of
	// the turn uses it.
	have map[string]uint64
	seed maphash.Seed
	// refused are the codes with which the keybroker refused to store a secret's
	// logins, by name. Only the holder of the turn uses it.
	refused map[string]string
	// changes counts by name how often somebody else than the bridge has changed
	// a secret.
	mu      sync.Mutex
	changes map[string]int
}

func newKeeper(c secretsClient, clock clock.Clock, use func(*secret.Set), log *slog.Logger) *keeper {
	return &keeper{
		client:  c,
		clock:   clock,
		use:     use,
		log:     log,
		asked:   make(chan struct{}, 1),
		first:   make(chan struct{}),
		turn:    make(chan struct{}, 1),
		seed:    maphash.MakeSeed(),
		have:    map[string]uint64{},
		refused: map[string]string{},
		changes: map[string]int{},
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
	if err := k.take(ctx); err != nil {
		return 0, err
	}
	defer k.give()
	answer, err := k.client.Secrets(ctx, k.revision)
	if err != nil {
		return 0, err
	}
	defer k.once.Do(func() { close(k.first) })
	if answer == nil {
		return 0, nil
	}
	k.compare(answer.Values)
	if k.useKeys != nil {
		k.useKeys(answer.SessionKeys)
	}
	for _, key := range answer.SessionKeys {
		clear(key)
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

// take takes the turn, and give gives it back.
func (k *keeper) take(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *keeper) give() { <-k.turn }

// compare notes which secrets are others than those that the bridge has.
func (k *keeper) compare(values map[string][]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := make(map[string]uint64, len(values))
	for name, value := range values {
		next[name] = maphash.Bytes(k.seed, value)
	}
	for name := range k.have {
		if _, ok := next[name]; !ok {
			k.changes[name]++
		}
	}
	for name, hash := range next {
		if was, ok := k.have[name]; !ok || was != hash {
			k.changes[name]++
		}
	}
	k.have = next
}

func (k *keeper) changed(name string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changes[name]
}

// errReplaced says that a login was not stored because its user has logged in
// again.
var errReplaced = errors.New("somebody has set the secret meanwhile")

// final are the codes of refusals that stay until somebody changes the secrets
// or the HostedBridge: then the bridge is told of that.
var final = []string{client.CodeSecretManaged, client.CodeSecretNotFound, client.CodeSecretNotWritable}

// saves is how often a login is sent to the keybroker that changes of other
// secrets overtake.
const saves = 3

// save stores a secret that the bridge has refreshed, unless somebody else has
// set it since the bridge got it: theirs is a new login then, and what the
// bridge refreshed is one that nobody wants any more.
func (k *keeper) save(ctx context.Context, name string, value []byte) error {
	began := k.changed(name)
	if err := k.take(ctx); err != nil {
		return err
	}
	defer k.give()
	err := errReplaced
	if k.changed(name) == began {
		err = k.send(ctx, name, value)
	}
	if err == nil {
		k.have[name] = maphash.Bytes(k.seed, value)
		delete(k.refused, name)
		k.log.Info("refreshed login stored", "secret", name)
		return nil
	}
	return k.unsaved(name, err)
}

// unsaved says that a login is not stored, and returns an error that tells
// whether trying again is of any use.
func (k *keeper) unsaved(name string, err error) error {
	refusal, ok := errors.AsType[*client.Refusal](err)
	if !ok {
		k.log.Warn("refreshed login not stored", "secret", name, "error", err)
		return err
	}
	if !slices.Contains(final, refusal.Code) {
		k.log.Warn("refreshed login not stored", "secret", name, "error", err, "code", refusal.Code)
		return err
	}
	if refusal.Code == client.CodeSecretNotFound {
		k.ask() // The bridge is to end the login.
	}
	if k.refused[name] != refusal.Code {
		k.refused[name] = refusal.Code
		k.log.Warn("refreshed login cannot be stored and lasts as long as this process", "secret", name, "error", err, "code", refusal.Code)
	}
	return fmt.Errorf("%w: %w", oauth.ErrNotStorable, err)
}

// send sends the secret until no other's change overtakes it.
func (k *keeper) send(ctx context.Context, name string, value []byte) error {
	for attempt := 1; ; attempt++ {
		err := k.client.SaveSecret(ctx, name, value)
		refusal, ok := errors.AsType[*client.Refusal](err)
		if !ok || refusal.Code != client.CodeRevisionChanged || attempt == saves {
			return err
		}
		k.ask() // The bridge is to have the other change too.
		now, err := k.client.Secrets(ctx, "")
		if err != nil {
			return err
		}
		stored := maphash.Bytes(k.seed, now.Values[name])
		secret.NewSet(now.Revision, now.Values, nil).Wipe()
		switch stored {
		case k.have[name]:
		case maphash.Bytes(k.seed, value):
			return nil // By an attempt whose answer was lost.
		default:
			return errReplaced
		}
	}
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

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jwks

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"log/slog"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const theirs = "https://login.example.com"

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	return must.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

func public(kid string, key crypto.Signer) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key.Public(), KeyID: kid, Algorithm: "ES256", Use: "sig"}
}

// provider has the keys of an issuer.
type provider struct {
	mu      sync.Mutex
	keys    []jose.JSONWebKey
	err     error
	fetches int
	// left is how long the last fetch had.
	left time.Duration

	// began, if it is not nil, receives each fetch, which then waits for its turn.
	began, turn chan struct{}
}

func (p *provider) fetch(ctx context.Context) (jose.JSONWebKeySet, error) {
	p.mu.Lock()
	p.fetches++
	deadline, _ := ctx.Deadline()
	p.left = time.Until(deadline)
	began := p.began
	p.mu.Unlock()
	if began != nil {
		select {
		case began <- struct{}{}:
		case <-ctx.Done():
			return jose.JSONWebKeySet{}, ctx.Err()
		}
		select {
		case <-p.turn:
		case <-ctx.Done():
			return jose.JSONWebKeySet{}, ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return jose.JSONWebKeySet{Keys: p.keys}, p.err
}

// is changes what is there from now on.
func (p *provider) is(err error, keys ...jose.JSONWebKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.keys = err, keys
}

// hold has fetches wait from now on.
func (p *provider) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began, p.turn = make(chan struct{}), make(chan struct{})
}

func (p *provider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetches
}

// world is a set that runs, and its time.
type world struct {
	t        *testing.T
	set      *Set
	clock    *clocktest.Clock
	provider *provider
	log      *bytes.Buffer // Read after end.
	end      func()
}

// begin runs a set of one issuer. What it waits for is received by pause and
// request.
func begin(t *testing.T, p *provider) *world {
	t.Helper()
	// Every wait is kept, so that nothing is in step but what the test has wait.
	w := &world{t: t, clock: clocktest.New(1000), provider: p, log: &bytes.Buffer{}}
	var err error
	w.set, err = New([]Source{{Issuer: theirs, Fetch: p.fetch}}, Options{Clock: w.clock, Log: slog.New(slog.NewTextHandler(w.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.set.Run(ctx) }()
	w.end = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.end)
	return w
}

// pause returns when the set has nothing to do until its next fetch.
func (w *world) pause() clocktest.Wait {
	w.t.Helper()
	return w.wait(func(d time.Duration) bool { return d != patience })
}

// request returns when a request waits for a fetch.
func (w *world) request() clocktest.Wait {
	w.t.Helper()
	return w.wait(func(d time.Duration) bool { return d == patience })
}

func (w *world) wait(wanted func(time.Duration) bool) clocktest.Wait {
	w.t.Helper()
	for {
		select {
		case found := <-w.clock.Waits:
			if wanted(found.D) {
				return found
			}
		case <-w.t.Context().Done():
			w.t.Fatal("the test is over")
		}
	}
}

// asked is what a request for keys got.
type asked struct {
	keys []jose.JSONWebKey
	err  error
}

// ask requests keys in the background.
func (w *world) ask(ctx context.Context, kid string) <-chan asked {
	answer := make(chan asked, 1)
	go func() {
		keys, err := w.set.Keys(ctx, theirs, kid)
		answer <- asked{keys, err}
	}()
	return answer
}

// ids returns which keys there are, and fails the test where that is not known.
func (w *world) ids(kid string) []string {
	w.t.Helper()
	keys := must.Value(w.set.Keys(w.t.Context(), theirs, kid))(w.t)
	return idsOf(keys)
}

func idsOf(keys []jose.JSONWebKey) []string {
	var ids []string
	for _, k := range keys {
		ids = append(ids, k.KeyID)
	}
	return ids
}

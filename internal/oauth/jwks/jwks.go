// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jwks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const (
	// defaultEvery is how often keys are fetched. Providers publish a new key
	// hours before they sign with it, so this bounds how long a revoked key is
	// used.
	defaultEvery = 5 * time.Minute
	// defaultMaxStale is how long keys are used that cannot be fetched again.
	// An outage of an hour is rare; a stolen key is revoked by then.
	defaultMaxStale = time.Hour
	// again is the wait after a failed fetch.
	again = 15 * time.Second
	// gap bounds how often keys are fetched because a token names an unknown
	// key. Anybody can name keys.
	gap = 10 * time.Second
	// patience is how long a request waits for keys that are being fetched.
	patience = 5 * time.Second
	// timeout bounds one fetch, its discovery included.
	timeout = 10 * time.Second
)

// Source says where the keys of an issuer are.
type Source struct {
	// Issuer is the URL of the issuer, byte for byte as its tokens have it.
	Issuer string
	// URL is that of the keys. If it is empty, the issuer's metadata name it.
	URL string
	// Fetch gets the keys in another way, if it is not nil.
	Fetch func(ctx context.Context) (jose.JSONWebKeySet, error)
}

// Options are the settings of a Set.
type Options struct {
	// Every is how often keys are fetched, give or take a tenth: 5 minutes if
	// it is 0. MaxStale is how long keys are used that cannot be fetched again,
	// counted from the beginning of the last successful fetch: an hour if it is
	// 0.
	Every, MaxStale time.Duration
	// Client fetches the keys; nil means one that trusts the system's roots. It
	// never follows redirects.
	Client *http.Client
	// Clock and Log are required.
	Clock clock.Clock
	Log   *slog.Logger
}

// Set has the keys of all issuers. It is safe for concurrent use.
type Set struct {
	options Options
	issuers map[string]*issuer
	metrics *metrics
}

var _ oauth.KeySource = (*Set)(nil)

// New returns a set that has fetched nothing yet, which Run does. Its error names
// every source that cannot be used.
func New(sources []Source, o Options) (*Set, error) {
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.MaxStale == 0 {
		o.MaxStale = defaultMaxStale
	}
	if o.Every < gap || o.MaxStale < o.Every {
		return nil, fmt.Errorf("keys of issuers: they are to be fetched every %s and used for %s, but it must be at least %s, and used for longer than that", o.Every, o.MaxStale, gap)
	}
	s := &Set{options: o, issuers: map[string]*issuer{}, metrics: newMetrics()}
	get := newGetter(o.Client)
	var errs []error
	for _, source := range sources {
		if s.issuers[source.Issuer] != nil {
			errs = append(errs, fmt.Errorf("issuer %s is there twice", source.Issuer))
		}
		fetch, err := get.from(source)
		if err != nil {
			errs = append(errs, fmt.Errorf("issuer %s: %w", source.Issuer, err))
		}
		s.issuers[source.Issuer] = &issuer{
			fetch: fetch, maxStale: o.MaxStale, next: make(chan struct{}), wanted: make(chan struct{}, 1),
		}
		s.metrics.begin(source.Issuer)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("keys of issuers: %w", err)
	}
	return s, nil
}

// Run fetches keys until ctx ends. It returns nil.
func (s *Set) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for name, i := range s.issuers {
		all.Go(func() { s.keep(ctx, name, i) })
	}
	all.Wait()
	return nil
}

var (
	errNoIssuer = errors.New("the issuer is not configured")
	errStale    = errors.New("they were not fetched for too long")
	errSlow     = fmt.Errorf("they could not be fetched within %s", patience)
)

// Keys implements oauth.KeySource. It waits for the keys to be fetched, up to 5
// seconds, if none of that id is known and they were not just fetched.
func (s *Set) Keys(ctx context.Context, name, kid string) ([]jose.JSONWebKey, error) {
	i := s.issuers[name]
	if i == nil {
		return nil, errNoIssuer
	}
	keys, fetched, err := i.find(kid, s.options.Clock.Now())
	if fetched == nil {
		return keys, err
	}
	select {
	case <-fetched:
		return i.found(kid, s.options.Clock.Now())
	case <-s.options.Clock.After(patience):
		return nil, errSlow
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

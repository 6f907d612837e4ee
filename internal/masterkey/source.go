// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// The values of Options.Provider.
const (
	ProviderLocal   = "local"
	ProviderTransit = "transit"
)

// defaultInterval is how long a change may go unnoticed here. A Secret that
// changes takes the kubelet up to two minutes, so this adds little.
const defaultInterval = 5 * time.Second

// Options say where the master key is.
type Options struct {
	// Dir has the ring's files. With the provider transit it may be without a
	// version; those that it has open what they sealed before.
	Dir string
	// Provider says what seals: ProviderLocal, the default, or ProviderTransit.
	Provider string
	// Transit is used if it has an address. With the provider local it opens
	// what transit sealed before.
	Transit TransitOptions
	// Interval is how often changes are looked for, 5 seconds if it is zero.
	Interval time.Duration
	Log      *slog.Logger
}

// Status is the public state of the master key.
type Status struct {
	// Provider is the one that seals. The other fields describe its key.
	Provider string `json:"provider"`
	// Versions are those that exist, the lowest first. The list is empty, and
	// the other numbers are 0, as long as a transit engine was not reached
	// since the start.
	Versions []uint32 `json:"versions"`
	// Current seals.
	Current uint32 `json:"current"`
	// Minimum is the lowest that opens.
	Minimum uint32 `json:"minimum"`
}

// Source has the master key as it is now. It is safe for concurrent use.
type Source struct {
	options   Options
	transit   *transitClient // nil without an address.
	authority *pki.Authority

	mu      sync.Mutex
	state   *state
	changed chan struct{}
	failure error // Of the latest reload.
	// authorityChanged keeps a difference from being logged at every reload.
	authorityChanged bool
}

// state is the result of one read. It never changes.
type state struct {
	ring    *ring
	transit *transitKey // nil without an address, and until it is reached.
	keys    *envelope.Keys
	status  Status
}

// Open reads the master key. It is strict: the error names every file that is
// wrong, and quotes none. Only an unreachable transit engine is no error:
// everything that does not need it works until Run reaches it, and Err says why
// it was not reached.
func Open(ctx context.Context, o Options) (*Source, error) {
	if o.Provider == "" {
		o.Provider = ProviderLocal
	}
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Source{options: o, changed: make(chan struct{})}
	var err error
	switch {
	case o.Provider != ProviderLocal && o.Provider != ProviderTransit:
		return nil, fmt.Errorf("master key: provider %q is neither %s nor %s", o.Provider, ProviderLocal, ProviderTransit)
	case o.Transit.Address != "":
		if s.transit, err = newTransitClient(o.Transit); err != nil {
			return nil, fmt.Errorf("master key: transit: %w", err)
		}
	case o.Provider == ProviderTransit:
		return nil, errors.New("master key: provider transit needs the server's address")
	}
	if err := s.first(ctx); err != nil {
		s.close()
		return nil, fmt.Errorf("master key: %w", err)
	}
	return s, nil
}

// first is the read at the start. A server that is down then does not keep the
// process from starting: certificates do not need it.
func (s *Source) first(ctx context.Context) error {
	found, err := s.load(ctx, nil)
	if found == nil || err != nil && (!isAway(err) || ctx.Err() != nil) {
		return err
	}
	authority, wrong := pki.NewAuthority(found.ring.secrets().authority)
	if wrong != nil {
		return wrong
	}
	s.authority, s.state = authority, found
	if err != nil {
		s.failed(ctx, err)
	}
	return nil
}

// close releases the resources of a source that is not used.
func (s *Source) close() {
	if s.transit != nil {
		s.transit.http.CloseIdleConnections()
	}
}

// Keys are what seals and opens now.
func (s *Source) Keys() *envelope.Keys {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.keys
}

// Authority issues the installation's certificates. It stays the same until the
// process ends, since its clients got its certificate at their start.
func (s *Source) Authority() *pki.Authority { return s.authority }

// LoginGeneration distinguishes the keys that sign access tokens from earlier
// ones. It is 0 unless the directory's file "login" has another number.
func (s *Source) LoginGeneration() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.ring.login
}

// Status describes Keys.
func (s *Source) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.state.status
	status.Versions = slices.Clone(status.Versions)
	return status
}

// Changed is closed when Keys returns others than at the call.
func (s *Source) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Err is why the latest read failed, nil if it succeeded. Keys and Status are
// then those of the last successful read.
func (s *Source) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Run looks for changes until ctx ends, which is no error. Read errors are
// logged, and the earlier keys are kept.
func (s *Source) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.options.Interval)
	defer ticker.Stop()
	defer s.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			// It is logged, and tried again.
			_ = s.Reload(ctx)
		}
	}
}

// Reload looks for a change now. If only the transit engine fails, changes in
// the directory take effect all the same.
func (s *Source) Reload(ctx context.Context) error {
	s.mu.Lock()
	known := s.state.transit
	s.mu.Unlock()
	next, err := s.load(ctx, known)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if next != nil {
		if foreign := s.state.ring.continues(next.ring); foreign != nil {
			next, err = nil, errors.Join(foreign, err)
		}
	}
	if next != nil {
		s.adopt(ctx, next)
	}
	if err != nil {
		s.failed(ctx, err)
		return fmt.Errorf("master key: %w", err)
	}
	if s.failure != nil {
		s.options.Log.InfoContext(ctx, "the master key can be read again")
		s.failure = nil
	}
	return nil
}

// adopt uses the new state if it differs from the current one.
func (s *Source) adopt(ctx context.Context, next *state) {
	s.compareAuthority(ctx, next.ring)
	if next.same(s.state) {
		return
	}
	s.state = next
	close(s.changed)
	s.changed = make(chan struct{})
	s.options.Log.InfoContext(ctx, "the master key has changed", "provider", next.status.Provider,
		"versions", next.status.Versions, "current", next.status.Current, "minimum", next.status.Minimum, "login", next.ring.login)
}

// failed logs an error when it is another one than before.
func (s *Source) failed(ctx context.Context, err error) {
	message := "the master key cannot be read, the one from before stays in use"
	if isTransit(err) && s.state.transit == nil {
		message = "the transit engine cannot be used yet: what it sealed cannot be opened, nor anything sealed by it"
	}
	if s.failure == nil || s.failure.Error() != err.Error() {
		s.options.Log.ErrorContext(ctx, message, "error", err)
	}
	s.failure = err
}

// compareAuthority logs a change of the authority's key, once.
func (s *Source) compareAuthority(ctx context.Context, next *ring) {
	changed := next.secrets().authority != s.state.ring.secrets().authority
	if changed && !s.authorityChanged {
		s.options.Log.WarnContext(ctx, "the key of the certificate authority has changed: it is used after a restart of the keybroker, the ingress and all bridges")
	}
	s.authorityChanged = changed
	// The next comparison is still with the authority in use.
	next.secrets().authority = s.state.ring.secrets().authority
}

// Rotate makes a new version of the transit key, which then seals. The
// administrator of the directory makes versions there.
func (s *Source) Rotate(ctx context.Context) error {
	if s.options.Provider != ProviderTransit {
		return errors.New("rotate: the provider is not transit")
	}
	if err := s.transit.rotate(ctx); err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	return s.Reload(ctx)
}

// load reads the directory, and the transit key if there is one. If only the
// key cannot be read, it returns a state beside the error: the directory's
// content, and the key as it was known before.
func (s *Source) load(ctx context.Context, known *transitKey) (*state, error) {
	r, err := readRing(s.options.Dir)
	if err != nil {
		return nil, err
	}
	if r.local == nil && s.options.Provider == ProviderLocal {
		return nil, fmt.Errorf("%s has no version of the master key, a file named by a number", s.options.Dir)
	}
	if s.transit == nil {
		return s.join(r, nil)
	}
	key, unreached := s.reach(ctx, known)
	if unreached != nil {
		key, unreached = known, transitError{unreached}
	}
	found, err := s.join(r, key)
	if err != nil {
		return nil, err
	}
	return found, unreached
}

// transitError is why the transit key could not be read.
type transitError struct{ error }

// Error implements error.
func (e transitError) Error() string { return "transit: " + e.error.Error() }

// Unwrap returns the cause.
func (e transitError) Unwrap() error { return e.error }

func isTransit(err error) bool {
	_, ok := errors.AsType[transitError](err)
	return ok
}

// reach reads the transit key, and checks it the first time.
func (s *Source) reach(ctx context.Context, known *transitKey) (*transitKey, error) {
	key, err := s.transit.key(ctx)
	if err == nil && known == nil {
		err = key.prove(ctx)
	}
	return key, err
}

// join makes one state of what was found.
func (s *Source) join(r *ring, key *transitKey) (*state, error) {
	found := &state{ring: r, transit: key}
	var providers []envelope.Provider
	if r.local != nil {
		providers = append(providers, r.local)
		found.status = Status{ProviderLocal, r.local.Versions(), r.local.KeyID().Version, r.local.Minimum()}
	}
	if s.transit != nil {
		providers = append(providers, key.provider())
		if s.options.Provider == ProviderTransit {
			found.status = key.status()
			slices.Reverse(providers)
		}
	}
	var err error
	if found.keys, err = envelope.NewKeys(providers[0], providers[1:]...); err != nil {
		return nil, err
	}
	return found, nil
}

// same reports whether both states seal and open with the same keys.
func (s *state) same(other *state) bool {
	return s.ring.same(other.ring) && s.transit.same(other.transit)
}

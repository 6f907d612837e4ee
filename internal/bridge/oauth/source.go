// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/clock"
)

const (
	// early is how long before its end a token is replaced: a call takes as
	// long to reach its server, and clocks differ by as much. spread is left to
	// chance, so that bridges that started together do not refresh together.
	early  = time.Minute
	spread = 10 * time.Second
	// settled is how old a token is that a server may refuse. One that refuses
	// a newer token would refuse the next one too.
	settled = 30 * time.Second
	// Waits after a failure double from the first to the last. Where trying
	// again soon is of no use they are longer: somebody has to do something.
	firstPause, lastPause               = time.Second, time.Minute
	firstLastingPause, lastLastingPause = time.Minute, 10 * time.Minute
	// patience is for one request to the authorization server.
	patience = 30 * time.Second
	// farewell is how long Wipe waits for what is under way.
	farewell = 5 * time.Second
)

// SaveFunc stores the user's secret of that name. It does not keep value. Where
// it fails it is called again later, unless its error is ErrNotStorable.
type SaveFunc func(ctx context.Context, name string, value []byte) error

// SecretFunc returns the user's secret of that name, if it is set.
type SecretFunc func(name string) (string, bool)

// Source has the token for one server, from its first use until Wipe. It is
// safe for concurrent use.
type Source struct {
	config config.OAuth
	save   SaveFunc
	turn   TurnFunc // nil where no other process has the login
	client *http.Client
	clock  clock.Clock

	// work is what goes on by itself, and closing is closed when it is to end.
	work    sync.WaitGroup
	closing chan struct{}
	// storing is held while tokens are stored.
	storing sync.Mutex

	mu      sync.Mutex
	closed  bool
	secrets SecretFunc
	current tokens
	// login counts the logins of the person: what a refresh of an earlier one
	// gives is of no use.
	login int
	// seen are the values of the secret that stand for this login, hashed: the
	// one that it began with, and those that were to be stored since.
	seen map[uint64]bool
	seed maphash.Seed
	// begun says that the secret was read, and credential is the hash of the
	// client's secret then.
	begun      bool
	credential uint64
	flight     *flight
	// unsaved is to be stored, nil for nothing, and persisting says that this
	// is being tried until it succeeds.
	unsaved    []byte
	persisting bool
	// style is how the client names itself to the authorization server.
	style oauth2.AuthStyle
	// fault is why the last request failed, nil if it did not; failures counts
	// those in a row, and until retry nothing is asked.
	fault    *Error
	failures int
	retry    time.Time
}

// flight is one request for a token that several calls may wait for.
type flight struct {
	done  chan struct{}
	login int
	// exchanges says that the request is for a code's tokens, and sent that it
	// may have reached the authorization server.
	exchanges bool
	sent      atomic.Bool
	// token and err are set when done is closed.
	token string
	err   error
}

// NewSource returns the source of the token of c. secretValue gives the user's
// secrets; the tokens of a login are stored by save when they are replaced. A
// nil save stores nothing: such a login lasts as long as the process and the
// refresh token that it began with.
//
// One Source serves a server for as long as its configuration stays: it knows
// what the secrets do not have yet. Of other secrets it is told by Refill.
func NewSource(c config.OAuth, secretValue func(name string) (string, bool), save func(ctx context.Context, name string, value []byte) error, client *http.Client, clock clock.Clock) *Source {
	own := *client
	// A redirect would take the client's credentials somewhere else.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s := &Source{
		config: c, save: save, client: &own, clock: clock, secrets: secretValue,
		closing: make(chan struct{}), seen: map[uint64]bool{}, seed: maphash.MakeSeed(),
		style: oauth2.AuthStyleInHeader,
	}
	if c.ClientSecret == "" {
		s.style = oauth2.AuthStyleInParams
	}
	return s
}

// TakeTurns has turn called before each refresh. It is for a login that other
// processes have too, and is called before the source's first use.
func (s *Source) TakeTurns(turn TurnFunc) { s.turn = turn }

// Refill tells what the user's secrets are now. Tokens that this source itself
// stored, or began with, change nothing; others are those of a new login and
// are used from now on. Where there are none any more the person has ended the
// login: its tokens are dropped, also those that are not stored yet.
func (s *Source) Refill(secretValue func(name string) (string, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets = secretValue
	if s.closed || !s.begun {
		return
	}
	credential := s.hash(s.config.ClientSecret)
	if credential != s.credential {
		s.credential = credential
		s.forgive()
		if !s.refreshes() {
			s.begin(tokens{})
		}
	}
	if !s.refreshes() {
		return
	}
	value, ok := secretValue(s.config.Token)
	switch {
	case !ok:
		s.remove()
	case !s.seen[maphash.String(s.seed, value)]:
		s.read(value)
	}
}

// remove ends the login. The caller holds s.mu.
func (s *Source) remove() {
	clear(s.seen)
	s.discard()
	s.begin(tokens{})
	s.fail(removed(s.config.Token))
}

// refreshes reports whether there is a login to refresh.
func (s *Source) refreshes() bool { return s.config.Grant == config.AuthorizationCode }

// hash returns a secret's hash, zero where it is not set. The caller holds
// s.mu.
func (s *Source) hash(name string) uint64 {
	value, ok := s.secrets(name)
	if name == "" || !ok {
		return 0
	}
	return maphash.String(s.seed, value)
}

// start reads the secrets when a token is first wanted. The caller holds s.mu.
func (s *Source) start() {
	if s.begun {
		return
	}
	s.begun, s.credential = true, s.hash(s.config.ClientSecret)
	if !s.refreshes() {
		return
	}
	if value, ok := s.secrets(s.config.Token); ok {
		s.read(value)
		return
	}
	s.fail(unset(s.config.Token))
}

// read takes the login in the secret's value. The caller holds s.mu.
func (s *Source) read(value string) {
	clear(s.seen)
	s.seen[maphash.String(s.seed, value)] = true
	clear(s.unsaved)
	s.unsaved = nil
	login, ok := parseLogin(value)
	if !ok {
		s.begin(tokens{})
		s.fail(noLogin(s.config.Token))
		return
	}
	t := tokens{
		access: secret.New([]byte(login.AccessToken)), refresh: secret.New([]byte(login.RefreshToken)), expiry: login.Expiry,
		code: code{value: secret.New([]byte(login.Code)), verifier: secret.New([]byte(login.Verifier)), redirectURI: login.RedirectURI},
	}
	if !t.expiry.IsZero() {
		t.due = t.expiry.Add(-early - jitter(spread))
	}
	s.begin(t)
	s.forgive()
}

// begin puts the tokens of another login in the place of those that there are.
// The caller holds s.mu.
func (s *Source) begin(t tokens) {
	s.current.wipe()
	s.current = t
	s.login++
}

// fail notes that there is no token, and for how long nobody need ask. The
// caller holds s.mu.
func (s *Source) fail(err *Error) {
	first, last := firstPause, lastPause
	if err.lasting {
		first, last = firstLastingPause, lastLastingPause
	}
	pause := min(first<<min(s.failures, 16), last)
	s.failures++
	s.fault, s.retry = err, s.clock.Now().Add(pause/2+jitter(pause/2))
}

// forgive forgets the failures. The caller holds s.mu.
func (s *Source) forgive() { s.fault, s.failures, s.retry = nil, 0, time.Time{} }

// jitter returns a duration of up to d.
func jitter(d time.Duration) time.Duration {
	return rand.N(d + 1) //nolint:gosec // Spreading load needs no secret randomness.
}

// token returns the token to send. A token that the server refused is not
// returned again; refused is empty where there is none. The error is an *Error
// or the context's.
func (s *Source) token(ctx context.Context, refused string) (string, error) {
	for {
		token, f, err := s.have(ctx, refused)
		if f == nil {
			return token, err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if f.err == nil {
			return f.token, nil
		}
		// Another login has come meanwhile, or the failure is noted.
	}
}

// have returns the token that there is, or the request for another one, which
// it begins where nobody has.
func (s *Source) have(ctx context.Context, refused string) (string, *flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", nil, errWiped
	}
	s.start()
	now := s.clock.Now()
	token := s.current.access.Reveal()
	if refused != "" && token == refused {
		s.current.access.Wipe()
	}
	switch {
	case s.current.fresh(now):
		return token, nil, nil
	case s.flight != nil:
		return "", s.flight, nil
	case !s.idle(now):
		s.depart(ctx)
		return "", s.flight, nil
	case s.current.usable(now):
		return token, nil, nil
	}
	return "", nil, s.fault
}

// idle reports whether nobody is to be asked now: there is nothing to ask with,
// or it has just failed. The caller holds s.mu.
func (s *Source) idle(now time.Time) bool {
	if !s.refreshes() || s.current.renewable() {
		return s.fault != nil && now.Before(s.retry)
	}
	if s.fault == nil && !s.current.usable(now) {
		s.fail(errExpired)
	}
	return true
}

// tired reports whether the server may refuse this token: it is not the
// current one, or that is not new.
func (s *Source) tired(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.access.Reveal() != token || s.current.got.IsZero() || s.clock.Now().Sub(s.current.got) >= settled
}

// Wipe ends the source and overwrites its tokens. A refresh that is under way,
// and tokens that are not stored yet, get up to 5 s to be stored.
func (s *Source) Wipe() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	close(s.closing)
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-s.clock.After(farewell):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discard()
}

// Format implements fmt.Formatter for all verbs: package fmt would look into
// the fields.
func (s *Source) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[an OAuth token]") }

// discard overwrites what there is. The caller holds s.mu.
func (s *Source) discard() {
	s.current.wipe()
	clear(s.unsaved)
	s.unsaved = nil
}

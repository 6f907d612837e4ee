// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session keeps the sessions of the console in people's browsers. A session is
// a short-lived token in a cookie, signed by the keybroker, so that an ingress that is taken
// over keeps no key by which it could make sessions later. Replicas share only whose sessions
// were ended, and when.
//
// A session names a person and gives no access by itself: what the person may use is
// looked up at each request.
package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

const (
	// Idle is how long a session lasts without a request: the longest time for which the
	// keybroker signs.
	Idle = time.Hour
	// Longest is how long a session lasts altogether.
	Longest = 8 * time.Hour
	// renewAfter is how old a token is that is replaced at the next request.
	renewAfter = 10 * time.Minute
	// leeway is how far the clocks of two replicas may differ.
	leeway = 30 * time.Second
	// keysFor is how long the keybroker's keys are used before they are read again, and
	// retryAfter how long after that they are not asked for because of an unknown one.
	keysFor    = time.Hour
	retryAfter = 10 * time.Second
	// maxToken is longer than any token that Issue makes.
	maxToken = 4 << 10
)

// The errors of Open.
var (
	// ErrNone says that the request has no session, or that it has ended.
	ErrNone = errors.New("no session")
	// ErrAway says that the keybroker's keys, or the ends of sessions, are not known.
	ErrAway = errors.New("the keys or the ends of sessions are not known")
)

// Session is a person's session.
type Session struct {
	httpapi.Identity

	// Administrator is set in a session of an administrator, which names no user.
	Administrator *httpapi.Administrator `json:"administrator,omitempty"`
	// CSRF is the secret that a form of this session must repeat.
	CSRF string `json:"csrf"`
	// Begun is when the session began, later than the last end of the person's sessions
	// also if another replica's clock said when that was.
	Begun time.Time `json:"begun"`
	// issued is when the token was signed.
	issued time.Time
}

// owner returns whose sessions end together, as a text that names nobody: those of a person,
// or of a user by any key. Others may use the admin key too, so that each of its sessions ends
// by itself.
func (s *Session) owner() string {
	var of string
	switch a := s.Administrator; {
	case a != nil && a.Subject == nil:
		of = "administrator by key " + s.CSRF
	case a != nil:
		of = "administrator " + a.Subject.String()
	case s.Subject != nil:
		of = "person " + s.Subject.String()
	default:
		of = "user " + string(s.User)
	}
	return flow.Hash(of)[:ownerLength]
}

// ownerLength is in characters of base64: 96 bits, since a second owner of the same text
// would only have to log in again.
const ownerLength = 16

// Ends are when sessions were ended before their time, as all replicas know it.
type Ends interface {
	// EndedAt returns when the sessions of an owner were last ended, zero for never. An error
	// means that it is not known.
	EndedAt(owner string) (time.Time, error)
	// End ends the sessions of an owner that began until then.
	End(ctx context.Context, owner string, at time.Time) error
}

// Options are what a Keeper stands on.
type Options struct {
	// Issuer is where users reach the installation. A session of another installation is
	// none of this one's.
	Issuer string
	// Of is the kind of console. Sessions of another kind are not accepted.
	Of Kind
	// Longest is how long a session lasts altogether, that of users' if it is zero.
	Longest time.Duration
	Signer  flow.Signer
	Keys    flow.KeySet
	Ends    Ends
	Random  io.Reader
	Now     func() time.Time
}

// Kind is a kind of session, by the end of the audience of its tokens.
type Kind string

// The kinds.
const (
	OfUsers          Kind = "console"
	OfAdministrators Kind = "administrators"
)

// Keeper makes sessions and reads them.
type Keeper struct {
	Options

	mu   sync.Mutex
	set  jose.JSONWebKeySet
	read time.Time
}

// NewKeeper returns a Keeper. Without more options its sessions are those of users.
func NewKeeper(o Options) *Keeper {
	o.Of, o.Longest = cmp.Or(o.Of, OfUsers), cmp.Or(o.Longest, Longest)
	return &Keeper{Options: o}
}

// claims are those of a session's token. Its audience is no URL for which access tokens
// are accepted, so that neither is taken for the other.
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience []string `json:"aud"`
	Issued   int64    `json:"iat"`
	Expires  int64    `json:"exp"`
	ID       string   `json:"jti"`
	Session  Session  `json:"session"`
}

const subject = "console"

// audience returns the audience of sessions.
func (k *Keeper) audience() string { return k.Issuer + "/#" + string(k.Of) }

// Begin returns the session of a person who has just logged in. of has who that is. Its
// error may be ErrAway.
func (k *Keeper) Begin(of Session) (Session, error) {
	var err error
	if of.CSRF, err = flow.NewSecret(k.Random); err != nil {
		return Session{}, err
	}
	ended, err := k.Ends.EndedAt(of.owner())
	if err != nil {
		return Session{}, fmt.Errorf("%w: %w", ErrAway, err)
	}
	if of.Begun = k.Now(); !of.Begun.After(ended) {
		of.Begun = ended.Add(1)
	}
	return of, nil
}

// End ends a session on all replicas, with its copies and, if a person is its owner, their
// others. If it returns an error, copies may go on.
func (k *Keeper) End(ctx context.Context, s Session) error {
	at := k.Now().Add(leeway)
	if s.Begun.After(at) {
		at = s.Begun
	}
	return k.Ends.End(ctx, s.owner(), at)
}

// Issue returns the token of a session, good until it has been idle for long, and how long
// that is.
func (k *Keeper) Issue(ctx context.Context, s Session) (token string, life time.Duration, err error) {
	now := k.Now()
	life = min(Idle, s.Since.Add(k.Longest).Sub(now)).Truncate(time.Second)
	if life <= 0 {
		return "", 0, ErrNone
	}
	id, err := flow.NewSecret(k.Random)
	if err != nil {
		return "", 0, err
	}
	token, err = k.Signer.Sign(ctx, jsondoc.EncodeExact(claims{
		Issuer: k.Issuer, Subject: subject, Audience: []string{k.audience()}, ID: id,
		Issued: now.Unix(), Expires: now.Add(life).Unix(), Session: s,
	}))
	if err != nil {
		return "", 0, fmt.Errorf("sign session: %w", err)
	}
	return token, life, nil
}

// Due reports whether the token of a session is to be replaced by another one.
func (k *Keeper) Due(s Session) bool { return k.Now().Sub(s.issued) > renewAfter }

// Open returns the session of a token, ErrNone or ErrAway.
func (k *Keeper) Open(ctx context.Context, token string) (Session, error) {
	if token == "" || len(token) > maxToken {
		return Session{}, ErrNone
	}
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return Session{}, ErrNone
	}
	payload, err := k.verify(ctx, signed)
	if err != nil {
		return Session{}, err
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil || !k.isCurrent(&c) {
		return Session{}, ErrNone
	}
	ended, err := k.Ends.EndedAt(c.Session.owner())
	switch {
	case err != nil:
		return Session{}, fmt.Errorf("%w: %w", ErrAway, err)
	case !ended.IsZero() && !c.Session.Begun.After(ended):
		return Session{}, ErrNone
	}
	c.Session.issued = time.Unix(c.Issued, 0)
	return c.Session, nil
}

// isCurrent reports whether these are the claims of a session of this installation that
// has not ended.
func (k *Keeper) isCurrent(c *claims) bool {
	now := k.Now()
	ours := c.Issuer == k.Issuer && c.Subject == subject && len(c.Audience) == 1 && c.Audience[0] == k.audience()
	begun := !now.Add(leeway).Before(time.Unix(c.Issued, 0))
	return ours && begun && now.Before(time.Unix(c.Expires, 0)) && now.Before(c.Session.Since.Add(k.Longest)) && flow.IsSecret(c.Session.CSRF)
}

// verify returns the payload of a token that the keybroker signed.
func (k *Keeper) verify(ctx context.Context, signed *jose.JSONWebSignature) ([]byte, error) {
	id := signed.Signatures[0].Protected.KeyID
	set, err := k.keysWith(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	for _, key := range set.Key(id) {
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, nil
		}
	}
	return nil, ErrNone
}

// keysWith returns the keybroker's keys. It reads them again when they are old, or do not
// have the key of that id: it may be of the next period.
func (k *Keeper) keysWith(ctx context.Context, id string) (jose.JSONWebKeySet, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	age := k.Now().Sub(k.read)
	if k.set.Keys != nil && age < keysFor && (len(k.set.Key(id)) > 0 || age < retryAfter) {
		return k.set, nil
	}
	set, err := k.Keys.Keys(ctx)
	switch {
	case err == nil:
		k.set, k.read = set, k.Now()
	case len(k.set.Key(id)) == 0:
		return set, err
	}
	return k.set, nil // Keys that were good an hour ago verify on.
}

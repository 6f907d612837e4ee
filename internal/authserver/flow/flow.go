// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flow is what the authorization server and the parts that it stands on
// agree on, so that none of them imports another: types, and the forms of stored
// entries and of secrets.
package flow

import (
	"context"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Errors that the parts return, wrapped or not.
var (
	// ErrExists says that the key has an entry already.
	ErrExists = errors.New("the entry exists")
	// ErrNotFound says that the entry does not exist, or that it has another value
	// than the one to be replaced.
	ErrNotFound = errors.New("no such entry")
	// ErrNotInvited says that a person has no bridge and is to get none.
	ErrNotInvited = errors.New("not invited")
	// ErrLogin says that a provider did not let the person in, or that its answer
	// is not to be relied on.
	ErrLogin = errors.New("the login failed")
	// ErrClient says that a client's document does not describe a client.
	ErrClient = errors.New("not a client")
)

// Kind is what an entry of the store is for.
type Kind string

// The kinds.
const (
	// KindLogin are steps of logins that can be made once and were made.
	KindLogin  Kind = "login"
	KindGrant  Kind = "grant"
	KindClient Kind = "client"
	// KindUnused are clients that no person has allowed yet.
	KindUnused     Kind = "unused"
	KindInvitation Kind = "invitation"
	KindCutoff     Kind = "cutoff"
	// KindKey are the keys by which logins are sealed.
	KindKey Kind = "key"
)

// Store keeps what a login needs from one request to the next. Every entry has an
// end, after which it is not there. Any number of replicas may share one.
type Store interface {
	// Put adds an entry, or returns ErrExists.
	Put(ctx context.Context, kind Kind, key string, value []byte, expires time.Time) error
	// Get returns an entry, or ErrNotFound.
	Get(ctx context.Context, kind Kind, key string) ([]byte, error)
	// Take returns an entry and removes it, or returns ErrNotFound. Of several who
	// take it at once, one gets it.
	Take(ctx context.Context, kind Kind, key string) ([]byte, error)
	// Swap replaces an entry whose value is old, or returns ErrNotFound.
	Swap(ctx context.Context, kind Kind, key string, old, value []byte, expires time.Time) error
	// Delete removes an entry, if it is there.
	Delete(ctx context.Context, kind Kind, key string) error
	// Trim leaves most entries of a kind, and removes of more those that end first.
	Trim(ctx context.Context, kind Kind, most int) error
}

// Signer makes access tokens of claims.
type Signer interface {
	Sign(ctx context.Context, claims []byte) (string, error)
}

// KeySet has the public keys of a Signer.
type KeySet interface {
	Keys(ctx context.Context) (jose.JSONWebKeySet, error)
}

// Provider is where people prove who they are.
type Provider interface {
	// ID names it in URLs: up to 32 lower-case letters, digits and hyphens.
	ID() string
	// Name is what people read.
	Name() string
	// Version is another one when another person may be let in as somebody: the
	// provider is another, or our client there, or the rule for users.
	Version() string
	// Limits are those of logins at the provider.
	Limits() Limits
	// Begin returns where the browser is sent.
	Begin(ctx context.Context, r LoginRequest) (url string, err error)
	// Finish returns who came back. Its errors wrap ErrLogin where the person or
	// the provider's answer is at fault; others are that the provider is away.
	Finish(ctx context.Context, a LoginAnswer) (Identity, error)
}

// Renewer is a Provider that can be asked again who a person is, without their browser.
type Renewer interface {
	// Renew uses who.RefreshToken to return who the person is now, with the refresh token
	// for the next time. Its error wraps ErrLogin where the provider lets them in no
	// more; others say nothing of the person: the provider is away, or refuses us.
	Renew(ctx context.Context, who Identity) (Identity, error)
}

// Limits bound how long a login counts.
type Limits struct {
	// Grace is how long a grant gives tokens after the provider confirmed its person
	// last, while it is asked and does not say who they are. It is zero where the provider
	// is not asked again.
	Grace time.Duration
	// MaxAge is how long after their login a person logs in again, zero for no such limit.
	MaxAge time.Duration
}

// LoginRequest is what a login at a provider begins with.
type LoginRequest struct {
	State, Nonce, Verifier, RedirectURL string
	// Offline is whether the login is for a grant, whose provider may be asked again.
	Offline bool
}

// LoginAnswer is what the browser brought back, with what the login began with.
type LoginAnswer struct {
	// Code and Iss are parameters of the redirect; Iss is empty if it had none.
	Code, Iss                    string
	Nonce, Verifier, RedirectURL string
}

// Identity is a person at a provider.
type Identity struct {
	// Issuer and Subject name the person, and stay the same.
	Issuer, Subject string
	// Name is what the person is called, for the pages alone.
	Name string
	// User is the user that the provider's rule makes of the person, if any.
	User v1alpha1.UserID
	// Since is when the person came back from the provider; zero is now. It does not count
	// if their logins were ended later.
	Since time.Time `json:"since,omitzero"`
	// Groups are those that the provider names now. They are nil where it does not say,
	// or the installation does not ask for them; GroupsError is then why, if it asks.
	Groups      []string `json:"-"`
	GroupsError error    `json:"-"`
	// RefreshToken is a secret by which the provider is asked again, empty if it gave
	// none.
	RefreshToken string `json:"refreshToken,omitempty"`
}

// Bridge is a bridge that a person may use.
type Bridge struct {
	User v1alpha1.UserID
	// UID tells it from a later bridge of the same user.
	UID       types.UID
	Namespace string
	// Trusted is whether its namespace is one whose HostedBridges say for the
	// installation whose bridges they are. Elsewhere anybody who edits HostedBridges can
	// name any person.
	Trusted bool
	// Onboarded is whether a first login of the person made it.
	Onboarded bool
}

// Invited is whose bridge a person is invited to. The zero value is no invitation.
type Invited struct {
	User v1alpha1.UserID `json:"user"`
	// Bridge is the bridge that the user had when the invitation was made, empty for none:
	// an administrator may make it later.
	Bridge types.UID `json:"bridge,omitempty"`
}

// Users knows whose bridges a person may use.
type Users interface {
	// Closed reports whether the person's access was taken away.
	Closed(ctx context.Context, who Identity) (bool, error)
	// MayCome reports whether a bridge of a user, which the person got a moment ago, may be
	// one that is not known here yet: the person has access, and no bridge of that user is
	// known.
	MayCome(ctx context.Context, who Identity, user v1alpha1.UserID) (bool, error)
	// Bridges returns them, sorted by their users; none is no error.
	Bridges(ctx context.Context, who Identity) ([]Bridge, error)
	// Offer returns the user of the bridge that Onboard would make for a person
	// who has none and no invitation. ErrNotInvited says that they would get none.
	Offer(ctx context.Context, who Identity) (v1alpha1.UserID, error)
	// Invite returns an invitation to the bridge of a user.
	Invite(user v1alpha1.UserID) (Invited, error)
	// Onboard lets a person who has none use one, and returns it: the one that they are
	// invited to, or with no invitation a new one. ErrNotInvited says that they get
	// none.
	Onboard(ctx context.Context, who Identity, invited Invited) (Bridge, error)
	// RecordGroups records the groups of a person, which a provider has just named.
	RecordGroups(ctx context.Context, who Identity, at time.Time) error
}

// Documents has clients whose id is the https URL of a document about them. Its
// errors wrap ErrClient where the document is at fault or cannot be had.
type Documents interface {
	Client(ctx context.Context, id string) (Client, error)
}

// Client is a program that acts for a person. It has no secret.
type Client struct {
	ID           string   `json:"id"`
	Name         string   `json:"name,omitempty"`
	URI          string   `json:"uri,omitempty"`
	RedirectURIs []string `json:"redirectURIs"`
	// Document is whether ID is the URL of the document that says the rest.
	Document bool `json:"document,omitempty"`
}

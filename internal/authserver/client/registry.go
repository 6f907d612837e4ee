// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// registeredPrefix begins the ids of clients that registered themselves.
const registeredPrefix = "reg-"

// registeredForm is the form of these ids.
var registeredForm = regexp.MustCompile(`^` + registeredPrefix + `[A-Za-z0-9_-]{43}$`)

// isDocument reports whether a client's id is the URL of a document.
func isDocument(id string) bool { return strings.HasPrefix(id, schemeHTTPS+"://") }

// Registration configures the registration of clients (RFC 7591).
type Registration struct {
	Enabled bool
	// MaxClients is the most clients at a time that no person has allowed yet, 10,000 if
	// zero. Of more, those that registered first go.
	MaxClients int
	// Lifetime is how long an unused client stays registered, 30 days if zero. A
	// client that no person has allowed yet stays for four hours at most.
	Lifetime time.Duration
}

const (
	defaultMaxClients = 10_000
	defaultLifetime   = 30 * 24 * time.Hour
)

// Client is a client and its origin.
type Client struct {
	flow.Client
	// Configured is whether an administrator configured it.
	Configured bool
}

// ErrNotFound says that no client has the id. The request is at fault.
var ErrNotFound = errors.New("no such client")

// RegistryOptions are the options of a Registry.
type RegistryOptions struct {
	Store flow.Store
	// Configured are the clients that an administrator configured.
	Configured []flow.Client
	// Documents reads the documents of clients, nil if no client has one.
	Documents    flow.Documents
	Registration Registration
	// Redirects checks the redirect URIs of configured clients.
	Redirects Redirects
	// Random is the system's randomness.
	Random io.Reader
	// Now is the clock.
	Now func() time.Time
}

// Registry finds clients and registers new ones. It is safe for concurrent use.
type Registry struct {
	RegistryOptions

	configured map[string]flow.Client
}

// NewRegistry returns a Registry, or an error for a configured client that is not
// valid.
func NewRegistry(o RegistryOptions) (*Registry, error) {
	o.Registration.MaxClients = cmp.Or(o.Registration.MaxClients, defaultMaxClients)
	o.Registration.Lifetime = cmp.Or(o.Registration.Lifetime, defaultLifetime)
	r := &Registry{RegistryOptions: o, configured: map[string]flow.Client{}}
	for _, c := range o.Configured {
		if err := r.addConfigured(c); err != nil {
			return nil, fmt.Errorf("client %.80q: %w", c.ID, err)
		}
	}
	return r, nil
}

func (r *Registry) addConfigured(c flow.Client) error {
	if c.ID == "" || isDocument(c.ID) || c.Document || len(c.RedirectURIs) == 0 {
		return errors.New("it has no id of a configured client, or no redirect URI")
	}
	if _, ok := r.configured[c.ID]; ok {
		return errors.New("its id is that of another")
	}
	for _, uri := range c.RedirectURIs {
		if err := r.Redirects.Check(uri); err != nil {
			return fmt.Errorf("redirect URI: %w", err)
		}
	}
	r.configured[c.ID] = c
	return nil
}

// LookUp returns the client with an id. It returns ErrNotFound if it does not exist,
// flow.ErrClient if the client's document is at fault, and another error if the
// store or the fetching of documents is unavailable.
func (r *Registry) LookUp(ctx context.Context, id string) (Client, error) {
	if c, ok := r.configured[id]; ok {
		return Client{Client: c, Configured: true}, nil
	}
	switch {
	case isDocument(id) && r.Documents != nil:
		c, err := r.Documents.Client(ctx, id)
		if err != nil {
			return Client{}, fmt.Errorf("read the client's document: %w", err)
		}
		if c.ID != id {
			return Client{}, fmt.Errorf("%w: the document describes another client", flow.ErrClient)
		}
		return Client{Client: c}, nil
	case r.canBeRegistered(id):
		c, err := r.loadRegistered(ctx, id)
		return Client{Client: c.Client}, err
	default:
		return Client{}, ErrNotFound
	}
}

func (r *Registry) canBeRegistered(id string) bool {
	return r.Registration.Enabled && registeredForm.MatchString(id)
}

// registeredClient is the store's entry of a client that registered itself.
type registeredClient struct {
	flow.Client
	// Renewed is when its registration was last renewed, zero while no person has
	// allowed the client.
	Renewed time.Time `json:"renewed,omitzero"`

	// kind and value are of the entry.
	kind  flow.Kind
	value []byte
}

// loadRegistered returns a registered client.
func (r *Registry) loadRegistered(ctx context.Context, id string) (c registeredClient, err error) {
	c.kind = flow.KindClient
	c.value, err = r.Store.Get(ctx, c.kind, id)
	if errors.Is(err, flow.ErrNotFound) {
		c.kind = flow.KindUnused
		c.value, err = r.Store.Get(ctx, c.kind, id)
	}
	if errors.Is(err, flow.ErrNotFound) {
		return registeredClient{}, ErrNotFound
	}
	if err != nil {
		return registeredClient{}, fmt.Errorf("read client: %w", err)
	}
	if err := json.Unmarshal(c.value, &c); err != nil {
		return registeredClient{}, fmt.Errorf("decode client: %w", err)
	}
	return c, nil
}

// Check returns ErrNotFound for a client that no longer exists. It does not read
// documents again: while one is unavailable for a moment, the client's users would
// have to log in again.
func (r *Registry) Check(ctx context.Context, id string) error {
	if isDocument(id) && r.Documents != nil {
		return nil
	}
	_, err := r.LookUp(ctx, id)
	return err
}

const (
	// unusedLife is how long a client stays registered at most that no person has
	// allowed yet.
	unusedLife = 4 * time.Hour
	// renewals is how often a client's registration is renewed in its lifetime. To
	// renew it at each use would be a write each time.
	renewals = 30
)

// Use is Check for a client that a person allows, or has allowed. Only such use
// renews a registration: anybody can do the rest.
func (r *Registry) Use(ctx context.Context, id string) error {
	if _, configured := r.configured[id]; configured || !r.canBeRegistered(id) {
		return r.Check(ctx, id)
	}
	c, err := r.loadRegistered(ctx, id)
	if err != nil {
		return err
	}
	now := r.Now()
	if c.kind == flow.KindUnused {
		return r.allow(ctx, c, now)
	}
	if now.Sub(c.Renewed) < r.Registration.Lifetime/renewals {
		return nil
	}
	c.Renewed = now
	err = r.Store.Swap(ctx, flow.KindClient, id, c.value, jsondoc.EncodeExact(c), now.Add(r.Registration.Lifetime))
	if err != nil && !errors.Is(err, flow.ErrNotFound) { // Another request may have done so.
		return fmt.Errorf("renew client: %w", err)
	}
	return nil
}

// allow keeps a client that a person allows for the first time, so that strangers'
// registrations do not remove it.
func (r *Registry) allow(ctx context.Context, c registeredClient, now time.Time) error {
	c.Renewed = now
	err := r.Store.Put(ctx, flow.KindClient, c.ID, jsondoc.EncodeExact(c), now.Add(r.Registration.Lifetime))
	if err != nil && !errors.Is(err, flow.ErrExists) { // Another request may have done so.
		return fmt.Errorf("keep client: %w", err)
	}
	if err := r.Store.Delete(ctx, flow.KindUnused, c.ID); err != nil {
		return fmt.Errorf("keep client: %w", err)
	}
	return nil
}

// Register stores a new client with this name and these redirect URIs, which the
// caller has checked. It returns the client's id and the time of its registration.
// Anybody can register, so that where there are too many the oldest go that no person
// has allowed: whoever is to log in by a new one has the time to do so.
func (r *Registry) Register(ctx context.Context, name string, uris []string) (id string, at time.Time, err error) {
	secret, err := flow.NewSecret(r.Random)
	if err != nil {
		return "", time.Time{}, err
	}
	id, at = registeredPrefix+secret, r.Now()
	c := registeredClient{Client: flow.Client{ID: id, Name: name, RedirectURIs: uris}}
	life := min(unusedLife, r.Registration.Lifetime)
	if err := r.Store.Put(ctx, flow.KindUnused, id, jsondoc.EncodeExact(c), at.Add(life)); err != nil {
		return "", time.Time{}, fmt.Errorf("store client: %w", err)
	}
	if err := r.Store.Trim(ctx, flow.KindUnused, r.Registration.MaxClients); err != nil {
		return "", time.Time{}, fmt.Errorf("remove clients: %w", err)
	}
	return id, at, nil
}

// ShownName is the client's name on pages.
func (c Client) ShownName() string {
	return cmp.Or(flow.ShownName(c.Name), flow.ShownName(c.ID))
}

// DocumentHost is the host of the client's document, empty if it has none.
func (c Client) DocumentHost() string {
	u, err := url.Parse(c.ID)
	if !c.Document || err != nil {
		return ""
	}
	return u.Host
}

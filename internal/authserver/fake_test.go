// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var errFake = errors.New("away")

// memory is a store in memory.
type memory struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[string]entry
	// failing are the operations that fail.
	failing map[string]bool
	// before is called at the beginning of each Swap.
	before func()
	// forgetful has the next Swap be made and not be told.
	forgetful bool
}

type entry struct {
	value   []byte
	expires time.Time
}

func newMemory(now func() time.Time) *memory {
	return &memory{now: now, entries: map[string]entry{}, failing: map[string]bool{}}
}

func (m *memory) fail(op string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing[op] = true
}

func (m *memory) works() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.failing)
}

// at returns an entry that is not over, with mu held.
func (m *memory) at(kind flow.Kind, key string) ([]byte, error) {
	e, ok := m.entries[string(kind)+"/"+key]
	if !ok || !m.now().Before(e.expires) {
		return nil, flow.ErrNotFound
	}
	return e.value, nil
}

func (m *memory) Put(_ context.Context, kind flow.Kind, key string, value []byte, expires time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing["put"] {
		return errFake
	}
	if _, err := m.at(kind, key); err == nil {
		return flow.ErrExists
	}
	m.entries[string(kind)+"/"+key] = entry{bytes.Clone(value), expires}
	return nil
}

func (m *memory) Get(_ context.Context, kind flow.Kind, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing["get"] {
		return nil, errFake
	}
	return m.at(kind, key)
}

func (m *memory) Take(_ context.Context, kind flow.Kind, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing["take"] {
		return nil, errFake
	}
	value, err := m.at(kind, key)
	delete(m.entries, string(kind)+"/"+key)
	return value, err
}

func (m *memory) Swap(_ context.Context, kind flow.Kind, key string, old, value []byte, expires time.Time) error {
	m.mu.Lock()
	before := m.before
	m.before = nil
	m.mu.Unlock()
	if before != nil {
		before()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing["swap"] {
		return errFake
	}
	if there, err := m.at(kind, key); err != nil || !bytes.Equal(there, old) {
		return flow.ErrNotFound
	}
	m.entries[string(kind)+"/"+key] = entry{bytes.Clone(value), expires}
	if m.forgetful {
		m.forgetful = false
		return flow.ErrNotFound
	}
	return nil
}

func (m *memory) Delete(_ context.Context, kind flow.Kind, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing["delete"] {
		return errFake
	}
	delete(m.entries, string(kind)+"/"+key)
	return nil
}

func (m *memory) Trim(_ context.Context, kind flow.Kind, most int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing["trim"] {
		return errFake
	}
	var keys []string
	for key := range m.entries {
		if strings.HasPrefix(key, string(kind)+"/") {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return m.entries[b].expires.Compare(m.entries[a].expires) })
	for _, key := range keys[min(most, len(keys)):] {
		delete(m.entries, key)
	}
	return nil
}

// dump returns all keys and values.
func (m *memory) dump() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for key, e := range m.entries {
		fmt.Fprintf(&b, "%s %s\n", key, e.value)
	}
	return b.String()
}

// fakeProvider lets in whoever says who they are: its codes are "as-" and the
// subject.
type fakeProvider struct {
	id string

	mu     sync.Mutex
	begun  map[string]flow.LoginRequest // By nonce.
	user   map[string]v1alpha1.UserID
	away   bool
	fault  error // why, errFake if it is nil
	issuer string
	// version is of the configuration.
	version string
	// groups are of people, by their subjects. refreshes are their refresh tokens, each of
	// which is taken once, and asked is how often one was brought. An account that is
	// closed has none that is good.
	groups    map[string][]string
	refreshes map[string]string
	asked     int
	// limits are those of logins, and unconfirmed those whose refresh fails by no word about
	// the person.
	limits      flow.Limits
	unconfirmed map[string]bool
	// padding is how much longer refresh tokens are.
	padding int
	// before is called at the beginning of Renew.
	before func()
}

func newProvider(id string) *fakeProvider {
	return &fakeProvider{id: id, begun: map[string]flow.LoginRequest{}, user: map[string]v1alpha1.UserID{}, issuer: "https://" + id + ".example", limits: flow.Limits{Grace: time.Hour}}
}

func (p *fakeProvider) ID() string   { return p.id }
func (p *fakeProvider) Name() string { return "The " + p.id }

func (p *fakeProvider) setVersion(version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version = version
}

func (p *fakeProvider) Version() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

func (p *fakeProvider) Limits() flow.Limits {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limits
}

func (p *fakeProvider) Begin(_ context.Context, r flow.LoginRequest) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return "", cmp.Or(p.fault, errFake)
	}
	p.begun[r.Nonce] = r
	return p.issuer + "/authorize?" + url.Values{"state": {r.State}, "redirect_uri": {r.RedirectURL}}.Encode(), nil
}

func (p *fakeProvider) Finish(_ context.Context, a flow.LoginAnswer) (flow.Identity, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return flow.Identity{}, cmp.Or(p.fault, errFake)
	}
	begun, ok := p.begun[a.Nonce]
	delete(p.begun, a.Nonce)
	subject, isCode := strings.CutPrefix(a.Code, "as-")
	if !ok || begun.Verifier != a.Verifier || begun.RedirectURL != a.RedirectURL || !isCode || a.Iss != "" && a.Iss != p.issuer {
		return flow.Identity{}, fmt.Errorf("finish: %w", flow.ErrLogin)
	}
	return p.identity(subject), nil
}

// identity returns who somebody is now, with mu held.
func (p *fakeProvider) identity(subject string) flow.Identity {
	who := flow.Identity{Issuer: p.issuer, Subject: subject, Name: "Name of " + subject, User: p.user[subject], Groups: p.groups[subject]}
	if p.refreshes != nil {
		p.refreshes[subject] = fmt.Sprintf("upstream-geheim-%d-%s", p.asked, incompressible(p.padding))
		who.RefreshToken = p.refreshes[subject]
	}
	return who
}

func (p *fakeProvider) Renew(_ context.Context, who flow.Identity) (flow.Identity, error) {
	p.mu.Lock()
	before := p.before
	p.before = nil
	p.mu.Unlock()
	if before != nil {
		before()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.unconfirmed[who.Subject] {
		return flow.Identity{}, fmt.Errorf("renew: %w", &flow.AnswerError{Status: 500, Code: codeInvalidRequest})
	}
	if p.away {
		return flow.Identity{}, errFake
	}
	if who.RefreshToken == "" || p.refreshes[who.Subject] != who.RefreshToken {
		return flow.Identity{}, fmt.Errorf("renew: %w", flow.ErrLogin)
	}
	return p.identity(who.Subject), nil
}

// incompressible returns n random characters.
func incompressible(n int) string {
	b := make([]byte, n/2)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func (p *fakeProvider) change(how func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how()
}

// fakeUsers knows bridges by subject, and gives new ones to who is in welcome.
type fakeUsers struct {
	mu      sync.Mutex
	bridges map[string][]v1alpha1.UserID
	welcome map[string]v1alpha1.UserID
	// closed are those whose access was taken away, and ended is when logins ended.
	closed map[string]bool
	ended  map[string]time.Time
	// foreign are the namespaces of bridges that only their authors speak for, and made
	// how often a user's bridge was made again.
	foreign map[v1alpha1.UserID]string
	made    map[v1alpha1.UserID]int
	invites bool
	away    bool
	asked   int
	// groups are those that were recorded last, by subject.
	groups map[string][]string
	// noGroups is whether groups cannot be recorded.
	noGroups bool
}

func (u *fakeUsers) Closed(_ context.Context, who flow.Identity) (bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.closed[who.Subject], nil
}

func (u *fakeUsers) MayCome(_ context.Context, who flow.Identity, user v1alpha1.UserID) (bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.closed[who.Subject] && who.Since.After(u.ended[who.Subject]) && !slices.Contains(u.bridges[who.Subject], user), nil
}

func (u *fakeUsers) Bridges(_ context.Context, who flow.Identity) (bridges []flow.Bridge, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked++
	if u.away {
		return nil, errFake
	}
	if u.closed[who.Subject] || !who.Since.IsZero() && !who.Since.After(u.ended[who.Subject]) {
		return nil, nil
	}
	for _, user := range u.bridges[who.Subject] {
		bridges = append(bridges, u.bridge(who, user))
	}
	return bridges, nil
}

// bridge returns the bridge of a user, with mu held.
func (u *fakeUsers) bridge(who flow.Identity, user v1alpha1.UserID) flow.Bridge {
	b := flow.Bridge{User: user, UID: types.UID(fmt.Sprintf("uid-%s-%d", user, u.made[user])), Namespace: u.foreign[user]}
	if b.Namespace == "" {
		b.Namespace, b.Trusted = "people", true
	}
	b.Onboarded = b.Trusted && u.welcome[who.Subject] == user
	return b
}

func (u *fakeUsers) Offer(_ context.Context, who flow.Identity) (v1alpha1.UserID, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if user := u.welcome[who.Subject]; user != "" {
		return user, nil
	}
	return "", flow.ErrNotInvited
}

func (u *fakeUsers) Invite(user v1alpha1.UserID) (flow.Invited, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return flow.Invited{User: user, Bridge: u.bridge(flow.Identity{}, user).UID}, nil
}

func (u *fakeUsers) Onboard(_ context.Context, who flow.Identity, invited flow.Invited) (flow.Bridge, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.away {
		return flow.Bridge{}, errFake
	}
	user := u.welcome[who.Subject]
	if invited.User != "" && u.invites && invited.Bridge == u.bridge(who, invited.User).UID {
		user = invited.User
	}
	if user == "" {
		return flow.Bridge{}, flow.ErrNotInvited
	}
	u.bridges[who.Subject] = append(u.bridges[who.Subject], user)
	return u.bridge(who, user), nil
}

func (u *fakeUsers) RecordGroups(_ context.Context, who flow.Identity, _ time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.noGroups {
		return errFake
	}
	if u.groups == nil {
		u.groups = map[string][]string{}
	}
	u.groups[who.Subject] = who.Groups
	return nil
}

func (u *fakeUsers) groupsOf(subject string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.groups[subject]
}

func (u *fakeUsers) set(subject string, users ...v1alpha1.UserID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bridges[subject] = users
}

// claims has the author of a namespace make a bridge for a user, or make it again, in
// which these subjects are named.
func (u *fakeUsers) claims(namespace string, user v1alpha1.UserID, subjects ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.foreign[user] = namespace
	u.made[user]++
	for _, subject := range subjects {
		if !slices.Contains(u.bridges[subject], user) {
			u.bridges[subject] = append(slices.Clone(u.bridges[subject]), user)
			slices.Sort(u.bridges[subject])
		}
	}
}

// fakeDocuments has the documents of clients.
type fakeDocuments map[string]flow.Client

func (d fakeDocuments) Client(_ context.Context, id string) (flow.Client, error) {
	c, ok := d[id]
	if !ok {
		return flow.Client{}, fmt.Errorf("read document: %w", flow.ErrClient)
	}
	return c, nil
}

// keys sign access tokens, as the keybroker's do.
type keys struct {
	private *ecdsa.PrivateKey

	mu   sync.Mutex
	away bool
}

func newKeys(t testing.TB) *keys {
	t.Helper()
	private := must.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	return &keys{private: private}
}

func (k *keys) setAway(away bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.away = away
}

func (k *keys) Sign(_ context.Context, claims []byte) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.away {
		return "", errFake
	}
	key := jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: k.private, KeyID: "1"}}
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

func (k *keys) Keys(context.Context) (jose.JSONWebKeySet, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.away {
		return jose.JSONWebKeySet{}, errFake
	}
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &k.private.PublicKey, KeyID: "1", Algorithm: "ES256", Use: "sig"}}}, nil
}

// keySource has them for who verifies tokens.
type keySource struct{ *keys }

func (k keySource) Keys(ctx context.Context, _, _ string) ([]jose.JSONWebKey, error) {
	set, err := k.keys.Keys(ctx)
	return set.Keys, err
}

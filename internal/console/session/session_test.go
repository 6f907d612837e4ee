// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// keybroker signs as the keybroker does, and counts how often it is asked for keys.
type keybroker struct {
	keys  oauth.SigningKeys
	now   func() time.Time
	away  bool
	asked int
}

var errAway = errors.New("away")

func (k *keybroker) Sign(_ context.Context, claims []byte) (string, error) {
	if k.away {
		return "", errAway
	}
	return k.keys.Sign(claims, k.now())
}

func (k *keybroker) Keys(context.Context) (jose.JSONWebKeySet, error) {
	k.asked++
	if k.away {
		return jose.JSONWebKeySet{}, errAway
	}
	return k.keys.Public(k.now())
}

// ends are known at once.
type ends struct {
	at  map[string]time.Time
	err error
}

func (e *ends) EndedAt(owner string) (time.Time, error) { return e.at[owner], e.err }

func (e *ends) End(_ context.Context, owner string, at time.Time) error {
	if e.err == nil {
		e.at[owner] = at
	}
	return e.err
}

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newKeeper(t *testing.T, issuer string, secret byte) (*Keeper, *keybroker, *clock) {
	t.Helper()
	authority := must.Value(pki.NewAuthority([32]byte{secret}))(t)
	c := &clock{time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)}
	k := &keybroker{keys: oauth.NewSigningKeys(authority, 1), now: c.now}
	return NewKeeper(Options{Issuer: issuer, Signer: k, Keys: k, Ends: &ends{at: map[string]time.Time{}}, Random: rand.Reader, Now: c.now}), k, c
}

const issuer = "https://bridges.example.com"

func issue(t *testing.T, k *Keeper) string {
	t.Helper()
	s := must.Value(k.Begin(Session{Identity: httpapi.Identity{User: "alice", KeyID: "abcdefgh", KeyDigest: "digest", Since: k.Now()}}))(t)
	token, life, err := k.Issue(context.Background(), s)
	if err != nil || life != Idle {
		t.Fatalf("%v %v", life, err)
	}
	return token
}

func TestASessionIsOpenedByEachReplica(t *testing.T) {
	one, _, _ := newKeeper(t, issuer, 1)
	other, _, _ := newKeeper(t, issuer, 1)
	got, err := other.Open(context.Background(), issue(t, one))
	if err != nil || got.User != "alice" || got.KeyID != "abcdefgh" || !flow.IsSecret(got.CSRF) {
		t.Errorf("%+v %v", got, err)
	}
}

func TestASessionOfAnotherIsNone(t *testing.T) {
	here, _, _ := newKeeper(t, issuer, 1)
	elsewhere, _, _ := newKeeper(t, "https://other.example.com", 1)
	stranger, _, _ := newKeeper(t, issuer, 2)
	access, err := here.Signer.Sign(context.Background(), jsondoc.EncodeExact(map[string]any{
		"iss": issuer, "sub": "console", "aud": []string{issuer + "/mcp"}, "jti": "x", "iat": here.Now().Unix(), "exp": here.Now().Add(time.Hour).Unix(),
	}))
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"of another installation": issue(t, elsewhere), "of another keybroker": issue(t, stranger), "an access token": access,
		"nothing": "", "no token": "x.y.z", "long": strings.Repeat("a", maxToken+1),
	} {
		if _, err := here.Open(context.Background(), token); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHowLongASessionLasts(t *testing.T) {
	k, _, c := newKeeper(t, issuer, 1)
	token := issue(t, k)
	c.at = c.at.Add(Idle - time.Second)
	s, err := k.Open(context.Background(), token)
	if err != nil || !k.Due(s) {
		t.Fatalf("just before its end: %v", err)
	}
	renewed, _ := must.Values(k.Issue(context.Background(), s))(t)
	c.at = c.at.Add(time.Second)
	if _, err := k.Open(context.Background(), token); !errors.Is(err, ErrNone) {
		t.Errorf("after an hour: %v", err)
	}
	again, err := k.Open(context.Background(), renewed)
	if err != nil || again.CSRF != s.CSRF || k.Due(again) {
		t.Errorf("renewed: %v", err)
	}
	c.at = again.Since.Add(Longest - time.Minute)
	if _, life, err := k.Issue(context.Background(), again); err != nil || life != time.Minute {
		t.Errorf("near its end it is good for %v: %v", life, err)
	}
	c.at = again.Since.Add(Longest)
	if _, _, err := k.Issue(context.Background(), again); !errors.Is(err, ErrNone) {
		t.Errorf("after its end: %v", err)
	}
}

func TestSessionsGoOnWithoutTheKeybroker(t *testing.T) {
	k, broker, c := newKeeper(t, issuer, 1)
	token := issue(t, k)
	broker.away = true
	if _, err := k.Open(context.Background(), token); !errors.Is(err, ErrAway) {
		t.Errorf("before its keys are known: %v", err)
	}
	broker.away = false
	must.Value(k.Open(context.Background(), token))(t)
	broker.away = true
	c.at = c.at.Add(50 * time.Minute)
	if _, err := k.Open(context.Background(), token); err != nil {
		t.Errorf("with keys that are known: %v", err)
	}
}

func TestUnknownKeysAreNotAskedForEachTime(t *testing.T) {
	k, broker, _ := newKeeper(t, issuer, 1)
	stranger, _, _ := newKeeper(t, issuer, 2)
	token := issue(t, stranger)
	for range 100 {
		if _, err := k.Open(context.Background(), token); !errors.Is(err, ErrNone) {
			t.Fatal(err)
		}
	}
	if broker.asked > 2 {
		t.Errorf("the keybroker was asked %d times", broker.asked)
	}
}

func TestASessionOfAnotherKindIsNone(t *testing.T) {
	users, k, c := newKeeper(t, issuer, 1)
	administrators := NewKeeper(Options{Issuer: issuer, Of: OfAdministrators, Longest: time.Hour, Signer: k, Keys: k, Ends: users.Ends, Random: rand.Reader, Now: c.now})
	key := oauth.KeyOf("https://idp.example", "ann")
	who := httpapi.Administrator{Subject: &key, Roles: []oauth.Role{oauth.RoleAuditor}, Since: c.now()}
	s := must.Value(administrators.Begin(Session{Identity: httpapi.Identity{Since: who.Since}, Administrator: &who}))(t)
	token, life, err := administrators.Issue(t.Context(), s)
	if err != nil || life != time.Hour {
		t.Fatalf("%v %v", life, err)
	}
	if got, err := administrators.Open(t.Context(), token); err != nil || !got.Administrator.May([]oauth.Role{oauth.RoleAuditor}) || got.Administrator.May(nil) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := users.Open(t.Context(), token); !errors.Is(err, ErrNone) {
		t.Errorf("an administrator's session as a user's: %v", err)
	}
	if _, err := administrators.Open(t.Context(), issue(t, users)); !errors.Is(err, ErrNone) {
		t.Errorf("a user's session as an administrator's: %v", err)
	}
	c.at = c.at.Add(time.Hour)
	if _, _, err := administrators.Issue(t.Context(), s); !errors.Is(err, ErrNone) {
		t.Errorf("a session is renewed after its end: %v", err)
	}
	if _, err := administrators.Open(t.Context(), token); !errors.Is(err, ErrNone) {
		t.Errorf("a session is opened after its end: %v", err)
	}
}

// person is a session of a person, by the name of the login, or of a user by a key.
func person(k *Keeper, name string) Session {
	of := Session{Identity: httpapi.Identity{User: "team", KeyID: "abcdefgh", Since: k.Now()}}
	if name != "" {
		key := oauth.KeyOf("https://idp.example", name)
		of.Identity = httpapi.Identity{User: "team", Subject: &key, Since: k.Now()}
	}
	return of
}

func TestEndedSessionsStayEnded(t *testing.T) {
	k, _, c := newKeeper(t, issuer, 1)
	opens := func(s Session) bool {
		t.Helper()
		token, _ := must.Values(k.Issue(t.Context(), s))(t)
		_, err := k.Open(t.Context(), token)
		return err == nil
	}
	ann, elsewhere, ben, key := must.Value(k.Begin(person(k, "ann")))(t), must.Value(k.Begin(person(k, "ann")))(t), must.Value(k.Begin(person(k, "ben")))(t), must.Value(k.Begin(person(k, "")))(t)
	c.at = c.at.Add(-20 * time.Second) // The clock of the replica at which she logs out.
	must.Succeed(t, k.End(t.Context(), ann))
	if opens(ann) || opens(elsewhere) {
		t.Error("a session of a person who has logged out goes on")
	}
	if !opens(ben) || !opens(key) {
		t.Error("a session of another person of the bridge has ended")
	}
	later := must.Value(k.Begin(person(k, "ann")))(t)
	if !opens(later) || opens(ann) {
		t.Error("a login after it begins no session, or continues the former one")
	}
	for range 10 {
		must.Succeed(t, k.End(t.Context(), later))
		later = must.Value(k.Begin(person(k, "ann")))(t)
	}
	if ahead := later.Begun.Sub(c.now()); ahead > leeway+time.Second {
		t.Errorf("a session begins %v from now", ahead)
	}
}

func TestASessionByTheAdminKeyEndsAlone(t *testing.T) {
	k, _, _ := newKeeper(t, issuer, 1)
	of := Session{Administrator: &httpapi.Administrator{KeyDigest: "digest", Since: k.Now()}}
	one, other := must.Value(k.Begin(of))(t), must.Value(k.Begin(of))(t)
	must.Succeed(t, k.End(t.Context(), one))
	for s, goesOn := range map[*Session]bool{&one: false, &other: true} {
		s.Since = k.Now()
		token, _ := must.Values(k.Issue(t.Context(), *s))(t)
		if _, err := k.Open(t.Context(), token); (err == nil) != goesOn {
			t.Errorf("goes on %v: %v", goesOn, err)
		}
	}
}

func TestNoSessionIsOpenedWhileItsEndIsNotKnown(t *testing.T) {
	k, _, _ := newKeeper(t, issuer, 1)
	token := issue(t, k)
	k.Ends.(*ends).err = errAway
	if _, err := k.Open(t.Context(), token); !errors.Is(err, ErrAway) {
		t.Errorf("a session is opened: %v", err)
	}
	if _, err := k.Begin(person(k, "")); !errors.Is(err, ErrAway) {
		t.Errorf("a session begins: %v", err)
	}
	if err := k.End(t.Context(), person(k, "")); err == nil {
		t.Error("a session is said to have ended")
	}
}

func TestACookieIsOfItsHostOverTLS(t *testing.T) {
	for host, plain := range map[string]bool{
		"127.0.0.1:8080": true, "localhost": true, "[::1]:80": true, "bridges.example.com": false, "localhost.example.com": false, "10.0.0.1": false, "127.0.0.1.example.com": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		CookiesAt(r).SetSession(w, "token", time.Hour)
		c := w.Result().Cookies()[0]
		AdministratorCookiesAt(r).SetSession(w, "token", time.Hour)
		for _, c := range append(w.Result().Cookies()[1:], c) {
			if c.Secure == plain || strings.HasPrefix(c.Name, "__Host-") == plain || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
				t.Errorf("%s: %v", host, c)
			}
		}
	}
}

func TestOfTwoCookiesNoneCounts(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = "bridges.example.com"
	r.AddCookie(&http.Cookie{Name: "__Host-hb-console", Value: "one"})
	if got := CookiesAt(r).Session(r); got != "one" {
		t.Errorf("one: %q", got)
	}
	r.AddCookie(&http.Cookie{Name: "__Host-hb-console", Value: "two"})
	if got := CookiesAt(r).Session(r); got != "" {
		t.Errorf("two: %q", got)
	}
}

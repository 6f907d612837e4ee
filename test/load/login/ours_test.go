// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// installation is an ingress with an authorization server of its own.
type installation struct {
	publicURL string
	verifier  *oauth.Verifier
}

// ours starts an ingress whose logins are in a store, and waits until people can
// log in.
func (w *town) ours(t *testing.T, store string) way {
	t.Helper()
	p := w.startIngress(t, store)
	i := &installation{publicURL: "http://" + p.Addr}
	var err error
	i.verifier, err = oauth.NewVerifier([]oauth.Issuer{{URL: i.publicURL, Algorithms: []jose.SignatureAlgorithm{jose.ES256}, Own: true}}, published{p})
	if err != nil {
		t.Fatal(err)
	}
	// The last one has the bridge that the ingress hears of last.
	p.Await(t, "lets people log in", func() bool {
		_, err = i.login(world.Interrupted, people-1)
		return err == nil
	})
	must.Succeed(t, i.check(world.Interrupted))
	p.AwaitCalm(t)
	return way{ours: true, program: p, do: i}
}

// login implements doer.
func (i *installation) login(ctx context.Context, person int) (took, error) {
	var t took
	_, err := i.tokens(ctx, person, &t)
	return t, err
}

// tokens logs a person in, and returns what their program gets.
func (i *installation) tokens(ctx context.Context, person int, t *took) (tokens, error) {
	b, r := newBrowser(), newRequest(i.publicURL+"/u/"+userOf(person)+"/mcp")
	watch := stopwatch(time.Now())
	p, err := b.get(ctx, i.publicURL+"/oauth/authorize?"+r.query(oauth.ScopeRead+" "+oauth.ScopeCall))
	if err != nil {
		return tokens{}, fmt.Errorf("authorize: %w", err)
	}
	t[authorize] = watch.lap()
	if p, err = atProvider(ctx, b, p, person); err != nil {
		return tokens{}, fmt.Errorf("provider: %w", err)
	}
	watch.lap()
	if p, err = b.get(ctx, p.to.String()); err != nil {
		return tokens{}, fmt.Errorf("callback: %w", err)
	}
	t[callback] = watch.lap()
	if p, err = b.submit(ctx, p, url.Values{"answer": {"allow"}}); err != nil {
		return tokens{}, fmt.Errorf("consent: %w", err)
	}
	code, err := r.code(p, i.publicURL)
	if err != nil {
		return tokens{}, fmt.Errorf("consent: %w", err)
	}
	t[consent] = watch.lap()
	return r.redeem(ctx, i.publicURL+"/oauth/token", code, t)
}

var errNotSent = errors.New("nobody was sent to the provider, or back")

// atProvider has a person log in where a page sends them.
func atProvider(ctx context.Context, b *browser, p page, person int) (page, error) {
	if p.to == nil {
		return page{}, errNotSent
	}
	p, err := b.get(ctx, p.to.String()+"&login_hint="+subjectOf(person))
	if err == nil && p.to == nil {
		err = errNotSent
	}
	return p, err
}

// check verifies that what a program gets is an access token for its bridge.
func (i *installation) check(ctx context.Context) error {
	var t took
	got, err := i.tokens(ctx, 0, &t)
	if err != nil {
		return err
	}
	resource := i.publicURL + "/u/" + userOf(0) + "/mcp"
	read, err := i.verifier.Verify(ctx, got.Access, resource, time.Now())
	if err != nil {
		return err
	}
	if !read.Call || !read.Read || strings.Count(got.Access, ".") != 2 {
		return errors.New("the access token lets nobody read and call")
	}
	return nil
}

// published are the keys that an ingress publishes.
type published struct{ program *world.Process }

// Keys implements oauth.KeySource.
func (p published) Keys(_ context.Context, _, kid string) ([]jose.JSONWebKey, error) {
	content, err := world.Get("http://" + p.program.Addr + "/oauth/jwks")
	if err != nil {
		return nil, err
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(content, &set); err != nil {
		return nil, err
	}
	return set.Key(kid), nil
}

// expectBridges makes a bridge for everybody who logs in.
func (w *town) expectBridges(t *testing.T) {
	t.Helper()
	for person := range people {
		testenv.ExpectApplied(t, w.Client, w.bridge(person))
	}
}

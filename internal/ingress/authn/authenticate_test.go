// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// table is a table that a test replaces. No use of a key is recorded.
type table struct{ *route.Table }

func (t *table) Current() *route.Table                  { return t.Table }
func (*table) KeyUsed(route.Backend, string, time.Time) {}

// list replaces the keys of alice's bridge.
func (t *table) list(keys ...v1alpha1.APIKey) {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "alice", UID: "uid-alice"}}
	b.Spec.UserID, b.Spec.APIKeys = "alice", keys
	t.Table = route.Build([]*v1alpha1.HostedBridge{b}, nil)
}

// TestAKeyWorksUntilItExpiresOrIsRevoked checks a key when it is presented, when
// its request has waited, and in its session.
func TestAKeyWorksUntilItExpiresOrIsRevoked(t *testing.T) {
	key, id, err := apikey.Mint(rand.Reader, apikey.KindUser)
	if err != nil {
		t.Fatal(err)
	}
	listed := v1alpha1.APIKey{ID: id, Hash: apikey.HashFor("alice", key).String()}
	ending := func(after time.Duration) func(*v1alpha1.APIKey) {
		return func(k *v1alpha1.APIKey) { k.ExpiresAt = &metav1.Time{Time: time.Now().Add(after)} }
	}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.APIKey)
		want   error
	}{
		"a key":                    {func(*v1alpha1.APIKey) {}, nil},
		"a key that expires later": {ending(time.Second), nil},
		"a key that expires now":   {ending(0), problems.Unauthorized},
		"a revoked key":            {func(k *v1alpha1.APIKey) { k.ID = "000000000000" }, problems.Unauthorized},
		"a key with another hash":  {func(k *v1alpha1.APIKey) { k.Hash = apikey.HashFor("bob", key).String() }, problems.Unauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				routes := &table{}
				a, err := New(Options{Routes: routes, Activity: routes, Metrics: prometheus.NewRegistry()})
				if err != nil {
					t.Fatal(err)
				}
				attempt := Attempt{Header: http.Header{"X-Api-Key": {key}}, User: "alice"}
				routes.list(listed)
				waiting, _, err := a.Authenticate(t.Context(), attempt)
				if err != nil {
					t.Fatal(err)
				}
				session, err := a.Identify(netip.Addr{}, key)
				if err != nil {
					t.Fatal(err)
				}
				now := listed
				tt.change(&now)
				routes.list(now)
				_, admitted, presented := a.Authenticate(t.Context(), attempt)
				_, waited := a.Bridge(waiting)
				_, resumed := a.Resume(session)
				if !errors.Is(presented, tt.want) || !errors.Is(waited, tt.want) || !errors.Is(resumed, tt.want) || admitted != (tt.want == nil) {
					t.Errorf("presented: %v, admitted %v; after a wait: %v; in a session: %v; want %v", presented, admitted, waited, resumed, tt.want)
				}
			})
		})
	}
}

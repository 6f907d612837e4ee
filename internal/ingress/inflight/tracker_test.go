// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// table has alice's bridge, to which no key gives access.
type table struct{}

func (table) Current() *route.Table {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "alice", UID: "uid-alice"}}
	b.Spec.UserID = "alice"
	return route.Build([]*v1alpha1.HostedBridge{b}, nil)
}

func TestWhatEndsACall(t *testing.T) {
	for name, tt := range map[string]struct {
		begin func(*Tracker, *Call)
		want  *httpapi.Problem
	}{
		"nothing":         {func(*Tracker, *Call) {}, nil},
		"its revoked key": {func(k *Tracker, c *Call) { k.Watch(c, Guard{authn.Principal{User: "alice"}, "uid-alice"}) }, problems.Unauthorized},
		"a drain":         {func(k *Tracker, _ *Call) { k.Drain() }, problems.Ending},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, err := New(Options{Routes: table{}, Metrics: prometheus.NewRegistry(), DrainTimeout: 2 * drainLead})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				c := &Call{}
				c.Begin(httptest.NewRecorder(), cancel)
				k.Open(c)
				defer k.End(c)
				tt.begin(k, c)
				time.Sleep(2 * drainLead)
				synctest.Wait()
				if got := EndedBy(ctx); got != tt.want {
					t.Errorf("ended by %v, want %v", got, tt.want)
				}
			})
		})
	}
}

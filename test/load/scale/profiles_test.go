// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// profileCount is how many profiles select tenants at the same time.
const profileCount = 20

// Profiles is what a change of one profile of twenty takes, which all tenants follow.
type Profiles struct {
	ProfileTenants int               `json:"profileTenants"`
	ProfileSeconds float64           `json:"profileSecondsUntilAllFollow"`
	ProfileKinds   map[string]string `json:"profileWritesPerTenantByKind"`
	// ProfileQuiet is what is written in a minute afterwards, lease renewals aside.
	ProfileQuiet int `json:"profileQuietWrites"`
}

// profiles gives all tenants twenty profiles, and then changes one of them at the highest
// pace.
func (s *subject) profiles(t *testing.T, tenants int) (f Profiles) {
	t.Helper()
	all := make([]*v1alpha1.BridgeProfile, profileCount)
	for i := range all {
		all[i] = &v1alpha1.BridgeProfile{
			ObjectMeta: metav1.ObjectMeta{Namespace: installationNamespace, Name: fmt.Sprintf("profile-%02d", i)},
			Spec: v1alpha1.BridgeProfileSpec{
				Priority: int32(i), Who: v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Everyone: true},
				ToolPrefix: v1alpha1.ToolPrefixAlways, Rollout: v1alpha1.ProfileRollout{Pace: v1alpha1.PaceImmediate},
			},
		}
		testenv.ExpectApplied(t, s.plane.client, all[i])
	}
	s.awaitProfiles(t, all, tenants)
	s.plane.audit.settle(t, 10*time.Second, s.limit(tenants))

	last := all[profileCount-1]
	before, began := s.plane.audit.writes(), time.Now()
	changed := last.DeepCopy()
	changed.Spec.Rollout = v1alpha1.ProfileRollout{Pace: v1alpha1.PacePaced, PerSecond: 200, MaxFailures: 1000}
	changed.Spec.Servers = []v1alpha1.ProfileServer{{Server: v1alpha1.Server{Name: "team", Transport: v1alpha1.Transport{URL: "https://team.example.com/mcp"}}}}
	must.Succeed(t, s.plane.client.Patch(t.Context(), changed, client.MergeFrom(last)))
	s.awaitProfiles(t, []*v1alpha1.BridgeProfile{changed}, tenants)
	f.ProfileSeconds = time.Since(began).Seconds()
	s.plane.audit.settle(t, 10*time.Second, s.limit(tenants))
	written := s.plane.audit.since(before)
	f.ProfileTenants, f.ProfileKinds = tenants, map[string]string{}
	for _, account := range s.accounts {
		f.ProfileKinds[account] = written.perTenant(account, tenants)
	}
	before = s.plane.audit.writes()
	<-time.After(time.Minute) // That nothing happens is what is measured.
	f.ProfileQuiet = s.plane.audit.since(before).besides()
	t.Logf("%d tenants follow a change of a profile after %.0f s, with the writes %v; %d writes in a minute afterwards", tenants, f.ProfileSeconds, f.ProfileKinds, f.ProfileQuiet)
	return f
}

// awaitProfiles waits until all tenants have the last revision of the profiles.
func (s *subject) awaitProfiles(t *testing.T, all []*v1alpha1.BridgeProfile, tenants int) {
	t.Helper()
	for _, p := range all {
		wait.NoError(t, wait.Limit+s.limit(tenants), "profile "+p.Name, func(ctx context.Context) error {
			if err := s.plane.client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
				return err
			}
			c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
			if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != p.Generation || int(p.Status.Updated) != tenants {
				return fmt.Errorf("%+v", p.Status.Conditions)
			}
			return nil
		})
	}
}

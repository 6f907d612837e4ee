// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestABridgeKeepsTheNamesThatItHadWhenItWasNew reconciles a bridge that is new, and one that was new
// under another default.
func TestABridgeKeepsTheNamesThatItHadWhenItWasNew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stored, spec *int32
		want         int   // in the bridge's configuration
		unsaid       int32 // in its status
	}{
		"a new bridge":                             {nil, nil, 44, 44},
		"a new bridge whose spec says otherwise":   {nil, new(int32(64)), 64, 44},
		"a bridge of another default":              {new(int32(64)), nil, 64, 64},
		"a bridge of another default, with a spec": {new(int32(64)), new(int32(50)), 50, 64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.ToolNameLength = tt.spec })
			testenv.ExpectApplied(t, f.Client, b)
			if tt.stored != nil {
				status := apply.Status(v1alpha1.HostedBridgeStatus{UserID: b.Spec.UserID, DefaultToolNameLength: tt.stored})
				must.Succeed(t, f.Status().Patch(t.Context(), named(b), status, client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership))
			}
			for range 3 { // A length that is written must not be taken for another one later.
				testenv.ExpectReconciled(t, f.reconciler, b)
				testenv.ExpectExists(t, f.Client, b)
				told := f.configMap("alice")
				testenv.ExpectExists(t, f.Client, told)
				if got := must.Value(bridgeconfig.Parse([]byte(told.Data["config.json"])))(t).ToolNameLength; got != tt.want {
					t.Errorf("the configuration says %d, want %d", got, tt.want)
				}
				if got := b.Status.DefaultToolNameLength; ptr.Deref(got, 0) != tt.unsaid {
					t.Errorf("the status says %v, want %d", ptr.Deref(got, 0), tt.unsaid)
				}
			}
		})
	}
}

// TestTheServerThatWasAloneIsInTheStatus adds and removes servers, and reconciles after each step.
func TestTheServerThatWasAloneIsInTheStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.Servers = nil })
	testenv.ExpectApplied(t, f.Client, b)
	for step, of := range []struct {
		servers []string
		status  *string
		told    *string // to the bridge
	}{
		{nil, nil, nil},
		{[]string{"first"}, new("first"), nil},
		{[]string{"second", "first"}, new("first"), new("first")},
		{[]string{"second"}, new("first"), new("first")},
		{nil, nil, nil},
		{[]string{"second", "first"}, new(""), nil},
	} {
		before := b.DeepCopy()
		b.Spec.Servers = nil
		for _, name := range of.servers {
			b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: name, Transport: v1alpha1.Transport{Type: v1alpha1.TransportStreamableHTTP, URL: "https://" + name + ".example.com/mcp"}})
		}
		must.Succeed(t, f.Patch(t.Context(), b, client.MergeFrom(before)))
		for range 2 {
			testenv.ExpectReconciled(t, f.reconciler, b)
			testenv.ExpectExists(t, f.Client, b)
			told := f.configMap("alice")
			testenv.ExpectExists(t, f.Client, told)
			got := must.Value(bridgeconfig.Parse([]byte(told.Data["config.json"])))(t).Unprefixed
			if !ptr.Equal(got, of.told) || !ptr.Equal(b.Status.UnprefixedServer, of.status) {
				t.Errorf("step %d: the configuration says %v, the status %v", step, ptr.Deref(got, "none"), ptr.Deref(b.Status.UnprefixedServer, "none"))
			}
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	bridgeac "github.com/hostedbridge/hostedbridge/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestABridgeThatExistsKeepsItsNamesOverAnUpgrade reconciles one bridge that is new, and one whose
// status an operator wrote that knew no length of names.
func TestABridgeThatExistsKeepsItsNamesOverAnUpgrade(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		former bool
		spec   *int32
		want   int    // in the bridge's configuration
		unsaid *int32 // in its status
	}{
		"a new bridge":                           {false, nil, 44, new(int32(44))},
		"a new bridge whose spec says otherwise": {false, new(int32(64)), 64, new(int32(44))},
		"a bridge that exists":                   {true, nil, 0, nil},
		"a bridge that exists and wants less":    {true, new(int32(50)), 50, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.ToolNameLength = tt.spec })
			testenv.ExpectApplied(t, f.Client, b)
			if tt.former {
				ac := bridgeac.HostedBridge(b.Name, b.Namespace).WithStatus(bridgeac.HostedBridgeStatus().WithUserID(b.Spec.UserID))
				must.Succeed(t, f.Status().Apply(t.Context(), ac, client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership))
			}
			for range 3 { // A length that is written must not be taken for another one later.
				testenv.ExpectReconciled(t, f.reconciler, b)
				testenv.ExpectExists(t, f.Client, b)
				told := f.configMap("alice")
				testenv.ExpectExists(t, f.Client, told)
				if got := must.Value(mcpserver.Parse([]byte(told.Data["config.json"])))(t).ToolNameLength; got != tt.want {
					t.Errorf("the configuration says %d, want %d", got, tt.want)
				}
				if got := b.Status.DefaultToolNameLength; !ptr.Equal(got, tt.unsaid) {
					t.Errorf("the status says %v, want %v", ptr.Deref(got, 0), ptr.Deref(tt.unsaid, 0))
				}
			}
		})
	}
}

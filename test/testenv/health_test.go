// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/health"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestNoToolTakesAnObjectForReadyThatNobodyHasLookedAt creates an object of each kind in a
// namespace of which no process knows.
func TestNoToolTakesAnObjectForReadyThatNobodyHasLookedAt(t *testing.T) {
	t.Parallel()
	c := testenv.Client(t)
	named := metav1.ObjectMeta{Namespace: testenv.Namespace(t, c), Name: "new"}
	group := v1alpha1.IssuerGroup{Issuer: "https://idp.example.com", Value: "payments"}
	for o, want := range map[client.Object]string{
		valid(named.Namespace, named.Name): health.InProgress,
		&v1alpha1.BridgeProfile{ObjectMeta: named, Spec: v1alpha1.BridgeProfileSpec{
			Who: v1alpha1.ProfileSubjects{Namespaces: []string{named.Namespace}, Everyone: true},
		}}: health.InProgress,
		&v1alpha1.CatalogRecipe{ObjectMeta: named}: health.InProgress,
		&v1alpha1.SharedServer{ObjectMeta: named, Spec: v1alpha1.SharedServerSpec{
			Server: v1alpha1.SharedEndpoint{Transport: v1alpha1.Transport{
				URL: "https://pay.example.com/mcp", Headers: []v1alpha1.Header{{Name: "Authorization", Value: "Bearer ${PAY_TOKEN}"}},
			}},
			Secrets: []v1alpha1.SecretName{"PAY_TOKEN"}, Namespaces: []string{"people"},
			Members: []v1alpha1.IssuerGroup{group}, Owners: []v1alpha1.IssuerGroup{group},
		}}: health.InProgress,
		&v1alpha1.ProgramBundle{ObjectMeta: named, Spec: v1alpha1.ProgramBundleSpec{
			Install: v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "server", Version: "1.2.3"}, Architecture: "amd64",
		}}: health.InProgress,
		&v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: named.Namespace, Name: "p-new"}, Spec: v1alpha1.BridgePersonSpec{
			Issuer: "https://idp.example.com", Subject: "alice",
		}}: health.Current,
		&v1alpha1.CatalogPublisher{ObjectMeta: named}: health.Current,
	} {
		must.Succeed(t, c.Create(t.Context(), o))
		testenv.ExpectExists(t, c, o)
		t.Log(must.Value(c.GroupVersionKindFor(o))(t).Kind)
		health.Expect(t, o, want)
	}
}

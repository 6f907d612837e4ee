// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/tenant/bridgestore"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestAProfileGivesASharedServerToMembersWhileTheyAre(t *testing.T) {
	f := newFixture(t)
	const issuer = "https://idp.example.com"
	shared := &v1alpha1.SharedServer{ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: "payments"}, Spec: v1alpha1.SharedServerSpec{
		Server: v1alpha1.SharedEndpoint{Transport: v1alpha1.Transport{
			URL: "https://pay.example.com/mcp", Headers: []v1alpha1.Header{{Name: "Authorization", Value: "Bearer ${PAY_TOKEN}"}},
		}},
		Secrets: []v1alpha1.SecretName{"PAY_TOKEN"}, Namespaces: []string{f.namespace},
		Members: []v1alpha1.IssuerGroup{{Issuer: issuer, Value: "payments"}}, Owners: []v1alpha1.IssuerGroup{{Issuer: issuer, Value: "leads"}},
	}}
	p := f.profile("engineering", "docs", "https://docs.example.com/mcp")
	p.Spec.Who = v1alpha1.ProfileSubjects{Namespaces: []string{f.namespace}, Everyone: true}
	p.Spec.Servers = append(p.Spec.Servers, v1alpha1.ProfileServer{
		Server: v1alpha1.Server{Name: "pay"}, Use: v1alpha1.ServerRequired, Shared: &v1alpha1.SharedReference{Name: "payments"},
	})
	subject := func(name string) func(*v1alpha1.HostedBridgeSpec) {
		return func(s *v1alpha1.HostedBridgeSpec) {
			s.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: issuer, Subject: name}}}
		}
	}
	alice, bob := f.bridge("alice", subject("alice")), f.bridge("bob", subject("bob"), func(s *v1alpha1.HostedBridgeSpec) { s.Groups = []string{"payments"} })
	testenv.ExpectApplied(t, f.Client, shared, p, alice, bob)

	// The ingress records the groups, also those that only a SharedServer names.
	persons := &bridgestore.Persons{Client: f.Client, Namespace: f.Settings.Namespace}
	hears := func(name string, groups ...string) {
		t.Helper()
		if err := persons.Record(t.Context(), bridgestore.NamedGroups{Issuer: issuer, Subject: name, Groups: groups, At: f.clock.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	hears("alice", "payments", "leads", "private")
	hears("bob", "private")
	f.expectStanding(t, p, "0/2 True:Accepted True:RollingOut False:RollingOut")
	f.expectConfigured(t, alice, `"shared":"payments"`, true)
	f.expectConfigured(t, bob, "pay.example.com", false)
	if given := bob.Status.Effective.Servers[1]; given.Reason != v1alpha1.ReasonNotMember || given.Profile != "engineering" || given.Use != v1alpha1.ServerRequired {
		t.Errorf("%+v", given)
	}
	// The user's own secrets do not have it among those that are missing.
	testenv.ExpectConditions(t, f.Client, alice, map[string]string{v1alpha1.ConditionAccepted: "True Accepted"})
	version := alice.ResourceVersion
	f.expectConfigured(t, alice, "pay.example.com", true)
	if alice.ResourceVersion != version {
		t.Error("it writes although nothing changed")
	}

	f.clock.SetTime(f.clock.Now().Add(2 * time.Second))
	hears("alice", "private")
	f.expectConfigured(t, alice, "pay.example.com", false)
	f.expectConfigured(t, alice, "docs.example.com", true)
	f.clock.SetTime(f.clock.Now().Add(2 * time.Second))
	hears("alice", "payments")
	f.expectConfigured(t, alice, "pay.example.com", true)

	// Without the SharedServer the profile says so, and takes nothing else down.
	must.Succeed(t, f.Delete(t.Context(), shared))
	f.follow(t, p)
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionAccepted)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonUnknownShared || !strings.Contains(c.Message, "spec.servers[1].shared: there is no SharedServer payments") {
		t.Errorf("%+v", c)
	}
	f.expectConfigured(t, alice, "pay.example.com", false)
	f.expectConfigured(t, alice, "docs.example.com", true)
	testenv.ExpectConditions(t, f.Client, alice, map[string]string{v1alpha1.ConditionProfilesApplied: "True UnknownShared"})
}

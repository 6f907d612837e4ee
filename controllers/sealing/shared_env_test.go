// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package sealing_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// sharedServer makes a SharedServer for the group payments.
func (f *fixture) sharedServer(t *testing.T) *v1alpha1.SharedServer {
	t.Helper()
	s := &v1alpha1.SharedServer{ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: "payments"}, Spec: v1alpha1.SharedServerSpec{
		Server:  v1alpha1.SharedEndpoint{Transport: v1alpha1.Transport{URL: "https://pay.example.com/mcp", Headers: []v1alpha1.Header{{Name: "A", Value: "${PAY_TOKEN}"}}}},
		Secrets: []v1alpha1.SecretName{"PAY_TOKEN"}, Namespaces: []string{f.namespace},
		Members: []v1alpha1.IssuerGroup{{Issuer: "https://idp.example.com", Value: "payments"}},
		Owners:  []v1alpha1.IssuerGroup{{Issuer: "https://idp.example.com", Value: "leads"}},
	}}
	testenv.ExpectApplied(t, f.Client, s)
	return s
}

// member makes a bridge of one person in the group, to which a profile gives payments.
func (f *fixture) member(t *testing.T, name string) (*v1alpha1.HostedBridge, *v1alpha1.BridgePerson) {
	t.Helper()
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, Spec: v1alpha1.HostedBridgeSpec{
		UserID: v1alpha1.UserID(f.namespace + "-" + name),
		OAuth:  &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: "https://idp.example.com", Subject: name}}},
	}}
	p := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: "p-" + name},
		Spec: v1alpha1.BridgePersonSpec{Issuer: "https://idp.example.com", Subject: name}}
	testenv.ExpectApplied(t, f.Client, b, p)
	testenv.ExpectStatusChanged(t, f.Client, b, func() {
		b.Status.Effective = &v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{{Name: "pay", Profile: "p", Use: "Required", Shared: "payments", Source: "{}"}}}
	})
	f.joins(t, p, "payments")
	return b, p
}

// joins writes the groups that a provider names of the person.
func (f *fixture) joins(t *testing.T, p *v1alpha1.BridgePerson, groups ...string) {
	t.Helper()
	testenv.ExpectStatusChanged(t, f.Client, p, func() {
		p.Status.Login = &v1alpha1.PersonLogin{Time: metav1.NewTime(f.clock.Now()), Groups: groups}
	})
}

// setShared does what an owner's PUT does, and writes the revision as the controller of
// SharedServers does.
func (f *fixture) setShared(t *testing.T, s *v1alpha1.SharedServer, value string) {
	t.Helper()
	listing, err := f.store.Update(t.Context(), secretstore.Shared(s.Namespace, s.Name, s.UID), func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error) {
		return []secretstore.Change{{Name: "PAY_TOKEN", Value: []byte(value), Origin: "https://pay.example.com"}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	testenv.ExpectStatusChanged(t, f.Client, s, func() { s.Status.Revision = listing.Revision })
}

func TestTheRevisionFollowsWhatTheBridgeMayHaveOfSharedServers(t *testing.T) {
	f := newFixture(t)
	s := f.sharedServer(t)
	b, p := f.member(t, "alice")
	f.setShared(t, s, "one")
	first := f.reconcile(t, b).Revision
	if first == "" || sharing.Own(first) != "" {
		t.Errorf("revision %q", first)
	}
	f.set(t, b, "TOKEN", "own")
	own := f.reconcile(t, b).Revision
	if sharing.Own(own) == "" || !strings.HasSuffix(own, first) {
		t.Errorf("revision %q with a secret of its own, and %q before", own, first)
	}
	version := b.ResourceVersion
	if f.reconcile(t, b); b.ResourceVersion != version {
		t.Error("it writes although nothing changed")
	}
	f.setShared(t, s, "two")
	if got := f.reconcile(t, b).Revision; got == own || sharing.Own(got) != sharing.Own(own) {
		t.Errorf("revision %q after a new value, %q before", got, own)
	}
	// The operator is away: status.effective still has the server.
	f.joins(t, p, "others")
	if got := f.reconcile(t, b).Revision; got != sharing.Own(own) {
		t.Errorf("revision %q after the person left the group", got)
	}
	if missing := b.Status.Secrets.Missing; len(missing) != 0 {
		t.Errorf("the shared secret is missing among the user's own: %v", missing)
	}
}

// TestTwoHundredMembersAreTold counts the writes of a new value for 200 members: one of the
// Secret, one of the SharedServer's status, and for each bridge one of its status, by which its
// pod is told.
func TestTwoHundredMembersAreTold(t *testing.T) {
	const members = 200
	f := newFixture(t)
	s := f.sharedServer(t)
	var bridges []*v1alpha1.HostedBridge
	var persons []*v1alpha1.BridgePerson
	for i := range members {
		b, p := f.member(t, fmt.Sprintf("m%d", i))
		bridges, persons = append(bridges, b), append(persons, p)
	}
	outsider := f.bridge(t, "outsider")
	f.setShared(t, s, "one")
	r := f.start(t)
	revision := func(b *v1alpha1.HostedBridge) string {
		testenv.ExpectExists(t, f.Client, b)
		if b.Status.Secrets == nil {
			return ""
		}
		return b.Status.Secrets.Revision
	}
	all := func(what string, of []*v1alpha1.HostedBridge, ok func(string) bool) {
		t.Helper()
		wait.Until(t, what, func() bool {
			for _, b := range of {
				if !ok(revision(b)) {
					return false
				}
			}
			return true
		})
	}
	all("reports", bridges, func(rev string) bool { return rev != "" })
	before, secretBefore := revision(bridges[0]), f.envelopesVersion(t, s)
	wait.Until(t, "a report of the outsider", func() bool { revision(outsider); return outsider.Status.Secrets != nil })
	version, writes := outsider.ResourceVersion, r.writes.Load()

	f.setShared(t, s, "two")
	all("the new revision", bridges, func(rev string) bool { return rev != before && rev != "" })
	if got := r.writes.Load() - writes; got != 1+1+members {
		t.Errorf("%d writes, want one of the Secret, one of the SharedServer and one for each of %d bridges", got, members)
	}
	if f.envelopesVersion(t, s) == secretBefore {
		t.Error("the value was not written")
	}
	// One person leaves the group.
	f.joins(t, persons[7], "others")
	all("the revision of the person who left", bridges[7:8], func(rev string) bool { return rev == "" })
	// The person's record, and the status of their bridge.
	if got := r.writes.Load() - writes; got != 1+1+members+2 {
		t.Errorf("%d writes after one person left", got-members-2)
	}
	if revision(outsider); outsider.ResourceVersion != version {
		t.Error("a bridge without SharedServers was written")
	}
}

func (f *fixture) envelopesVersion(t *testing.T, s *v1alpha1.SharedServer) string {
	t.Helper()
	secret := must.Value(testenv.Secrets{Client: f.Client}.Secret(t.Context(), s.Namespace, v1alpha1.SharedEnvelopesSecretName(s.Name)))(t)
	return secret.ResourceVersion
}

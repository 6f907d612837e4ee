// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
)

var heard = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// person returns a person of the issuer https://a who logged in at heard.
func person(subject string, user v1alpha1.UserID, groups ...string) v1alpha1.BridgePerson {
	return v1alpha1.BridgePerson{
		Spec:   v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: subject},
		Status: v1alpha1.BridgePersonStatus{Login: &v1alpha1.PersonLogin{Time: metav1.NewTime(heard), User: user, Groups: groups}},
	}
}

func TestTheGroupsOfABridgeAreThoseOfAllItsPeople(t *testing.T) {
	another := person("other", "", "eng", "ops")
	another.Spec.Issuer = "https://b"
	silent := person("silent", "")
	silent.Status.Login = nil
	people := access.NewPeople([]v1alpha1.BridgePerson{
		person("alice", "", "eng", "ops"), person("bob", "", "ops"), person("carol", ""), person("rita", "ruled", "eng"), another, silent,
	})
	of := func(subjects ...string) func(*v1alpha1.HostedBridge) {
		return func(b *v1alpha1.HostedBridge) {
			b.Spec.OAuth = &v1alpha1.OAuthAccess{}
			for _, s := range subjects {
				b.Spec.OAuth.Subjects = append(b.Spec.OAuth.Subjects, v1alpha1.OAuthSubject{Issuer: "https://a", Subject: s})
			}
		}
	}
	eng, ops, manual := Group{Issuer: "https://a", Value: "eng"}, Group{Issuer: "https://a", Value: "ops"}, Group{Namespace: "people", Value: "engineering"}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.HostedBridge)
		after  time.Duration
		want   []Group
		until  bool
	}{
		"nobody":                          {func(*v1alpha1.HostedBridge) {}, 0, []Group{manual}, false},
		"one person":                      {of("alice"), 0, []Group{manual, eng, ops}, true},
		"two people":                      {of("alice", "bob"), 0, []Group{manual, ops}, true},
		"one of two without groups":       {of("alice", "carol"), 0, []Group{manual}, false},
		"one of two who never logged in":  {of("alice", "stranger"), 0, []Group{manual}, false},
		"one of whom nothing was said":    {of("alice", "silent"), 0, []Group{manual}, false},
		"the same subject elsewhere":      {of("other"), 0, []Group{manual}, false},
		"a rule's user":                   {func(b *v1alpha1.HostedBridge) { b.Spec.UserID = "ruled" }, 0, []Group{manual, eng}, true},
		"a rule's user and a subject":     {func(b *v1alpha1.HostedBridge) { of("bob")(b); b.Spec.UserID = "ruled" }, 0, []Group{manual}, false},
		"just before the login is forgot": {of("alice"), MaxAge - time.Second, []Group{manual, eng, ops}, true},
		"after it":                        {of("alice"), MaxAge, []Group{manual}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := bridge(nil)
			tt.change(b)
			got, until := Groups(b, people, heard.Add(tt.after))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want := heard.Add(MaxAge); until.IsZero() == tt.until || tt.until && !until.Equal(want) {
				t.Errorf("until %s", until)
			}
		})
	}
}

func TestAGroupIsOfItsAuthority(t *testing.T) {
	b := bridge(nil)
	groups := []Group{{Issuer: "https://a", Value: "eng"}}
	for name, tt := range map[string]struct {
		group v1alpha1.ProfileGroup
		want  bool
	}{
		"of the issuer":       {v1alpha1.ProfileGroup{Issuer: "https://a", Value: "eng"}, true},
		"of another issuer":   {v1alpha1.ProfileGroup{Issuer: "https://b", Value: "eng"}, false},
		"of a namespace":      {v1alpha1.ProfileGroup{FromNamespace: "people", Value: "eng"}, false},
		"of nobody, as a bug": {v1alpha1.ProfileGroup{Value: "eng"}, false},
	} {
		p := Profile{Spec: v1alpha1.BridgeProfileSpec{Who: v1alpha1.ProfileSubjects{Namespaces: []string{"people"}, Groups: []v1alpha1.ProfileGroup{tt.group}}}}
		if got := p.Selects(b, groups); got != tt.want {
			t.Errorf("%s: selects = %v", name, got)
		}
	}
}

func TestGroupsThatProfilesNameInAnyRevision(t *testing.T) {
	spec := func(groups ...v1alpha1.ProfileGroup) v1alpha1.BridgeProfileSpec {
		return v1alpha1.BridgeProfileSpec{Who: v1alpha1.ProfileSubjects{Groups: groups}}
	}
	a := func(value string) v1alpha1.ProfileGroup {
		return v1alpha1.ProfileGroup{Issuer: "https://a", Value: value}
	}
	p := v1alpha1.BridgeProfile{Spec: spec(a("old"), a("both"), v1alpha1.ProfileGroup{Issuer: "https://b", Value: "theirs"})}
	p.Generation = 1
	revisions, err := Accept(&p)
	if err != nil {
		t.Fatal(err)
	}
	p.Status.Revisions, p.Spec = revisions, spec(a("new"), a("both"), v1alpha1.ProfileGroup{FromNamespace: "people", Value: "manual"})
	if diff := cmp.Diff([]string{"both", "new", "old"}, Named([]v1alpha1.BridgeProfile{p}, "https://a")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

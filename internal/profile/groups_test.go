// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
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
		"a login by a clock days ahead":   {of("alice"), -MaxAge + time.Second, []Group{manual, eng, ops}, true},
		"a login by a clock weeks ahead":  {of("alice"), -MaxAge, []Group{manual}, false},
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

// directory returns what a directory at https://a says of a person of whom a login said
// something else.
func directory(change func(*v1alpha1.BridgePerson), groups ...string) []v1alpha1.BridgePerson {
	p := v1alpha1.BridgePerson{
		Spec:   v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: "alice", Directory: &v1alpha1.PersonDirectory{Incarnation: 2, UserName: "a", Active: true}},
		Status: v1alpha1.BridgePersonStatus{Directory: &v1alpha1.PersonDirectoryGroups{Incarnation: 2, Groups: groups}},
	}
	change(&p)
	return []v1alpha1.BridgePerson{person("alice", "", "eng"), p}
}

func TestADirectoryDecidesAboutThePeopleThatItKnows(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*v1alpha1.BridgePerson)
		groups []string
		after  time.Duration
		want   []string
		until  bool
	}{
		"a member":                        {func(*v1alpha1.BridgePerson) {}, []string{"ops"}, 0, []string{"ops"}, false},
		"a member long after":             {func(*v1alpha1.BridgePerson) {}, []string{"ops"}, 100 * MaxAge, []string{"ops"}, false},
		"a member of nothing":             {func(*v1alpha1.BridgePerson) {}, nil, 0, nil, false},
		"one whose groups are not known":  {func(p *v1alpha1.BridgePerson) { p.Status.Directory = nil }, nil, 0, nil, false},
		"groups of an earlier one":        {func(p *v1alpha1.BridgePerson) { p.Status.Directory.Incarnation = 1 }, []string{"ops"}, 0, nil, false},
		"one who is deleted":              {func(p *v1alpha1.BridgePerson) { p.Spec.Directory.Deleted = true }, []string{"ops"}, 0, nil, false},
		"a directory that is tried out":   {func(p *v1alpha1.BridgePerson) { p.Spec.Directory.DryRun = true }, []string{"ops"}, 0, []string{"eng"}, true},
		"somebody else of the directory":  {func(p *v1alpha1.BridgePerson) { p.Spec.Subject = "bob" }, []string{"ops"}, 0, []string{"eng"}, true},
		"a directory of another issuer":   {func(p *v1alpha1.BridgePerson) { p.Spec.Issuer = "https://b" }, []string{"ops"}, 0, []string{"eng"}, true},
		"a directory that knows and acts": {func(p *v1alpha1.BridgePerson) { p.Spec.Access = v1alpha1.AccessOffboarded }, []string{"ops"}, 0, []string{"ops"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{OAuth: &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: "https://a", Subject: "alice"}}}}}
			got, until := Groups(b, access.NewPeople(directory(tt.change, tt.groups...)), heard.Add(tt.after))
			var values []string
			for _, g := range got {
				values = append(values, g.Value)
			}
			if diff := cmp.Diff(tt.want, values); diff != "" || until.IsZero() == tt.until {
				t.Errorf("until %s (-want +got):\n%s", until, diff)
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
	revisions := must.Value(Accept(&p))(t)
	p.Status.Revisions, p.Spec = revisions, spec(a("new"), a("both"), v1alpha1.ProfileGroup{FromNamespace: "people", Value: "manual"})
	if diff := cmp.Diff([]string{"new", "both", "old"}, Named([]v1alpha1.BridgeProfile{p}, nil, "https://a")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGroupsThatDecideAreKeptHoweverManyAPersonHas(t *testing.T) {
	naming := func(name string, priority int32, groups ...string) v1alpha1.BridgeProfile {
		p := v1alpha1.BridgeProfile{}
		p.Name, p.Spec.Priority = name, priority
		for _, g := range groups {
			p.Spec.Who.Groups = append(p.Spec.Who.Groups, v1alpha1.ProfileGroup{Issuer: "https://a", Value: g})
		}
		return p
	}
	numbered := func(prefix string, n int) (groups []string) {
		for i := range n {
			groups = append(groups, fmt.Sprintf("%s%05d", prefix, i))
		}
		return groups
	}
	revised := naming("zz", 9, "z-now")
	revised.Status.Revisions = []v1alpha1.ProfileRevision{{Spec: `{"who":{"groups":[{"issuer":"https://a","value":"z-former"}]}}`}}
	shared := []v1alpha1.SharedServer{{}}
	shared[0].Spec.Members = []v1alpha1.IssuerGroup{{Issuer: "https://a", Value: "member"}, {Issuer: "https://b", Value: "foreign"}}
	shared[0].Spec.Owners = []v1alpha1.IssuerGroup{{Issuer: "https://a", Value: "owner"}}

	few := Named([]v1alpha1.BridgeProfile{naming("a", 0, "eng", "Caf\u00e9", "eng"), revised}, shared, "https://a")
	if diff := cmp.Diff([]string{"z-now", "eng", "Caf\u00e9", "z-former", "member"}, few); diff != "" {
		t.Errorf("named (-want +got):\n%s", diff)
	}
	of := oauth.NewGroupSet(append(numbered("private", 50_000), "eng", "Cafe\u0301", "z-former", "member", "owner", "Z-now"))
	kept, leftOut := Kept(few, of)
	if diff := cmp.Diff([]string{"Caf\u00e9", "eng", "member", "z-former"}, kept); diff != "" || leftOut != 0 {
		t.Errorf("%d left out; kept (-want +got):\n%s", leftOut, diff)
	}
	many := numbered("a", MaxGroups+5)
	kept, leftOut = Kept(Named([]v1alpha1.BridgeProfile{naming("many", 0, many...), naming("first", 1, "zz")}, shared, "https://a"), oauth.NewGroupSet(append(many, "zz", "member")))
	if len(kept) != MaxGroups || leftOut != 7 || kept[MaxGroups-1] != "zz" || kept[MaxGroups-2] != many[MaxGroups-2] {
		t.Errorf("%d are kept, with %q at the end, and %d left out", len(kept), kept[len(kept)-2:], leftOut)
	}
}

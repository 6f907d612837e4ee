// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// record returns a BridgePerson of a person at https://a.
func record(name, subject string, a v1alpha1.Access) *v1alpha1.BridgePerson {
	return &v1alpha1.BridgePerson{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: subject, Access: a},
	}
}

// ofUser returns a BridgePerson of a user.
func ofUser(user v1alpha1.UserID, a v1alpha1.Access) *v1alpha1.BridgePerson {
	return &v1alpha1.BridgePerson{
		ObjectMeta: metav1.ObjectMeta{Name: UserName(user)}, Spec: v1alpha1.BridgePersonSpec{User: user, Access: a},
	}
}

// ruled says that a rule makes the user of the person.
func ruled(p *v1alpha1.BridgePerson, user v1alpha1.UserID) *v1alpha1.BridgePerson {
	p.Status.Login = &v1alpha1.PersonLogin{Time: metav1.NewTime(began), User: user}
	return p
}

// bridge returns the bridge of alice with subjects at https://a.
func bridge(subjects ...string) *v1alpha1.HostedBridge {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "people", Name: "alice"}}
	for _, s := range subjects {
		if b.Spec.OAuth == nil {
			b.Spec.OAuth = &v1alpha1.OAuthAccess{}
		}
		b.Spec.OAuth.Subjects = append(b.Spec.OAuth.Subjects, v1alpha1.OAuthSubject{Issuer: "https://a", Subject: s})
	}
	return b
}

func TestTheAccessToABridgeIsThatOfItsUserOrOfAllItsPeople(t *testing.T) {
	const allowed, suspended, offboarded = v1alpha1.AccessAllowed, v1alpha1.AccessSuspended, v1alpha1.AccessOffboarded
	elsewhere := record("p-1", "alice", offboarded)
	elsewhere.Spec.Issuer = "https://b"
	for name, tt := range map[string]struct {
		records  []*v1alpha1.BridgePerson
		subjects []string
		want     v1alpha1.Access
	}{
		"nothing is known":                       {nil, []string{"alice"}, allowed},
		"nobody":                                 {nil, nil, allowed},
		"the user is suspended":                  {[]*v1alpha1.BridgePerson{ofUser("alice", suspended)}, nil, suspended},
		"another user is suspended":              {[]*v1alpha1.BridgePerson{ofUser("bob", suspended)}, nil, allowed},
		"the only person left":                   {[]*v1alpha1.BridgePerson{record("p-1", "alice", offboarded)}, []string{"alice"}, offboarded},
		"somebody else of another provider left": {[]*v1alpha1.BridgePerson{elsewhere}, []string{"alice"}, allowed},
		"one of two people left":                 {[]*v1alpha1.BridgePerson{record("p-1", "alice", offboarded)}, []string{"alice", "bob"}, allowed},
		"both left": {[]*v1alpha1.BridgePerson{record("p-1", "alice", offboarded), record("p-2", "bob", suspended)},
			[]string{"alice", "bob"}, suspended},
		"the user and one of two people": {[]*v1alpha1.BridgePerson{record("p-1", "alice", offboarded), ofUser("alice", suspended)},
			[]string{"alice", "bob"}, suspended},
		"the strictest of two records of a person": {[]*v1alpha1.BridgePerson{record("p-1", "alice", allowed), record("d-1", "alice", offboarded)},
			[]string{"alice"}, offboarded},
		"a person of whom a rule makes the user": {[]*v1alpha1.BridgePerson{ruled(record("p-1", "rita", offboarded), "alice")}, nil, offboarded},
		"a rule's person and a subject": {[]*v1alpha1.BridgePerson{ruled(record("p-1", "rita", offboarded), "alice")},
			[]string{"bob"}, allowed},
		"an access that a later version has": {[]*v1alpha1.BridgePerson{ofUser("alice", "Archived")}, nil, suspended},
	} {
		t.Run(name, func(t *testing.T) {
			people := NewPeople(nil)
			for _, r := range tt.records {
				people.Set(r)
			}
			if got := people.Bridge(bridge(tt.subjects...)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			for _, r := range tt.records {
				people.Delete(r)
			}
			if got := people.Bridge(bridge(tt.subjects...)); got != allowed {
				t.Errorf("%s after all records were deleted", got)
			}
		})
	}
}

func TestWhatIsKnownOfAPersonIsOfAllTheirRecords(t *testing.T) {
	login, directory := ruled(record("p-1", "alice", v1alpha1.AccessAllowed), "alice"), record("d-1", "alice", v1alpha1.AccessOffboarded)
	earlier, later := metav1.NewTime(began), metav1.NewTime(began.Add(time.Hour))
	login.Status.LoginsEndedTime, directory.Status.LoginsEndedTime = &later, &earlier
	people := NewPeople([]v1alpha1.BridgePerson{*login, *directory})
	p := people.Person(oauth.KeyOf("https://a", "alice"))
	if p.Login() == nil || p.Issuer() != "https://a" || !p.LoginsEnded().Equal(later.Time) {
		t.Errorf("%v, issuer %q, ended %s", p.Login(), p.Issuer(), p.LoginsEnded())
	}
	stranger := people.Person(oauth.KeyOf("https://a", "bob"))
	if stranger.Access() != v1alpha1.AccessAllowed || stranger.Login() != nil || stranger.Issuer() != "" || !stranger.LoginsEnded().IsZero() {
		t.Errorf("of a stranger is known: %v", stranger)
	}
}

func TestNamesOfPersons(t *testing.T) {
	seen := map[string]bool{}
	for i := range 1000 {
		name := PersonName(oauth.KeyOf("https://a", fmt.Sprint(i)))
		if !regexp.MustCompile(`^p-[a-z2-7]{26}$`).MatchString(name) || seen[name] {
			t.Fatalf("%q is no name, or that of two", name)
		}
		seen[name] = true
	}
}

func TestMemberIDsAreReadInOneSpelling(t *testing.T) {
	name := DirectoryName(oauth.KeyOf("https://a", "alice"))
	for _, incarnation := range []int64{1, 12, 1 << 62} {
		got, i, ok := ParseMemberID(MemberID(name, incarnation))
		if got != name || i != incarnation || !ok {
			t.Errorf("%s, %d, %v", got, i, ok)
		}
	}
	for _, bad := range []string{
		"", name, name + "-", name + "-0", name + "--1", name + "-01", name + "-+1", name + "-1 ", name + "1", name + "/1", name + "-99999999999999999999",
		"p" + name[1:] + "-1", name[:27] + "-1", name[:27] + "A-1", name + "a-1", "../" + name + "-1", name[:27] + "1-1",
	} {
		if _, _, ok := ParseMemberID(bad); ok {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestADirectorysPersonHasTheBridgesOfTheirOtherRecords(t *testing.T) {
	login, directory := ruled(record("p-1", "alice", v1alpha1.AccessAllowed), "alice"), record("d-1", "alice", v1alpha1.AccessOffboarded)
	stranger := record("d-2", "bob", v1alpha1.AccessOffboarded)
	people := NewPeople([]v1alpha1.BridgePerson{*login, *directory, *stranger})
	for _, p := range []*v1alpha1.BridgePerson{login, directory} {
		if !people.Owns(p, bridge()) {
			t.Errorf("%s has not the bridge that the rule gives", p.Name)
		}
	}
	if people.Owns(stranger, bridge()) || !people.Owns(stranger, bridge("bob")) {
		t.Error("bob has the bridge of alice, or not his own")
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const idp = "https://login.example.com"

// naming lets subjects use a bridge.
func naming(subjects ...string) func(*v1alpha1.HostedBridge) {
	return func(b *v1alpha1.HostedBridge) {
		b.Spec.OAuth = &v1alpha1.OAuthAccess{}
		for _, s := range subjects {
			b.Spec.OAuth.Subjects = append(b.Spec.OAuth.Subjects, v1alpha1.OAuthSubject{Issuer: idp, Subject: s})
		}
	}
}

func usersOf(bridges iter.Seq[Backend]) []v1alpha1.UserID {
	var users []v1alpha1.UserID
	for b := range bridges {
		users = append(users, b.User)
	}
	return users
}

func TestOnlyTrustedNamespacesDecideWhereAPersonIsLedUnasked(t *testing.T) {
	people := bridge("people", "u-anna", 0, naming("anna"))
	shared := bridge("people", "shared", 0, naming("anna", "ben"))
	carol := bridge("tenants", "carol", 0)
	mallorys := []*v1alpha1.HostedBridge{
		bridge("mallory", "a-first", 0, naming("anna", "ben", "carol", "newcomer")), bridge("mallory", "z-last", 9, naming("anna", "ben", "carol", "newcomer")),
	}
	for _, test := range []struct {
		name    string
		who     Person
		bridges []*v1alpha1.HostedBridge
		want    []v1alpha1.UserID
	}{
		{"a person of a trusted namespace", Person{Subject: oauth.KeyOf(idp, "anna")}, []*v1alpha1.HostedBridge{people}, []v1alpha1.UserID{"u-anna"}},
		{"of which there may be several", Person{Subject: oauth.KeyOf(idp, "anna")}, []*v1alpha1.HostedBridge{people, shared}, []v1alpha1.UserID{"shared", "u-anna"}},
		{"before the user of the rule", Person{Subject: oauth.KeyOf(idp, "ben"), Ruled: "carol"}, []*v1alpha1.HostedBridge{shared, carol}, []v1alpha1.UserID{"shared"}},
		{"who is the person's elsewhere", Person{Subject: oauth.KeyOf(idp, "carol"), Ruled: "carol"}, []*v1alpha1.HostedBridge{carol, shared}, []v1alpha1.UserID{"carol"}},
		{"a newcomer", Person{Subject: oauth.KeyOf(idp, "newcomer")}, []*v1alpha1.HostedBridge{people}, nil},
		{"and one whose user is not there", Person{Subject: oauth.KeyOf(idp, "newcomer"), Ruled: "newcomer"}, []*v1alpha1.HostedBridge{people}, nil},
	} {
		for _, bridges := range [][]*v1alpha1.HostedBridge{
			test.bridges, slices.Concat(test.bridges, mallorys), slices.Concat(mallorys, test.bridges),
		} {
			got := usersOf(slices.Values(Build(bridges, nil).Unasked(test.who, []string{"people"})))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s, with %d bridges (-want +got):\n%s", test.name, len(bridges), diff)
			}
		}
	}
}

func TestWhereTheUserIsNamedAPersonMayUseAllOfTheirBridges(t *testing.T) {
	table := Build([]*v1alpha1.HostedBridge{
		bridge("people", "u-anna", 0, naming("anna")), bridge("mallory", "team", 0, naming("anna")), bridge("tenants", "carol", 0),
	}, nil)
	anna := Person{Subject: oauth.KeyOf(idp, "anna"), Ruled: "carol"}
	if diff := cmp.Diff([]v1alpha1.UserID{"carol", "team", "u-anna"}, usersOf(table.BridgesOf(anna))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for user, want := range map[v1alpha1.UserID]bool{"carol": true, "team": true, "u-anna": true, "nobody": false, "": false} {
		if table.MayUse(anna, user) != want {
			t.Errorf("may use %q: %t", user, !want)
		}
	}
	if table.MayUse(Person{Subject: oauth.KeyOf(idp, "ben"), Ruled: "ben"}, "carol") || usersOf(table.BridgesOf(Person{Ruled: "ben"})) != nil {
		t.Error("another person may use them too")
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// personAt returns a BridgePerson at idp.
func personAt(name, subject string, a v1alpha1.Access) *v1alpha1.BridgePerson {
	return &v1alpha1.BridgePerson{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.BridgePersonSpec{Issuer: idp, Subject: subject, Access: a},
	}
}

func withKey(id string) func(*v1alpha1.HostedBridge) {
	return func(b *v1alpha1.HostedBridge) {
		b.Spec.APIKeys = []v1alpha1.APIKey{{ID: id, Hash: apikey.HashOf(id).String()}}
	}
}

func TestPeopleWhoseAccessIsTakenAwayUseNoBridge(t *testing.T) {
	user := func(name v1alpha1.UserID, a v1alpha1.Access) *v1alpha1.BridgePerson {
		return &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Name: "user." + string(name)}, Spec: v1alpha1.BridgePersonSpec{User: name, Access: a}}
	}
	ruled := personAt("p-rita", "rita", v1alpha1.AccessOffboarded)
	ruled.Status.Login = &v1alpha1.PersonLogin{User: "ruled"}
	type state struct {
		own, shared, ruled bool // Whether the bridge is open, by its key.
		alice, rita        []v1alpha1.UserID
	}
	whole := state{true, true, true, []v1alpha1.UserID{"own", "shared"}, []v1alpha1.UserID{"ruled"}}
	for name, tt := range map[string]struct {
		person *v1alpha1.BridgePerson
		want   state
	}{
		"a person with access": {personAt("p-alice", "alice", v1alpha1.AccessAllowed), whole},
		"a person of two bridges, one of them shared": {personAt("p-alice", "alice", v1alpha1.AccessSuspended),
			state{false, true, true, nil, []v1alpha1.UserID{"ruled"}}},
		"a user": {user("shared", v1alpha1.AccessOffboarded),
			state{true, false, true, []v1alpha1.UserID{"own"}, []v1alpha1.UserID{"ruled"}}},
		"a person of whom a rule makes a user": {ruled, state{true, true, false, []v1alpha1.UserID{"own", "shared"}, nil}},
		"somebody else":                        {personAt("p-bob", "bob", v1alpha1.AccessOffboarded), whole},
	} {
		t.Run(name, func(t *testing.T) {
			x := NewIndex()
			now := func() state {
				table := x.Snapshot()
				opens := func(user v1alpha1.UserID) bool {
					b, known := table.Lookup(user)
					if !known || b.Closed == (len(table.Keys("key-"+string(user))) > 0) || b.Closed && b.State != Suspended {
						t.Errorf("%s: known %t, %+v", user, known, b)
					}
					return !b.Closed
				}
				return state{
					opens("own"), opens("shared"), opens("ruled"),
					usersOf(table.BridgesOf(Person{Subject: oauth.KeyOf(idp, "alice")})),
					usersOf(table.BridgesOf(Person{Subject: oauth.KeyOf(idp, "rita"), Ruled: "ruled"})),
				}
			}
			check := func(when string, want state) {
				t.Helper()
				if diff := gocmp.Diff(want, now(), gocmp.AllowUnexported(state{})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", when, diff)
				}
			}
			x.SetPerson(tt.person)
			for _, b := range []*v1alpha1.HostedBridge{
				bridge("people", "own", 0, naming("alice"), withKey("key-own")), bridge("people", "shared", 0, naming("alice", "carol"), withKey("key-shared")),
				bridge("people", "ruled", 0, withKey("key-ruled")),
			} {
				x.SetBridge(b)
			}
			check("known before the bridges", tt.want)
			restored := must.Value(Restore(x.Snapshot().Content()))(t)
			if restored.Standing(oauth.KeyOf(idp, "alice")) != x.Snapshot().Standing(oauth.KeyOf(idp, "alice")) {
				t.Error("a restored table does not have the person's standing")
			}
			x.DeletePerson(tt.person)
			check("deleted", whole)
			x.SetPerson(tt.person)
			check("created again", tt.want)
		})
	}
}

func TestALoginFromBeforeLoginsEndedDoesNotCount(t *testing.T) {
	ended := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	of := personAt("p-alice", "alice", v1alpha1.AccessAllowed)
	at := metav1.NewTime(ended.Local())
	of.Status.LoginsEndedTime = &at
	user := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Name: "user.team"}, Spec: v1alpha1.BridgePersonSpec{User: "team"}}
	user.Status.LoginsEndedTime = &at
	x := NewIndex()
	x.SetPerson(of)
	x.SetPerson(user)
	x.SetBridge(bridge("people", "own", 0, naming("alice"), withKey("key-own")))
	x.SetBridge(bridge("people", "team", 0, naming("bob"), withKey("key-team")))
	table := x.Snapshot()
	for _, subject := range []string{"alice", "bob"} {
		user := v1alpha1.UserID(map[string]string{"alice": "own", "bob": "team"}[subject])
		for since, want := range map[time.Time]bool{{}: true, ended.Add(-time.Second): false, ended: false, ended.Add(time.Second): true,
			// The end is stored as a whole second: what began in it may be from before.
			ended.Add(999 * time.Millisecond): false} {
			p := Person{Subject: oauth.KeyOf(idp, subject), Since: since}
			if got := table.MayUse(p, user); got != want {
				t.Errorf("%s, who logged in at %s, may use %s: %t", subject, since, user, got)
			}
		}
	}
	if len(table.Keys("key-own")) != 1 || len(table.Keys("key-team")) != 1 {
		t.Error("the end of logins takes keys away")
	}
}

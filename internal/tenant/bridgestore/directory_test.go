// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/oauth/settings"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// tables is what knows one table of routes.
type tables struct{ table *route.Table }

func (t tables) Current() *route.Table    { return t.table }
func (t tables) Changed() <-chan struct{} { return nil }

// comingTables get their route when they are told.
type comingTables struct {
	tables

	change chan struct{}
}

func (t *comingTables) Changed() <-chan struct{} { return t.change }

const loginIssuer = "https://login.example.com"

// named returns a bridge that names a subject.
func named(namespace, name, subject string) *v1alpha1.HostedBridge {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name)}}
	b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: loginIssuer, Subject: subject}}}
	return b
}

func TestBridgesOfAPerson(t *testing.T) {
	table := route.Build([]*v1alpha1.HostedBridge{
		named("tenants", "team", "42"), named("people", "alice", "42"), named("tenants", "bob", "43"),
		named("people", string(BridgeName(oauth.KeyOf(loginIssuer, "45"))), "45"),
		named("mallory", string(BridgeName(oauth.KeyOf(loginIssuer, "46"))), "46"),
	}, []*corev1.Pod{})
	l := &Directory{Routes: tables{table}, Onboarding: &Onboarding{Namespace: "people"}, Trusted: []string{"people"}}
	bridge := func(user v1alpha1.UserID, namespace string, trusted, onboarded bool) flow.Bridge {
		return flow.Bridge{User: user, UID: types.UID("uid-" + namespace + "-" + string(user)), Namespace: namespace, Trusted: trusted, Onboarded: onboarded}
	}
	alice, team, bob := bridge("alice", "people", true, false), bridge("team", "tenants", false, false), bridge("bob", "tenants", false, false)
	for _, test := range []struct {
		name string
		who  flow.Identity
		want []flow.Bridge
	}{
		{"the bridges of the subject", flow.Identity{Issuer: loginIssuer, Subject: "42"}, []flow.Bridge{alice, team}},
		{"and the one of the rule", flow.Identity{Issuer: loginIssuer, Subject: "42", User: "bob"}, []flow.Bridge{alice, bob, team}},
		{"which may be the same", flow.Identity{Issuer: loginIssuer, Subject: "43", User: "bob"}, []flow.Bridge{bob}},
		{"and has to be there", flow.Identity{Issuer: loginIssuer, Subject: "44", User: "carol"}, nil},
		{"none of another issuer's", flow.Identity{Issuer: "https://other.example.com", Subject: "42"}, nil},
		{
			"the one that a first login made", flow.Identity{Issuer: loginIssuer, Subject: "45"},
			[]flow.Bridge{bridge(BridgeName(oauth.KeyOf(loginIssuer, "45")), "people", true, true)},
		},
		{
			"and one of such a name that none made", flow.Identity{Issuer: loginIssuer, Subject: "46"},
			[]flow.Bridge{bridge(BridgeName(oauth.KeyOf(loginIssuer, "46")), "mallory", false, false)},
		},
	} {
		if got, err := l.Bridges(context.Background(), test.who); err != nil || !cmp.Equal(test.want, got) {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, err, cmp.Diff(test.want, got))
		}
	}
	if _, err := (&Directory{Routes: tables{}}).Bridges(context.Background(), flow.Identity{}); !errors.Is(err, errUnknownRoutes) {
		t.Errorf("before the routes are known: %v", err)
	}
}

// A bridge of the person elsewhere, also one that took the name before, is not the one
// that they were offered.
func TestANewBridgeIsKnownBeforeItsClientIsTold(t *testing.T) {
	who := flow.Identity{Issuer: loginIssuer, Subject: "42"}
	name := string(BridgeName(oauth.KeyOf(loginIssuer, "42")))
	strange, made := named("mallory", "new", "42"), named("people", name, "42")
	synctest.Test(t, func(t *testing.T) {
		routes := &comingTables{change: make(chan struct{})}
		l, began := &Directory{Routes: routes, Onboarding: &Onboarding{Namespace: "people"}}, time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if got, err := l.awaitRoute(t.Context(), who); err != nil || got.UID != made.UID {
				t.Errorf("%v, %v", got, err)
			}
		}()
		for _, bridges := range [][]*v1alpha1.HostedBridge{{strange}, {strange, made}} {
			synctest.Wait()
			select {
			case <-done:
				t.Fatal("the route is not waited for")
			default:
			}
			change := routes.change
			routes.table, routes.change = route.Build(bridges, nil), make(chan struct{})
			close(change)
		}
		<-done
		if waited := time.Since(began); waited != 0 {
			t.Errorf("%s after it was known", waited)
		}
		for _, bridges := range [][]*v1alpha1.HostedBridge{nil, {named("mallory", name, "42")}} {
			routes.table, began = route.Build(bridges, nil), time.Now()
			if got, err := l.awaitRoute(t.Context(), who); !errors.Is(err, errUnknownRoute) {
				t.Errorf("%v, %v", got, err)
			}
			if waited := time.Since(began); waited != routeTimeout {
				t.Errorf("one that does not come is waited for %s", waited)
			}
		}
	})
}

func TestAnInvitationToAFormerBridgeDoesNotOpenALaterOneOfTheUserID(t *testing.T) {
	who := flow.Identity{Issuer: loginIssuer, Subject: "42"}
	at := func(name string) tables {
		b := named("tenants", name, "43")
		b.Spec.UserID = "alice"
		return tables{route.Build([]*v1alpha1.HostedBridge{b}, nil)}
	}
	l := &Directory{Mode: settings.Invite, Routes: at("former")}
	invited, err := l.Invite("alice")
	if err != nil || invited != (flow.Invited{User: "alice", Bridge: "uid-tenants-former"}) {
		t.Fatalf("the invitation is %+v, %v", invited, err)
	}
	l.Routes = at("later")
	if b, err := l.Onboard(t.Context(), who, invited); !errors.Is(err, flow.ErrNotInvited) {
		t.Errorf("the person may use %+v, %v", b, err)
	}
	if invited, err := l.Invite("nobody"); err != nil || invited != (flow.Invited{User: "nobody"}) {
		t.Errorf("before there is a bridge, the invitation is %+v, %v", invited, err)
	}
}

func TestWhoIsLetInDependsOnTheMode(t *testing.T) {
	who := flow.Identity{Issuer: "https://login.example.com", Subject: "42"}
	l := &Directory{Routes: tables{route.Build(nil, nil)}}
	for _, test := range []struct {
		name, mode string
		invited    v1alpha1.UserID
	}{
		{"nobody", settings.Off, ""},
		{"not even by an invitation of before", settings.Off, "alice"},
		{"who is not invited", settings.Invite, ""},
		{"who is invited to what is gone", settings.Invite, "alice"},
		{"so with auto", settings.Auto, "alice"},
	} {
		l.Mode = test.mode
		if _, err := l.Onboard(context.Background(), who, flow.Invited{User: test.invited}); !errors.Is(err, flow.ErrNotInvited) {
			t.Errorf("%s: %v", test.name, err)
		}
		if l.Mode == settings.Auto {
			continue
		}
		if user, err := l.Offer(context.Background(), who); !errors.Is(err, flow.ErrNotInvited) || user != "" {
			t.Errorf("%s is offered %q, %v", test.name, user, err)
		}
	}
	if err := loginError(ErrTooMany); !errors.Is(err, flow.ErrNotInvited) || !errors.Is(err, ErrTooMany) {
		t.Errorf("a bridge that is full: %v", err)
	}
	if err := loginError(context.DeadlineExceeded); errors.Is(err, flow.ErrNotInvited) || err == nil {
		t.Errorf("an API server that is away: %v", err)
	}
	if loginError(nil) != nil {
		t.Error("who was let in is not")
	}
}

// TestABridgeThatMayComeIsNotOneThatWasTakenAway also has the record of a user, which says
// nothing of the person.
func TestABridgeThatMayComeIsNotOneThatWasTakenAway(t *testing.T) {
	login := time.Date(2026, 1, 2, 3, 4, 5, 300_000_000, time.UTC)
	who := flow.Identity{Issuer: loginIssuer, Subject: "42", Since: login}
	closed := func(of v1alpha1.BridgePersonSpec) *v1alpha1.BridgePerson {
		of.Access = v1alpha1.AccessOffboarded
		return &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Name: "record"}, Spec: of}
	}
	person := v1alpha1.BridgePersonSpec{Issuer: loginIssuer, Subject: "42"}
	back := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Name: "record"}, Spec: person}
	back.Status.LoginsEndedTime = new(metav1.NewTime(login.Truncate(time.Second)))
	for name, test := range map[string]struct {
		record *v1alpha1.BridgePerson
		bridge bool
		want   bool
	}{
		"nothing is known":                          {nil, false, true},
		"the person was offboarded":                 {closed(person), false, false},
		"the person was offboarded and is back":     {back, false, false},
		"the user of the bridge was offboarded":     {closed(v1alpha1.BridgePersonSpec{User: "new"}), true, false},
		"the bridge is known, and not the person's": {nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			x := route.NewIndex()
			if test.record != nil {
				x.SetPerson(test.record)
			}
			if test.bridge {
				x.SetBridge(named("people", "new", "42"))
			}
			l := &Directory{Routes: tables{x.Snapshot()}}
			if got, err := l.MayCome(t.Context(), who, "new"); err != nil || got != test.want {
				t.Errorf("%t, %v; want %t", got, err, test.want)
			}
		})
	}
}

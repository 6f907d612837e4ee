// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
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

func TestBridgesOfAPerson(t *testing.T) {
	bridge := func(name, subject string) *v1alpha1.HostedBridge {
		b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: name, UID: "uid-1"}}
		b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: "https://login.example.com", Subject: subject}}}
		return b
	}
	table := route.Build([]*v1alpha1.HostedBridge{bridge("team", "42"), bridge("alice", "42"), bridge("bob", "43")}, []*corev1.Pod{})
	l := &Directory{Routes: tables{table}}
	for _, test := range []struct {
		name string
		who  flow.Identity
		want []v1alpha1.UserID
	}{
		{"the bridges of the subject", flow.Identity{Issuer: "https://login.example.com", Subject: "42"}, []v1alpha1.UserID{"alice", "team"}},
		{"and the one of the rule", flow.Identity{Issuer: "https://login.example.com", Subject: "42", User: "bob"}, []v1alpha1.UserID{"alice", "bob", "team"}},
		{"which may be the same", flow.Identity{Issuer: "https://login.example.com", Subject: "43", User: "bob"}, []v1alpha1.UserID{"bob"}},
		{"and has to be there", flow.Identity{Issuer: "https://login.example.com", Subject: "44", User: "carol"}, nil},
		{"none of another issuer's", flow.Identity{Issuer: "https://other.example.com", Subject: "42"}, nil},
	} {
		if got, err := l.Bridges(context.Background(), test.who); err != nil || !cmp.Equal(test.want, got) {
			t.Errorf("%s: %v, %v, want %v", test.name, got, err, test.want)
		}
	}
	if _, err := (&Directory{Routes: tables{}}).Bridges(context.Background(), flow.Identity{}); !errors.Is(err, errUnknownRoutes) {
		t.Errorf("before the routes are known: %v", err)
	}
}

func TestANewBridgeIsKnownBeforeItsClientIsTold(t *testing.T) {
	who := flow.Identity{Issuer: "https://login.example.com", Subject: "42"}
	made := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: "new", UID: "uid-1"}}
	made.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: who.Issuer, Subject: who.Subject}}}
	synctest.Test(t, func(t *testing.T) {
		routes := &comingTables{change: make(chan struct{})}
		l, began := &Directory{Routes: routes}, time.Now()
		done := make(chan struct{})
		go func() { defer close(done); l.awaitRoute(t.Context(), who) }()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("the route is not waited for")
		default:
		}
		change := routes.change
		routes.table, routes.change = route.Build([]*v1alpha1.HostedBridge{made}, nil), make(chan struct{})
		close(change)
		<-done
		if waited := time.Since(began); waited != 0 {
			t.Errorf("%s after it was known", waited)
		}
		routes.table = route.Build(nil, nil)
		l.awaitRoute(t.Context(), who)
		if waited := time.Since(began); waited != routeTimeout {
			t.Errorf("one that does not come is waited for %s", waited)
		}
	})
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
		if _, err := l.Onboard(context.Background(), who, test.invited); !errors.Is(err, flow.ErrNotInvited) {
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

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package kubestore

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestWhatIsHeardOfAPersonIsKept(t *testing.T) {
	const issuer = "https://login.example.com"
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	people := &Persons{Client: c, Namespace: namespace}
	began := time.Now().Truncate(time.Second)
	o := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: profile.PersonName(oauth.KeyOf(issuer, "alice"))}}
	hear := func(after time.Duration, groups ...string) string {
		t.Helper()
		if err := people.Heard(t.Context(), issuer, "alice", "", groups, began.Add(after)); err != nil {
			t.Fatal(err)
		}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		if err != nil || o.Status.Login == nil {
			return "nothing"
		}
		return fmt.Sprint(o.Status.Login.Groups, o.Status.Login.Time.Sub(began))
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	expect("while no profile names a group", hear(0, "eng", "ops"), "nothing")
	testenv.ExpectApplied(t, c, &v1alpha1.BridgeProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "engineering"},
		Spec: v1alpha1.BridgeProfileSpec{Who: v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Groups: []v1alpha1.ProfileGroup{
			{Issuer: issuer, Value: "eng"}, {Issuer: issuer, Value: "ops"}, {Issuer: "https://other.example.com", Value: "theirs"}, {FromNamespace: namespace, Value: "manual"},
		}}},
	})
	expect("groups that profiles name", hear(time.Minute, "private", "ops", "eng", "eng", "theirs", "manual"), "[eng ops] 1m0s")
	version := o.ResourceVersion
	expect("the same a moment later", hear(2*time.Minute, "eng", "ops"), "[eng ops] 1m0s")
	if o.ResourceVersion != version {
		t.Error("the same was written again")
	}
	expect("the same after an hour", hear(61*time.Minute, "ops", "eng"), "[eng ops] 1h1m0s")
	expect("fewer", hear(62*time.Minute, "ops"), "[ops] 1h2m0s")
	expect("an earlier word that comes late", hear(30*time.Minute, "eng", "ops"), "[ops] 1h2m0s")
	expect("none", hear(63*time.Minute), "[] 1h3m0s")
	if o.Spec.Issuer != issuer || o.Spec.Subject != "alice" {
		t.Errorf("the person is %+v", o.Spec)
	}
}

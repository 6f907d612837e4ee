// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package bridgestore

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestGroupsOfAPersonAreRecorded(t *testing.T) {
	const issuer = "https://login.example.com"
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	people := &Persons{Client: c, Namespace: namespace}
	began := time.Now().Truncate(time.Second)
	o := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: access.PersonName(oauth.KeyOf(issuer, "alice"))}}
	record := func(after time.Duration, groups ...string) string {
		t.Helper()
		must.Succeed(t, people.Record(t.Context(), NamedGroups{issuer, "alice", "", groups, began.Add(after)}))
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
	expect("while no profile names a group", record(0, "eng", "ops"), "nothing")
	testenv.ExpectApplied(t, c, &v1alpha1.BridgeProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "engineering"},
		Spec: v1alpha1.BridgeProfileSpec{Who: v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Groups: []v1alpha1.ProfileGroup{
			{Issuer: issuer, Value: "eng"}, {Issuer: issuer, Value: "ops"}, {Issuer: "https://other.example.com", Value: "theirs"}, {FromNamespace: namespace, Value: "manual"},
		}}},
	})
	expect("groups that profiles name", record(time.Minute, "private", "ops", "eng", "eng", "theirs", "manual"), "[eng ops] 1m0s")
	version := o.ResourceVersion
	expect("the same a moment later", record(2*time.Minute, "eng", "ops"), "[eng ops] 1m0s")
	if o.ResourceVersion != version {
		t.Error("the same was written again")
	}
	expect("the same after an hour", record(61*time.Minute, "ops", "eng"), "[eng ops] 1h1m0s")
	expect("fewer", record(62*time.Minute, "ops"), "[ops] 1h2m0s")
	expect("an earlier word that comes late", record(30*time.Minute, "eng", "ops"), "[ops] 1h2m0s")
	expect("none", record(63*time.Minute), "[] 1h3m0s")
	if o.Spec.Issuer != issuer || o.Spec.Subject != "alice" {
		t.Errorf("the person is %+v", o.Spec)
	}
}

// What a keyboard makes of an accent is no other group. Another case is, and the log says so
// once, since nobody else would.
func TestAGroupInAnotherFormCountsAndOneInAnotherCaseIsReported(t *testing.T) {
	t.Parallel()
	const issuer, composed, decomposed = "https://login.example.com", "Caf\u00e9", "Cafe\u0301"
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	logs := &logtest.Log{}
	people := &Persons{Client: c, Namespace: namespace, Log: slog.New(slog.NewTextHandler(logs, nil))}
	testenv.ExpectApplied(t, c, &v1alpha1.BridgeProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "engineering"},
		Spec: v1alpha1.BridgeProfileSpec{Who: v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Groups: []v1alpha1.ProfileGroup{
			{Issuer: issuer, Value: "eng"}, {Issuer: issuer, Value: composed},
		}}},
	})
	for range 2 {
		must.Succeed(t, people.Record(t.Context(), NamedGroups{issuer, "alice", "", []string{decomposed, "Eng", "private"}, time.Now()}))
	}
	o := &v1alpha1.BridgePerson{}
	must.Succeed(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: access.PersonName(oauth.KeyOf(issuer, "alice"))}, o))
	if o.Status.Login == nil || !slices.Equal(o.Status.Login.Groups, []string{composed}) {
		t.Errorf("the person has %+v", o.Status.Login)
	}
	if log := logs.String(); strings.Count(log, "group=Eng written=eng") != 1 || strings.Contains(log, "private") || strings.Contains(log, "Caf") {
		t.Errorf("the log is %s", log)
	}
}

// nameMany has profiles name so many groups of an issuer, as many as fit into each, and returns
// the groups in order.
func nameMany(t *testing.T, c client.Client, namespace, issuer string, n int) (named []string) {
	t.Helper()
	const inOne = 64
	for first := 0; first < n; first += inOne {
		p := &v1alpha1.BridgeProfile{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("p%05d", first)}}
		p.Spec.Who.Namespaces = []string{"*"}
		for i := first; i < min(first+inOne, n); i++ {
			named = append(named, fmt.Sprintf("team-%05d", i))
			p.Spec.Who.Groups = append(p.Spec.Who.Groups, v1alpha1.ProfileGroup{Issuer: issuer, Value: named[i]})
		}
		testenv.ExpectApplied(t, c, p)
	}
	return named
}

func TestAPersonInThousandsOfGroupsLosesNoneThatAProfileNames(t *testing.T) {
	t.Parallel()
	const issuer = "https://login.example.com"
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	logs := &logtest.Log{}
	people := &Persons{Client: c, Namespace: namespace, Log: slog.New(slog.NewTextHandler(logs, nil))}
	var groups []string
	for i := range 20_000 {
		groups = append(groups, fmt.Sprintf("private-%05d", i))
	}
	record := func(more ...string) *v1alpha1.PersonLogin {
		t.Helper()
		must.Succeed(t, people.Record(t.Context(), NamedGroups{issuer, "alice", "", append(groups, more...), time.Now()}))
		o := &v1alpha1.BridgePerson{}
		must.Succeed(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: access.PersonName(oauth.KeyOf(issuer, "alice"))}, o))
		return o.Status.Login
	}
	named := nameMany(t, c, namespace, issuer, profile.MaxGroups+2)
	login := record(named[0], named[profile.MaxGroups+1])
	if diff := cmp.Diff([]string{named[0], named[profile.MaxGroups+1]}, login.Groups); diff != "" || login.OtherGroups != 20_000 || login.LeftOut != 0 {
		t.Errorf("%d others, %d left out, groups (-want +got):\n%s", login.OtherGroups, login.LeftOut, diff)
	}
	login = record(named...)
	if diff := cmp.Diff(named[:profile.MaxGroups], login.Groups); diff != "" || login.OtherGroups != 20_000 || login.LeftOut != 2 {
		t.Errorf("%d others, %d left out, groups (-want +got):\n%s", login.OtherGroups, login.LeftOut, diff)
	}
	for _, want := range []string{"groups=2 leftOut=0 otherGroups=20000", "groups=1024 leftOut=2 otherGroups=20000"} {
		if log := logs.String(); strings.Count(log, want) != 1 || strings.Contains(log, "private-") {
			t.Errorf("the log does not say %s once: %s", want, log)
		}
	}
}

// tokensOfGroups verifies each token as one of a person, the groups of which it is.
type tokensOfGroups struct{ issued time.Time }

func (v tokensOfGroups) Verify(_ context.Context, token, _ string, _ time.Time) (oauth.Token, error) {
	if token == "bad" {
		return oauth.Token{}, oauth.Expired
	}
	const issuer = "https://login.example.com"
	return oauth.Token{Issuer: issuer, Subject: oauth.KeyOf(issuer, "alice"), Person: "alice", Groups: strings.Fields(token), Issued: v.issued}, nil
}

func TestGroupsOfAccessTokensAreRecorded(t *testing.T) {
	const issuer = "https://login.example.com"
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	testenv.ExpectApplied(t, c, &v1alpha1.BridgeProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "engineering"},
		Spec: v1alpha1.BridgeProfileSpec{Who: v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Groups: []v1alpha1.ProfileGroup{
			{Issuer: issuer, Value: "eng"}, {Issuer: issuer, Value: "ops"},
		}}},
	})
	tokens := &tokensOfGroups{issued: time.Now().Add(-time.Minute)}
	r := NewGroupRecorder(tokens, &Persons{Client: c, Namespace: namespace}, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	verify := func(token string) {
		t.Helper()
		if _, err := r.Verify(t.Context(), token, "", time.Now()); (err != nil) != (token == "bad") {
			t.Errorf("%s: %v", token, err)
		}
	}
	o := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: access.PersonName(oauth.KeyOf(issuer, "alice"))}}
	await := func(groups ...string) {
		t.Helper()
		wait.Until(t, fmt.Sprintf("groups %v", groups), func() bool {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
			return err == nil && o.Status.Login != nil && slices.Equal(o.Status.Login.Groups, groups)
		})
	}
	verify("bad")
	verify("eng ops private")
	await("eng", "ops")
	tokens.issued = tokens.issued.Add(30 * time.Second)
	verify("ops")
	await("ops")
	// A token from before says nothing new: the one after it is recorded in order.
	tokens.issued = tokens.issued.Add(-20 * time.Second)
	verify("eng ops")
	tokens.issued = tokens.issued.Add(40 * time.Second)
	verify("")
	await()
}

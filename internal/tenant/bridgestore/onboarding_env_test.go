// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package bridgestore

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.MainOfController(m)) }

// The namespace is that of what the chart renders for tests.
const newcomers = "newcomers"

// installed returns the onboarding that an ingress has with the rights that the
// chart grants it, and held by the chart's policies.
func installed(t *testing.T, c client.Client) *Onboarding {
	t.Helper()
	for _, name := range []string{testenv.System, newcomers} {
		testenv.ExpectPresent(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, file := range []string{"rbac-ingress.yaml", "admission-ingress.yaml"} {
		testenv.ExpectInstalled(t, c, "../../../test/testdata/onboarding/auto/"+file, testenv.System)
	}
	o := &Onboarding{Client: asIngress(t), Namespace: newcomers}
	// Rights and policies hold some time after they are made.
	forbidden := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: newcomers, Name: "alice"}}
	wait.Until(t, "rights and policies hold", func() bool {
		err := o.Client.Create(t.Context(), forbidden.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "hosted-bridge-ingress-keys")
	})
	return o
}

// asIngress returns a client with the rights of an installation's ingress.
func asIngress(t *testing.T) client.Client {
	t.Helper()
	config := testenv.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + testenv.System + ":hosted-bridge-ingress",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	scheme := runtime.NewScheme()
	must.Succeed(t, v1alpha1.AddToScheme(scheme))
	return must.Value(client.New(config, client.Options{Scheme: scheme}))(t)
}

func newBridge(t *testing.T, c client.Client, people ...string) (*v1alpha1.HostedBridge, BridgeRef) {
	t.Helper()
	b := bridgeOf(people...)
	b.Namespace, b.UID = testenv.Namespace(t, c), ""
	b.Spec.Servers = []v1alpha1.Server{{Name: "one", Transport: v1alpha1.Transport{URL: "https://mcp.example.com/mcp"}}}
	testenv.ExpectApplied(t, c, b)
	return b, BridgeRef{NamespacedName: client.ObjectKeyFromObject(b), UID: b.UID}
}

func TestAFirstLoginMakesOneBridge(t *testing.T) {
	c := testenv.Client(t)
	o := installed(t, c)
	person := "Zoë of " + testenv.Namespace(t, c) // Nobody whom another test has.
	want := BridgeName(oauth.KeyOf(issuer, person))
	offered := func() error {
		user, err := o.Offer(t.Context(), issuer, person)
		if err == nil && user != want {
			t.Errorf("offered %q", user)
		}
		return err
	}
	if err := offered(); err != nil {
		t.Errorf("before the first login: %v", err)
	}
	testenv.ExpectMissing(t, c, &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: newcomers, Name: string(want)}})
	var logins sync.WaitGroup
	for range 8 { // Of one person, at several replicas.
		logins.Go(func() {
			if user, err := o.Create(t.Context(), issuer, person); err != nil || user != want {
				t.Errorf("user %q: %v", user, err)
			}
		})
	}
	logins.Wait()
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: newcomers, Name: string(want)}}
	testenv.ExpectExists(t, c, b)
	if b.User() != want || b.Labels[v1alpha1.LabelOnboarded] != "true" {
		t.Errorf("user %s, labels %v", b.User(), b.Labels)
	}
	spec := v1alpha1.HostedBridgeSpec{
		// As the API server sets them.
		Tier: "free", Mode: b.Spec.Mode, ToolPrefix: b.Spec.ToolPrefix, DesiredState: b.Spec.DesiredState, IdleTimeout: b.Spec.IdleTimeout,
		OAuth:  &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: issuer, Subject: person}}},
		Groups: []string{v1alpha1.GroupOnboarded},
	}
	if diff := cmp.Diff(spec, b.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if err := offered(); err != nil {
		t.Errorf("when it is there: %v", err)
	}
	generation := b.Generation
	if _, err := o.Create(t.Context(), issuer, person); err != nil {
		t.Errorf("the next login: %v", err)
	}
	if testenv.ExpectExists(t, c, b); b.Generation != generation {
		t.Error("the next login changed it")
	}
	b.Spec.OAuth = nil
	testenv.ExpectApplied(t, c, b)
	if user, err := o.Create(t.Context(), issuer, person); !errors.Is(err, ErrRemoved) || user != "" {
		t.Errorf("after the person was taken out: %q, %v", user, err)
	}
	if err := offered(); !errors.Is(err, ErrRemoved) {
		t.Errorf("offered after the person was taken out: %v", err)
	}
	if user, err := o.Create(t.Context(), "https://other.example.com", person); err != nil || user == want {
		t.Errorf("somebody of that name elsewhere: %q, %v", user, err)
	}
}

func TestSubjectsAreBoundOneByOne(t *testing.T) {
	c := testenv.Client(t)
	o := installed(t, c)
	b, of := newBridge(t, c, "owner")
	var logins sync.WaitGroup
	for i := range 8 {
		logins.Go(func() {
			if err := o.Bind(t.Context(), of, issuer, fmt.Sprintf("person-%d", i%4)); err != nil {
				t.Error(err)
			}
		})
	}
	logins.Wait()
	testenv.ExpectExists(t, c, b)
	people := map[string]int{}
	for _, s := range b.Spec.OAuth.Subjects {
		people[s.Subject]++
	}
	if diff := cmp.Diff(map[string]int{"owner": 1, "person-0": 1, "person-1": 1, "person-2": 1, "person-3": 1}, people); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
	if len(b.Spec.Servers) != 1 || b.Spec.Tier != "free" {
		t.Errorf("the rest of the spec is %+v", b.Spec)
	}
	version := b.ResourceVersion
	for _, name := range []string{"owner", "person-1"} {
		if err := o.Bind(t.Context(), of, issuer, name); err != nil {
			t.Errorf("%s again: %v", name, err)
		}
	}
	if testenv.ExpectExists(t, c, b); b.ResourceVersion != version {
		t.Error("who is there was written again")
	}
	// And one by one they can be taken away, and come no more by what was
	// applied before.
	b.Spec.OAuth.Subjects = b.Spec.OAuth.Subjects[:1]
	testenv.ExpectApplied(t, c, b)
	if err := o.Bind(t.Context(), of, issuer, "person-9"); err != nil {
		t.Error(err)
	}
	if testenv.ExpectExists(t, c, b); len(b.Spec.OAuth.Subjects) != 2 || b.Spec.OAuth.Subjects[1].Subject != "person-9" {
		t.Errorf("subjects are %+v", b.Spec.OAuth.Subjects)
	}
}

func TestABindingReachesTheBridgeThatWasMeantOrNone(t *testing.T) {
	c := testenv.Client(t)
	o := installed(t, c)
	b, of := newBridge(t, c)
	other := of
	other.UID = types.UID("another")
	if err := o.Bind(t.Context(), other, issuer, "alice"); !errors.Is(err, ErrNoBridge) {
		t.Errorf("a later one of the name: %v", err)
	}
	if err := o.add(t.Context(), other, issuer, "alice"); !errors.Is(err, ErrNoBridge) {
		t.Errorf("a later one that came meanwhile: %v", err)
	}
	if testenv.ExpectExists(t, c, b); b.Spec.OAuth != nil {
		t.Errorf("bound to %+v", b.Spec.OAuth)
	}
	must.Succeed(t, c.Delete(t.Context(), b))
	for what, bind := range map[string]error{"gone": o.Bind(t.Context(), of, issuer, "alice"), "gone meanwhile": o.add(t.Context(), of, issuer, "alice")} {
		if !errors.Is(bind, ErrNoBridge) {
			t.Errorf("%s: %v", what, bind)
		}
	}
	testenv.ExpectMissing(t, c, b)

	// Also where it may create HostedBridges.
	gone := BridgeRef{NamespacedName: types.NamespacedName{Namespace: newcomers, Name: "u-aaaaaaaaaaaaaaaa"}, UID: of.UID}
	if err := o.add(t.Context(), gone, issuer, "alice"); !errors.Is(err, ErrNoBridge) {
		t.Errorf("where it may create: %v", err)
	}
}

// Whoever knows a person's issuer and subject can compute the user id that their first
// login gets.
func TestNobodyTakesTheUserIdOfAFirstLogin(t *testing.T) {
	c := testenv.Client(t)
	installed(t, c)
	namespace := testenv.Namespace(t, c)
	user := v1alpha1.UserID(BridgeName(oauth.KeyOf(issuer, "a newcomer")))
	try := func(name string, user v1alpha1.UserID) error {
		b := bridgeOf()
		b.Namespace, b.Name, b.GenerateName, b.UID, b.Spec.UserID = namespace, name, "", "", user
		return c.Create(t.Context(), b, client.DryRunAll)
	}
	wait.Until(t, "the policy holds", func() bool { return try(string(user), "") != nil })
	for name, err := range map[string]error{"by its name": try(string(user), ""), "as another's userID": try("other", user)} {
		if err == nil || !strings.Contains(err.Error(), "use another user id") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"another user id": try("alice", ""), "such a name for another user": try(string(user), "alice"), "a longer one": try(string(user)+"a", ""),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFullBridgeSaysSo(t *testing.T) {
	c := testenv.Client(t)
	o := installed(t, c)
	var people []string
	for i := range 32 {
		people = append(people, fmt.Sprintf("person-%d", i))
	}
	b, of := newBridge(t, c, people...)
	if err := o.Bind(t.Context(), of, issuer, "one-more"); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	if err := o.Bind(t.Context(), of, issuer, "person-31"); err != nil {
		t.Errorf("one of them: %v", err)
	}
	if testenv.ExpectExists(t, c, b); len(b.Spec.OAuth.Subjects) != 32 {
		t.Errorf("%d subjects", len(b.Spec.OAuth.Subjects))
	}
}

// TestWhatIsAcceptableIsTaken holds what this package and the CRD say of a
// subject against each other.
func TestWhatIsAcceptableIsTaken(t *testing.T) {
	c := testenv.Client(t)
	_, of := newBridge(t, c)
	for _, r := range []rune{' ', 'a', '~', 'ë', '山', '\u0301', '€', '²', '🙂', '\u00a0', '\u2028', '\u202e', '\u200b', '\u0000', '\n', '\u007f', '\u0085', '\ue000', '\ufffd', '\u0378'} {
		subject := "a" + string(r) + "a"
		b := bridgeOf(subject)
		b.Namespace, b.Name, b.UID = of.Namespace, "other", ""
		err := c.Create(t.Context(), b, client.DryRunAll)
		if accepted := isAcceptable(issuer, subject); accepted && err != nil || !accepted && err == nil && r != '\ufffd' {
			t.Errorf("%U: acceptable: %v, and the API server says %v", r, accepted, err)
		}
	}
}

// TestWithoutTheRightsNothingIsMade has an installation without onboarding.
func TestWithoutTheRightsNothingIsMade(t *testing.T) {
	c := testenv.Client(t)
	installed(t, c)
	elsewhere := &Onboarding{Client: asIngress(t), Namespace: testenv.Namespace(t, c)}
	if user, err := elsewhere.Create(t.Context(), issuer, "alice"); err == nil || user != "" || !strings.Contains(err.Error(), "cannot create resource") || strings.Contains(err.Error(), "alice") {
		t.Errorf("in a namespace that is not for it: %q, %v", user, err)
	}
}

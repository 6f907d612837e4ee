// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package bridgegroup_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/bridgegroup"
	"github.com/hostedbridge/hostedbridge/controllers/bridgeprofile"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.MainOfController(m)) }

const issuer = "https://acme.okta.com"

// fixture is a namespace in which profiles name the groups eng and ops.
type fixture struct {
	client.Client

	t         *testing.T
	namespace string
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	c := testenv.Client(t)
	f := fixture{c, t, testenv.Namespace(t, c)}
	f.name("engineering", "eng", "ops")
	return f
}

// name has a profile name groups.
func (f fixture) name(profile string, groups ...string) {
	f.t.Helper()
	who := v1alpha1.ProfileSubjects{Namespaces: []string{"*"}}
	for _, g := range groups {
		who.Groups = append(who.Groups, v1alpha1.ProfileGroup{Issuer: issuer, Value: g})
	}
	testenv.ExpectApplied(f.t, f, &v1alpha1.BridgeProfile{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: profile}, Spec: v1alpha1.BridgeProfileSpec{Who: who}})
}

// run starts the controller, as the operator does, until stop.
func (f fixture) run() (stop func()) {
	f.t.Helper()
	caches := bridgegroup.CacheOptions(f.namespace)
	maps.Copy(caches, bridgeprofile.CacheOptions(f.namespace))
	m, err := ctrl.NewManager(testenv.Config(), ctrl.Options{
		Scheme: testenv.Scheme(), Cache: cache.Options{ByObject: caches}, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	r := &bridgegroup.Reconciler{Client: m.GetClient(), Namespace: f.namespace}
	must.Succeed(f.t, r.Setup(f.t.Context(), m))
	return testenv.Run(f.t, m.Start)
}

// person creates a person of the directory.
func (f fixture) person(subject string) *v1alpha1.BridgePerson {
	f.t.Helper()
	p := &v1alpha1.BridgePerson{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: access.DirectoryName(oauth.KeyOf(issuer, subject))},
		Spec:       v1alpha1.BridgePersonSpec{Issuer: issuer, Subject: subject, Directory: &v1alpha1.PersonDirectory{Incarnation: 1, UserName: subject, Active: true}},
	}
	testenv.ExpectApplied(f.t, f, p)
	return p
}

// group creates a group of these people.
func (f fixture) group(issuer, value string, members ...*v1alpha1.BridgePerson) *v1alpha1.BridgeGroup {
	f.t.Helper()
	g := &v1alpha1.BridgeGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: access.GroupName(oauth.KeyOf(issuer, value))},
		Spec:       v1alpha1.BridgeGroupSpec{Issuer: issuer, Value: value, DisplayName: value, Members: idsOf(members)},
	}
	testenv.ExpectApplied(f.t, f, g)
	return g
}

func idsOf(people []*v1alpha1.BridgePerson) []string {
	var ids []string
	for _, p := range people {
		ids = append(ids, access.MemberID(p.Name, p.Spec.Directory.Incarnation))
	}
	return ids
}

// change changes an object that others may change too.
func change[T client.Object](f fixture, o T, edit func()) {
	f.t.Helper()
	wait.Until(f.t, "a change of "+o.GetName(), func() bool {
		return f.Get(f.t.Context(), client.ObjectKeyFromObject(o), o) == nil && func() bool { edit(); return f.Update(f.t.Context(), o) == nil }()
	})
}

// await waits until a person has these groups.
func (f fixture) await(what string, p *v1alpha1.BridgePerson, want ...string) {
	f.t.Helper()
	wait.Until(f.t, what, func() bool {
		must.Succeed(f.t, f.Get(f.t.Context(), client.ObjectKeyFromObject(p), p))
		d := p.Status.Directory
		return d != nil && d.Incarnation == p.Spec.Directory.Incarnation && slices.Equal(d.Groups, want)
	})
}

func TestPeopleHaveTheGroupsOfTheirDirectory(t *testing.T) {
	f := newFixture(t)
	stop := f.run()
	anna, bert := f.person("anna"), f.person("bert")
	f.await("nobody has a group", anna)
	eng := f.group(issuer, "eng", anna)
	f.group(issuer, "ops", anna, bert)
	f.group(issuer, "private", anna)
	f.group("https://other.okta.com", "eng", bert)
	f.await("the groups that profiles name", anna, "eng", "ops")
	f.await("those of the issuer alone", bert, "ops")

	change(f, eng, func() { eng.Spec.Members = idsOf([]*v1alpha1.BridgePerson{bert}) })
	f.await("who goes", anna, "ops")
	f.await("who comes", bert, "eng", "ops")
	change(f, eng, func() { eng.Spec.Value, eng.Spec.DisplayName = "platform", "platform" })
	f.await("a name that no profile has", bert, "ops")
	f.name("platform", "platform")
	f.await("a profile that names it", bert, "ops", "platform")
	change(f, bert, func() { bert.Spec.Directory.Incarnation = 2 })
	f.await("who is created again", bert)
	must.Succeed(t, f.Delete(t.Context(), eng))
	f.await("the others stay", anna, "ops")

	stop()
	ops := f.group(issuer, "eng", anna)
	f.run()
	f.await("what happened meanwhile", anna, "eng", "ops")
	version := anna.ResourceVersion
	change(f, ops, func() { ops.Spec.DisplayName = "Engineering" })
	change(f, ops, func() { ops.Spec.Members = idsOf([]*v1alpha1.BridgePerson{anna, bert}) })
	f.await("one more comes", bert, "eng")
	f.await("the others stay as they are", anna, "eng", "ops")
	if anna.ResourceVersion != version {
		t.Error("a person is written whose groups did not change")
	}
}

// TestALargeGroupIsWrittenOnce has a group of many, of whom one leaves.
func TestALargeGroupIsWrittenOnce(t *testing.T) {
	f := newFixture(t)
	var people []*v1alpha1.BridgePerson
	for i := range 200 {
		people = append(people, f.person(fmt.Sprint("u", i)))
	}
	eng := f.group(issuer, "eng", people...)
	f.run()
	versions := map[string]string{}
	for _, p := range people {
		f.await("everybody has the group", p, "eng")
		versions[p.Name] = p.ResourceVersion
	}
	change(f, eng, func() { eng.Spec.Members = idsOf(people[1:]) })
	f.await("one has left", people[0])
	for _, p := range people[1:] {
		if f.await("the others have not", p, "eng"); p.ResourceVersion != versions[p.Name] {
			t.Errorf("%s is written", p.Spec.Subject)
		}
	}
}

func TestAGroupThatASharedServerNamesIsAGroupOfThePerson(t *testing.T) {
	f := newFixture(t)
	f.name("accents", "Caf\u00e9")
	f.run()
	anna := f.person("anna")
	f.group(issuer, "payments", anna)
	f.group(issuer, "Cafe\u0301", anna)
	f.await("a name that the keyboard wrote in another form", anna, "Caf\u00e9")
	shared := &v1alpha1.SharedServer{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "payments"}, Spec: v1alpha1.SharedServerSpec{
		Server: v1alpha1.SharedEndpoint{Transport: v1alpha1.Transport{
			URL: "https://pay.example.com/mcp", Headers: []v1alpha1.Header{{Name: "Authorization", Value: "Bearer ${PAY_TOKEN}"}},
		}},
		Secrets: []v1alpha1.SecretName{"PAY_TOKEN"}, Namespaces: []string{"*"},
		Members: []v1alpha1.IssuerGroup{{Issuer: issuer, Value: "payments"}}, Owners: []v1alpha1.IssuerGroup{{Issuer: issuer, Value: "leads"}},
	}}
	testenv.ExpectApplied(t, f, shared)
	f.await("members of a SharedServer", anna, "Caf\u00e9", "payments")
	must.Succeed(t, f.Delete(t.Context(), shared))
	f.await("none of a SharedServer that is gone", anna, "Caf\u00e9")
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipestore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	tenantstore "github.com/hostedbridge/hostedbridge/internal/tenant/bridgestore"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const (
	idp  = "https://idp.example.com"
	anna = "00u1anna"
)

// peopleKinds are the kinds that people.json and recipes.json have.
var peopleKinds = []string{"BridgePerson", "BridgeGroup", "BridgeProfile", "CatalogPublisher", "CatalogRecipe"}

// people are what an installation keeps of people, and its catalog.
type people struct {
	*drill

	catalog *recipestore.Store
	persons *tenantstore.Persons
	objects map[string]any
}

// newPeople makes one object or more of each kind. The directory has taken the access of
// anna, whose bridge is that of the user alice by the provider's rule alone.
func newPeople(d *drill, alice secretstore.Bridge) *people {
	t, namespace := d.t, shipped().Namespace
	t.Helper()
	recipes, err := recipestore.New(testenv.Config(), recipestore.Options{Namespace: namespace, Random: rand.Reader, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	p := &people{drill: d, catalog: recipes, persons: &tenantstore.Persons{Client: d.client, Namespace: namespace}}
	t.Cleanup(func() { p.deleteAll(context.WithoutCancel(t.Context())) })

	key := oauth.KeyOf(idp, anna)
	name := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	group := []v1alpha1.ProfileGroup{{Issuer: idp, Value: "engineers"}, {Issuer: idp, Value: "operators"}}
	for _, o := range []client.Object{
		&v1alpha1.BridgeProfile{ObjectMeta: name("engineers"), Spec: v1alpha1.BridgeProfileSpec{Who: v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Groups: group}}},
		&v1alpha1.BridgePerson{ObjectMeta: name(access.DirectoryName(key)), Spec: v1alpha1.BridgePersonSpec{
			Issuer: idp, Subject: anna, Access: v1alpha1.AccessSuspended, Directory: &v1alpha1.PersonDirectory{Incarnation: 2, UserName: "anna"},
		}},
		&v1alpha1.BridgePerson{ObjectMeta: name("user.bob"), Spec: v1alpha1.BridgePersonSpec{User: "bob", Access: v1alpha1.AccessOffboarded}},
		&v1alpha1.BridgeGroup{ObjectMeta: name(access.GroupName(key)), Spec: v1alpha1.BridgeGroupSpec{
			Issuer: idp, Value: "engineers", DisplayName: "engineers", Members: []string{access.MemberID(access.DirectoryName(key), 2)},
		}},
		&v1alpha1.BridgeRequest{ObjectMeta: name(v1alpha1.RequestName("alice", "github")), Spec: v1alpha1.BridgeRequestSpec{
			User: "alice", BridgeUID: alice.UID, Server: "github", Offer: "recipe github", Decision: &v1alpha1.RequestDecision{Verdict: v1alpha1.RequestApproved, Time: metav1.Now()},
		}},
	} {
		testenv.ExpectApplied(t, d.client, o)
	}
	p.login("engineers", "operators")
	person := p.person()
	person.Status.LoginsEndedTime = new(metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second)))
	must.Succeed(t, d.client.Status().Update(t.Context(), person))
	_, _, err = recipes.CreatePublisher(t.Context(), catalog.Publisher{ID: "acme", DisplayName: "Acme"}, nil)
	_, id, _, added := recipes.AddPublisherKey(t.Context(), "acme", nil)
	revoked := recipes.RevokePublisherKey(t.Context(), "acme", id)
	_, published := recipes.CreateRecipe(t.Context(), publish("1.0.0"))
	p.seed()
	_, _, assessed := recipes.SetQuality(t.Context(), "files", catalog.Overlay{Verified: new(true)}, "", false)
	must.Succeed(t, errors.Join(err, added, revoked, published, assessed))
	p.accept()
	p.objects = p.read()
	return p
}

func recipeOf(id, version string) recipe.Recipe {
	return recipe.Recipe{
		SchemaVersion: 2, ID: id, Name: "Notes", Description: "Keeps notes", Repository: "https://example.com/notes", RecipeVersion: version,
		Transports: []recipe.Transport{{Type: recipe.StreamableHTTP, URL: "https://example.com/mcp"}},
		Metadata:   recipe.Metadata{Category: "productivity", License: "MIT"},
	}
}

// publish is the recipe of the publisher acme in a version.
func publish(version string) catalog.Replacement {
	draft := catalog.Draft{Name: "notes", Owner: "acme", Recipe: recipeOf("notes", version)}
	return catalog.Replacement{
		Name: draft.Name, Owner: draft.Owner, IfMatch: catalog.AnyRevision,
		Draft: func(catalog.Entry) (catalog.Draft, error) { return draft, nil },
	}
}

// seed writes the recipe of the seed, as each installation does.
func (p *people) seed() {
	p.t.Helper()
	change := catalog.Change{Kind: catalog.Create, Name: "files", Recipe: recipeOf("files", "1.0.0")}
	must.Succeed(p.t, p.catalog.ApplySeed(p.t.Context(), []catalog.Change{change}, false))
}

// login records that anna logs in, with these groups.
func (p *people) login(groups ...string) {
	p.t.Helper()
	named := tenantstore.NamedGroups{Issuer: idp, Subject: anna, User: "alice", Groups: groups, At: time.Now()}
	must.Succeed(p.t, p.persons.Record(p.t.Context(), named))
}

// person returns what logins say of anna.
func (p *people) person() *v1alpha1.BridgePerson {
	p.t.Helper()
	person := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: shipped().Namespace, Name: access.PersonName(oauth.KeyOf(idp, anna))}}
	testenv.ExpectExists(p.t, p.client, person)
	return person
}

// accept writes the version that the operator has accepted of the publisher's recipe.
func (p *people) accept() {
	p.t.Helper()
	o := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: shipped().Namespace, Name: "notes"}}
	testenv.ExpectStatusChanged(p.t, p.client, o, func() {
		o.Status.Versions = []v1alpha1.RecipeVersion{{Version: "1.0.0", Digest: "sha256:0", AcceptedAt: metav1.Now(), Recipe: `{"name": "a \"b\"\n<c>"}`}}
	})
}

// read returns the spec and the status of each object.
func (p *people) read() map[string]any {
	p.t.Helper()
	objects := map[string]any{}
	for _, kind := range peopleKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
		must.Succeed(p.t, p.client.List(p.t.Context(), list, client.InNamespace(shipped().Namespace)))
		for _, o := range list.Items {
			objects[kind+" "+o.GetName()] = map[string]any{"spec": o.Object["spec"], "status": o.Object["status"]}
		}
	}
	return objects
}

func (p *people) deleteAll(ctx context.Context) {
	p.t.Helper()
	for _, kind := range append(slices.Clone(peopleKinds), "BridgeRequest") {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
		if err := p.client.DeleteAllOf(ctx, o, client.InNamespace(shipped().Namespace)); err != nil {
			p.t.Error(err)
		}
	}
}

// lose removes all objects. The new installation has its seed.
func (p *people) lose() {
	p.t.Helper()
	p.deleteAll(p.t.Context())
	p.seed()
}

// expectRestored checks that everything is there, and that the installation can change it.
func (p *people) expectRestored() {
	p.t.Helper()
	if diff := cmp.Diff(p.objects, p.read()); diff != "" {
		p.t.Errorf("people (-before +restored):\n%s", diff)
	}
	p.login("engineers")
	if groups := p.person().Status.Login.Groups; len(groups) != 1 {
		p.t.Errorf("after a login anna has the groups %v", groups)
	}
	if _, err := p.catalog.UpdateRecipe(p.t.Context(), publish("1.1.0")); err != nil {
		p.t.Errorf("the publisher cannot change the restored recipe: %v", err)
	}
}

// expectApprovedFor checks that the approval of alice's request is for the restored bridge.
func (p *people) expectApprovedFor(b *v1alpha1.HostedBridge) {
	p.t.Helper()
	var requests v1alpha1.BridgeRequestList
	must.Succeed(p.t, p.client.List(p.t.Context(), &requests, client.InNamespace(shipped().Namespace)))
	if got := profile.Approved(requests.Items, b); got["github"] != "recipe github" {
		p.t.Errorf("of the requests %+v, these are approved: %v", requests.Items, got)
	}
}

// expectNoAccessTo checks that a bridge without a subject has no access.
func (p *people) expectNoAccessTo(b *v1alpha1.HostedBridge) {
	p.t.Helper()
	var persons v1alpha1.BridgePersonList
	must.Succeed(p.t, p.client.List(p.t.Context(), &persons, client.InNamespace(shipped().Namespace)))
	if got := access.NewPeople(persons.Items).Bridge(b); got != v1alpha1.AccessSuspended {
		p.t.Errorf("the access to the bridge of %s is %s", b.User(), got)
	}
}

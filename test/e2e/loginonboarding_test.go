// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	logins "github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/tenant/bridgestore"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// What hack/test/login.sh has told the installation of the bridges of those who
// have none.
const (
	peopleNamespace = identityNamespace + "-people"
	peopleTier      = "free"
	peopleServer    = "everything"
	peopleRecipe    = "e2e-everything"
)

// newcomer is somebody who has no bridge yet.
type newcomer struct {
	at   place
	name string
	// of is the bridge that they get.
	of types.NamespacedName
	// subject is who they are at the provider.
	subject v1alpha1.OAuthSubject
}

// newNewcomer makes somebody up. What they get is removed with the test.
func newNewcomer(t *testing.T, at place, short string) newcomer {
	t.Helper()
	n := newcomer{at: at, name: installed.name(short)}
	n.subject = v1alpha1.OAuthSubject{Issuer: identityIssuer, Subject: n.name}
	if at == atGitHub {
		n.subject = v1alpha1.OAuthSubject{Issuer: gitHubIssuer, Subject: gitHubNumber(n.name)}
	}
	user := bridgestore.BridgeName(logins.KeyOf(n.subject.Issuer, n.subject.Subject))
	n.of = types.NamespacedName{Namespace: peopleNamespace, Name: string(user)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
		defer cancel()
		b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: n.of.Namespace, Name: n.of.Name}}
		if err := client.IgnoreNotFound(installed.client.Delete(ctx, b)); err != nil {
			t.Errorf("delete what the login of %s made: %v", n.name, err)
		}
	})
	return n
}

// hasNone fails the test if there is a bridge.
func (n newcomer) hasNone(t *testing.T, after string) {
	t.Helper()
	if err := installed.client.Get(t.Context(), n.of, &v1alpha1.HostedBridge{}); !apierrors.IsNotFound(err) {
		t.Errorf("after %s there is a HostedBridge (%v)", after, err)
	}
}

// bridge returns theirs.
func (n newcomer) bridge(t *testing.T) *v1alpha1.HostedBridge {
	t.Helper()
	b := &v1alpha1.HostedBridge{}
	must.Succeed(t, installed.client.Get(t.Context(), n.of, b))
	return b
}

// everybodyGetsABridge has people of each provider come who were never here.
func everybodyGetsABridge(t *testing.T) {
	providePeopleRecipe(t)
	common := installed.url + "/mcp"
	t.Run("with nothing but a login", func(t *testing.T) {
		t.Parallel()
		n := newNewcomer(t, atIdentity, "nora")
		got, err := outsiders[0].logIn(t, tenant{}, task{Login: &known{}, URL: common, Steps: []string{"call", "refresh"}}, n.name)
		if err != nil || got.Call != toolText || got.Refresh != "another" {
			t.Errorf("the call answers %q, and the refresh token is then %s (%v)", got.Call, got.Refresh, err)
		}
		n.hasWhatFirstLoginsGet(t)
	})
	t.Run("once, and not again", func(t *testing.T) {
		t.Parallel()
		newcomersAreLetInOnce(t, newNewcomer(t, atGitHub, "noel"), askAs(desk, common))
	})
	for _, short := range []string{"nadia", "nils"} {
		t.Run("until they leave: "+short, func(t *testing.T) {
			t.Parallel()
			newcomersLeave(t, newNewcomer(t, atIdentity, short), askAs(desk, common))
		})
	}
	t.Run("for the URL of everyone alone", func(t *testing.T) {
		t.Parallel()
		other := newLoginTenant(t, "not-new", "nina")
		n := newNewcomer(t, atIdentity, "nick")
		p := newVisitor(t)
		for _, user := range []string{other.name, installed.name("nowhere"), n.of.Name} {
			refused(t, p.logsIn(t, askAs(desk, installed.url+"/u/"+user+"/mcp").url(), n.name))
		}
		n.hasNone(t, "asking for the URL of a user")
	})
}

// newcomersAreLetInOnce has somebody say no, then yes, come again, and be taken
// out.
func newcomersAreLetInOnce(t *testing.T, n newcomer, a asking) {
	p := newVisitor(t)
	checkPage(t, p.logsInAt(t, n.at, a.url(), n.name))
	if answer := p.does(t, "press", "Deny").answer(t); answer.Get("error") != "access_denied" {
		t.Errorf("error %q", answer.Get("error"))
	}
	n.hasNone(t, "a no")

	first := n.allows(t, a, true)
	wait.NoError(t, wait.Limit, "all replicas know the bridge", func(ctx context.Context) error {
		answer, err := send(ctx, newHTTPClient(false), a.resource, first.Access, modernCall)
		if err != nil {
			return err
		}
		return answer.toolAnswered()
	})
	before := n.bridge(t).UID
	n.hasWhatFirstLoginsGet(t)
	second := n.allows(t, a, false)
	if err := mustSend(t, a.resource, second.Access, modernCall).toolAnswered(); err != nil {
		t.Errorf("the call after a second login: %v", err)
	}
	if after := n.bridge(t).UID; after != before {
		t.Error("a second login has made another bridge")
	}

	wait.NoError(t, wait.Limit, "an administrator takes the person out", func(ctx context.Context) error {
		b := n.bridge(t)
		b.Spec.OAuth = nil
		return installed.client.Update(ctx, b)
	})
	awaitShut(t, a.resource, second.Access)
	refused(t, newVisitor(t).logsInAt(t, n.at, a.url(), n.name))
	if got := askTokens(t, a.refresh(second.Refresh)); got.Error != "invalid_grant" {
		t.Errorf("the refresh token: status %d, error %q", got.status, got.Error)
	}
	if b := n.bridge(t); b.Spec.OAuth != nil {
		t.Error("the login has put the person back")
	}
}

// allows has the person log in and let the client in. Whether they have no bridge
// yet the page says.
func (n newcomer) allows(t *testing.T, a asking, none bool) tokens {
	t.Helper()
	p := newVisitor(t)
	v := p.logsInAt(t, n.at, a.url(), n.name)
	checkPage(t, v)
	if !strings.Contains(v.Text, n.of.Name) || strings.Contains(v.Text, "is made for you when you go on") != none {
		t.Errorf("the page does not name %s, or whether it is to be made (%t): %s", n.of.Name, none, v.Text)
	}
	got := askTokens(t, a.redeem(p.does(t, "press", "Allow").answer(t).Get("code")))
	if got.status != http.StatusOK {
		t.Fatalf("status %d, error %q", got.status, got.Error)
	}
	return got
}

// hasWhatFirstLoginsGet compares the person's bridge with what the installation gives.
func (n newcomer) hasWhatFirstLoginsGet(t *testing.T) {
	t.Helper()
	b := n.bridge(t)
	if diff := cmp.Diff(map[string]string{v1alpha1.LabelOnboarded: "true"}, b.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if b.Spec.OAuth == nil || !cmp.Equal(b.Spec.OAuth.Subjects, []v1alpha1.OAuthSubject{n.subject}) || b.Spec.Servers != nil {
		t.Errorf("logins %+v and servers %+v, want %+v and none", b.Spec.OAuth, b.Spec.Servers, n.subject)
	}
	if s := effective.Of(b).Spec; s.Tier != peopleTier || len(s.Servers) != 1 || s.Servers[0].Name != peopleServer || s.Servers[0].Recipe == nil || s.Servers[0].Recipe.Name != peopleRecipe {
		t.Errorf("tier %s and servers %+v, want %s and %s of the recipe %s", s.Tier, s.Servers, peopleTier, peopleServer, peopleRecipe)
	}
	if got := b.Status.Profiles; len(got) != 1 || got[0].Name != v1alpha1.OnboardingProfile {
		t.Errorf("profiles %+v, want %s", got, v1alpha1.OnboardingProfile)
	}
}

// providePeopleRecipe puts the recipe of what everybody gets into the catalog: the
// upstream of this run.
func providePeopleRecipe(t *testing.T) {
	t.Helper()
	r := recipe.Recipe{
		SchemaVersion: 2, ID: peopleRecipe, Name: "Everything of the tests", Description: "Answers calls.",
		Repository: "https://example.com/" + peopleRecipe, RecipeVersion: "1.0.0",
		Transports: []recipe.Transport{{Type: recipe.StreamableHTTP, URL: installed.upstreamURL(1)}},
		Metadata:   recipe.Metadata{SelfHosted: true},
	}
	provideRecipe(t, r)
	wait.NoError(t, wait.Limit, "the profile of first logins is accepted", func(ctx context.Context) error {
		p := &v1alpha1.BridgeProfile{}
		if err := installed.client.Get(ctx, types.NamespacedName{Namespace: systemNamespace, Name: v1alpha1.OnboardingProfile}, p); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionAccepted); c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Errorf("conditions %+v", p.Status.Conditions)
		}
		return nil
	})
}

// provideRecipe puts a recipe of nobody into the catalog.
func provideRecipe(t *testing.T, r recipe.Recipe) {
	t.Helper()
	// Of a run that was cut off there is one, with another URL.
	forgetCatalog(t, &v1alpha1.CatalogRecipe{}, r.ID)
	t.Cleanup(func() { forgetCatalog(t, &v1alpha1.CatalogRecipe{}, r.ID) })
	o := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: r.ID}}
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: r}
	wait.NoError(t, wait.Limit, "the recipe is made", func(ctx context.Context) error { return installed.client.Create(ctx, o) })
	awaitVerdict(t, r.ID, metav1.ConditionTrue, v1alpha1.ReasonRecipeValid)
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

const (
	home = "https://notes.example.com/mcp"
	evil = "https://evil.example.com/mcp"
)

// runs compares where a bridge's server is, which is nowhere while it is out of
// service.
func runs(t *testing.T, b *v1alpha1.HostedBridge, url string) {
	t.Helper()
	got := ""
	if servers := bridgestate.Servers(effective.Of(b)); len(servers) > 0 {
		got = servers[0].URL
	}
	if got != url {
		t.Errorf("the server is at %q, want %q: %s", got, url, b.Status.Recipes[0].Message)
	}
}

func TestARecipeThatIsMadeAnewBySomebodyElseIsNotFollowed(t *testing.T) {
	first := by(accepted(t, at("1.0.0", home)), "uid-1", "acme")
	stranger := by(accepted(t, at("1.0.0", evil)), "uid-2", "other")
	copied := by(accepted(t, at("1.0.0", home), at("1.0.1", home)), "uid-2", "other")
	nobody := by(accepted(t, at("1.0.0", home), at("1.0.1", home)), "uid-2", "")
	taken := stranger.DeepCopy()
	taken.Spec.Recipe = nil
	for _, pin := range []string{"", "1.0.0"} {
		for name, o := range map[string]*v1alpha1.CatalogRecipe{"other content": stranger, "a copy": copied, "no owner": nobody, "taken back": taken} {
			for _, between := range [][]Catalog{nil, {catalogOf(nil)}} {
				s := named("mine", version(pin), secrets("NOTES_TOKEN"))
				got := after(s, append(append([]Catalog{catalogOf(first)}, between...), catalogOf(o))...)
				expect(t, got.Status.Recipes[0], v1alpha1.ReasonRecipeKept, "was deleted and created again, by ")
				if runs(t, got, home); t.Failed() {
					t.Fatalf("pin %q, %s", pin, name)
				}
			}
		}
	}
	kept := after(named("mine"), catalogOf(first), catalogOf(copied))
	wanted := onward(kept, named("mine", version("1.0.1")), catalogOf(copied))
	expect(t, wanted.Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.1")
	expect(t, onward(wanted, named("mine"), catalogOf(copied)).Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.1")

	moved := by(accepted(t, at("1.0.0", home), at("1.0.1", home)), "uid-1", "heir")
	expect(t, after(named("mine"), catalogOf(first), catalogOf(moved)).Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.1")
	// Who may write objects makes one without an owner anew, which is followed as
	// far as any other version.
	unowned := by(accepted(t, at("1.0.0", home)), "uid-1", "")
	expect(t, after(named("mine"), catalogOf(unowned), catalogOf(nobody)).Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.1")
	restored := by(accepted(t, at("1.0.0", home)), "uid-2", "")
	expect(t, after(named("mine", version("1.0.0")), catalogOf(unowned), catalogOf(restored)).Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.0")
	elsewhere := by(accepted(t, at("1.0.0", home), at("1.0.1", evil)), "uid-2", "")
	expect(t, after(named("mine"), catalogOf(unowned), catalogOf(elsewhere)).Status.Recipes[0], v1alpha1.ReasonRecipeMoved, "")
	published := by(accepted(t, at("1.0.0", home), at("1.0.1", home)), "uid-2", "acme")
	expect(t, after(named("mine"), catalogOf(unowned), catalogOf(published)).Status.Recipes[0], v1alpha1.ReasonRecipeKept, "by publisher acme")
	again := by(accepted(t, at("1.0.0", home), at("1.0.1", home)), "uid-3", "acme")
	expect(t, after(named("mine"), catalogOf(first), catalogOf(again)).Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.1")
}

func TestAPinBindsTheContent(t *testing.T) {
	o := accepted(t, at("1.0.0", home))
	other := accepted(t, at("1.0.0", evil))
	got := after(named("mine", version("1.0.0")), catalogOf(o), catalogOf(other))
	expect(t, got.Status.Recipes[0], v1alpha1.ReasonRecipeKept, "is not what it was")
	runs(t, got, home)
}

// TestALatestVersionIsNotFollowedElsewhere has a version that runs at another
// place than the one before, and each way to take it.
func TestALatestVersionIsNotFollowedElsewhere(t *testing.T) {
	program := notes(func(r *recipe.Recipe) { r.RecipeVersion = "1.0.1" })
	login := remote(func(r *recipe.Recipe) {
		r.RecipeVersion = "1.0.1"
		r.Transports[0].Auth = &recipe.TransportAuth{
			Type: "oauth2", GrantType: "client_credentials", ClientID: "bridges", ClientSecret: "${NOTES_TOKEN}", TokenURL: "https://evil.example.com/token",
		}
	})
	for name, tt := range map[string]struct {
		next   recipe.Recipe
		reason string
		says   string
	}{
		"another path":        {at("1.0.1", home+"/v2"), v1alpha1.ReasonRecipeInUse, ""},
		"another spelling":    {at("1.0.1", "https://NOTES.example.com:443/mcp"), v1alpha1.ReasonRecipeInUse, ""},
		"another host":        {at("1.0.1", evil), v1alpha1.ReasonRecipeMoved, "https://evil.example.com, and not https://notes.example.com; to take it set spec.servers[].recipe.version to 1.0.1"},
		"another port":        {at("1.0.1", "https://notes.example.com:8443/mcp"), v1alpha1.ReasonRecipeMoved, "https://notes.example.com:8443, and not"},
		"a program":           {program, v1alpha1.ReasonRecipeMoved, "npx @example/notes, and not"},
		"tokens of elsewhere": {login, v1alpha1.ReasonRecipeMoved, "https://notes.example.com with tokens of https://evil.example.com, and not"},
	} {
		t.Run(name, func(t *testing.T) {
			all := secrets("NOTES_TOKEN", "NOTES_LANG")
			o := catalogOf(accepted(t, at("1.0.0", home), tt.next))
			was := after(named("mine", all), catalogOf(accepted(t, at("1.0.0", home))))
			got := onward(was, named("mine", all), o)
			expect(t, got.Status.Recipes[0], tt.reason, tt.says)
			if tt.reason == v1alpha1.ReasonRecipeInUse {
				return
			}
			runs(t, got, home)
			if diff := cmp.Diff(got, onward(got, named("mine", all), o)); diff != "" {
				t.Errorf("decided again (-first +second):\n%s", diff)
			}
			pinned := onward(got, named("mine", all, version("1.0.1")), o)
			expect(t, pinned.Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.1")
			expect(t, onward(pinned, named("mine", all), o).Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.1")
		})
	}
	version2 := notes(func(r *recipe.Recipe) {
		r.RecipeVersion, r.Install.Version, r.Transports[0].Args[1] = "1.0.1", "2.0.0", "@example/notes@2.0.0"
	})
	expect(t, after(named("mine"), catalogOf(accepted(t, notes())), catalogOf(accepted(t, notes(), version2))).Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.1")
	other := notes(func(r *recipe.Recipe) {
		r.RecipeVersion, r.Install.Package, r.Transports[0].Args[1] = "1.0.1", "@evil/notes", "@evil/notes@1.2.3"
	})
	expect(t, after(named("mine"), catalogOf(accepted(t, notes())), catalogOf(accepted(t, notes(), other))).Status.Recipes[0], v1alpha1.ReasonRecipeMoved, "npx @evil/notes, and not npx @example/notes")
}

// TestALatestVersionTakesNoMoreSecrets begins with a recipe that names none.
func TestALatestVersionTakesNoMoreSecrets(t *testing.T) {
	free := remote(func(r *recipe.Recipe) { r.Auth, r.Transports[0].Auth = nil, nil })
	greedy := remote(func(r *recipe.Recipe) {
		r.RecipeVersion, r.Auth.EnvVars = "1.0.1", []string{"GITHUB_TOKEN"}
		r.Transports[0].Auth.Token = "${GITHUB_TOKEN:-}"
	})
	o := catalogOf(accepted(t, free, greedy))
	was := after(named("mine"), catalogOf(accepted(t, free)))
	got := onward(was, named("mine"), o)
	expect(t, got.Status.Recipes[0], v1alpha1.ReasonRecipeSecretsAdded, "may not use: GITHUB_TOKEN; to take it list all its secrets in spec.servers[].secrets: GITHUB_TOKEN")
	runs(t, got, home)
	if s := bridgestate.Servers(effective.Of(got))[0]; len(s.Secrets) > 0 {
		t.Errorf("the server is %+v", s)
	}
	for what, s := range map[string]v1alpha1.Server{"listed": named("mine", secrets("GITHUB_TOKEN")), "pinned": named("mine", version("1.0.1"))} {
		took := onward(got, s, o)
		expect(t, took.Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.1")
		if diff := cmp.Diff([]string{"GITHUB_TOKEN"}, took.Status.Recipes[0].Secrets); diff != "" {
			t.Errorf("%s: secrets (-want +got):\n%s", what, diff)
		}
	}
	// Secrets that the spec bounds are not given out by what ran before.
	first := onward(was, named("mine", secrets("OTHER")), o)
	expect(t, first.Status.Recipes[0], v1alpha1.ReasonRecipeSecretsAdded, "GITHUB_TOKEN")
}

// TestTwoVersionsTakeNoMoreThanOne goes out of service between the one that ran
// and the one that asks for more.
func TestTwoVersionsTakeNoMoreThanOne(t *testing.T) {
	good := at("1.0.0", home)
	local := remote(func(r *recipe.Recipe) { r.RecipeVersion, r.LocalOnly.All = "1.0.1", true })
	bad := at("1.0.2", evil)
	got := after(named("mine"), catalogOf(accepted(t, good)), catalogOf(accepted(t, good, local)))
	expect(t, got.Status.Recipes[0], v1alpha1.ReasonRecipeLocalOnly, "")
	got = onward(got, named("mine"), catalogOf(accepted(t, good, local, bad)))
	expect(t, got.Status.Recipes[0], v1alpha1.ReasonRecipeMoved, "https://evil.example.com")
	runs(t, got, "")
	expect(t, onward(got, named("mine"), catalogOf(nil)).Status.Recipes[0], v1alpha1.ReasonRecipeNotFound, "")
	back := onward(got, named("mine"), catalogOf(accepted(t, good, local, bad, at("1.0.3", home))))
	expect(t, back.Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.3")
}

// TestASlipWhileARecipeIsKeptIsForgiven mends each slip again.
func TestASlipWhileARecipeIsKeptIsForgiven(t *testing.T) {
	kept := after(named("mine"), catalogOf(accepted(t, notes())), catalogOf(nil))
	for name, tt := range map[string]struct {
		server v1alpha1.Server
		c      Catalog
		reason string
	}{
		"a secret that is mistyped":        {named("mine", secrets("TYPO")), catalogOf(nil), v1alpha1.ReasonRecipeSecretNotGranted},
		"a version that is mistyped":       {named("mine", version("1.0.O")), catalogOf(nil), v1alpha1.ReasonRecipeNotFound},
		"an operator that lacks its image": {named("mine"), catalogOf(nil, v1alpha1.InstallNPX), v1alpha1.ReasonRecipeNotHostable},
	} {
		slipped := onward(kept, tt.server, tt.c)
		expect(t, slipped.Status.Recipes[0], tt.reason, "")
		if s := bridgestate.Servers(effective.Of(slipped)); len(s) > 0 {
			t.Errorf("%s: the server runs: %+v", name, s)
		}
		slipped = onward(slipped, tt.server, tt.c)
		if diff := cmp.Diff(kept, onward(slipped, named("mine"), catalogOf(nil))); diff != "" {
			t.Errorf("%s: mended (-before +after):\n%s", name, diff)
		}
	}
}

// TestAWithdrawnVersionStaysSo writes the recipe anew beside it, by which the
// verdict is about something else.
func TestAWithdrawnVersionStaysSo(t *testing.T) {
	o := accepted(t, at("1.0.0", home), at("1.0.1", home))
	o.Status.Versions[1].Withdrawn = true
	was := after(named("mine"), catalogOf(o))
	expect(t, was.Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.1")
	expect(t, onward(was, named("mine", version("1.0.0")), catalogOf(o)).Status.Recipes[0], v1alpha1.ReasonRecipeNotAccepted, "version 1.0.0 of recipe notes is not served any more")
	o.Status.Versions[0].Withdrawn = true
	o.Generation++
	gone := onward(was, named("mine"), catalogOf(o))
	expect(t, gone.Status.Recipes[0], v1alpha1.ReasonRecipeNotAccepted, "version 1.0.1 of recipe notes is not served any more")
	expect(t, onward(gone, named("mine"), catalogOf(nil)).Status.Recipes[0], v1alpha1.ReasonRecipeNotFound, "")

	behind := accepted(t, at("1.0.0", home), at("1.0.1", evil))
	stays := after(named("mine"), catalogOf(accepted(t, at("1.0.0", home))), catalogOf(behind))
	expect(t, stays.Status.Recipes[0], v1alpha1.ReasonRecipeMoved, "")
	behind.Status.Versions[1].Withdrawn = true
	expect(t, onward(stays, named("mine"), catalogOf(behind)).Status.Recipes[0], v1alpha1.ReasonRecipeNotAccepted, "version 1.0.0 of recipe notes is not served any more")
}

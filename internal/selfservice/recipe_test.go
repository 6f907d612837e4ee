// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// notes returns a recipe whose token comes from a page, and needs the words of how.
func notes(page, how string) recipe.Recipe {
	return recipe.Recipe{
		ID: "notes", Transports: []recipe.Transport{{
			Type: recipe.StreamableHTTP, URL: "https://n.example.com/mcp", Auth: &recipe.TransportAuth{Type: "bearer", Token: "${TOKEN}"},
		}},
		Auth: &recipe.Auth{Required: true, EnvVars: []string{"TOKEN"}, CredentialsURL: page, Instructions: how},
	}
}

// serving has the catalog serve versions of the recipe notes, the newest first, whose digests are 0, 1 and so on.
func serving(versions ...recipe.Recipe) func(string) *catalog.Entry {
	e := catalog.Entry{Name: "notes", Recipe: versions[0]}
	for i, r := range versions {
		e.Versions = append(e.Versions, catalog.Version{Digest: string(rune('0' + i)), Recipe: r})
	}
	return func(name string) *catalog.Entry {
		if name != "notes" {
			return nil
		}
		return &e
	}
}

// usingNotes returns the view of a bridge whose server s uses a version of the recipe notes.
func usingNotes(digest string, is health.Server) View {
	v := viewOf("s", "", "")
	v.Bridge.Spec.Servers[0].Recipe = &v1alpha1.RecipeReference{Name: "notes"}
	v.Bridge.Status.Recipes = []v1alpha1.RecipeStatus{{Server: "s", Digest: digest, Secrets: []string{"TOKEN"}, CredentialsURL: "https://used.example.com/keys"}}
	v.Report.Servers["s"] = is
	return v
}

func TestUsersSeeWhereSecretsComeFromAndWhetherTheyWork(t *testing.T) {
	newest, older := notes("https://keys.example.com/new", "Make a key that may read notes"), notes("https://keys.example.com/old", "Make an old key.")
	http := notes("http://keys.example.com", "Make one.")
	unset := health.Server{Status: health.Unhealthy, Reason: health.ReasonSecretMissing, Error: "secret TOKEN is not set"}
	for name, tt := range map[string]struct {
		digest  string
		is      health.Server
		catalog func(string) *catalog.Entry
		want    Credentials
	}{
		"before it is set": {"0", unset, serving(newest, older), Credentials{
			URL: "https://keys.example.com/new", Host: "keys.example.com", Instructions: "Make a key that may read notes.", State: CredentialsNotSet}},
		"by the version in use": {"1", unset, serving(newest, older), Credentials{
			URL: "https://keys.example.com/old", Host: "keys.example.com", Instructions: "Make an old key.", State: CredentialsNotSet}},
		"a version that the catalog has no more": {"7", unset, serving(newest), Credentials{
			URL: "https://used.example.com/keys", Host: "used.example.com", State: CredentialsNotSet}},
		"no catalog":           {"0", unset, nil, Credentials{URL: "https://used.example.com/keys", Host: "used.example.com", State: CredentialsNotSet}},
		"a page without https": {"0", unset, serving(http), Credentials{Instructions: "Make one.", State: CredentialsNotSet}},
		"it is refused": {"0", health.Server{Status: health.Unhealthy, Reason: health.ReasonCredentialsRefused}, serving(newest), Credentials{
			URL: "https://keys.example.com/new", Host: "keys.example.com", Instructions: "Make a key that may read notes.", State: CredentialsRefused}},
		"it is refused at first": {"0", health.Server{Status: health.Connecting, Failures: 1, Reason: health.ReasonCredentialsRefused}, serving(newest), Credentials{
			URL: "https://keys.example.com/new", Host: "keys.example.com", Instructions: "Make a key that may read notes.", State: CredentialsRefused}},
		"it works and is refused once": {"0", health.Server{Status: health.Healthy, Failures: 1, Reason: health.ReasonCredentialsRefused}, serving(newest), Credentials{
			URL: "https://keys.example.com/new", Host: "keys.example.com", Instructions: "Make a key that may read notes.", State: CredentialsWork}},
		"it works": {"0", health.Server{Status: health.Healthy}, serving(newest), Credentials{
			URL: "https://keys.example.com/new", Host: "keys.example.com", Instructions: "Make a key that may read notes.", State: CredentialsWork}},
		"it is being tried": {"0", health.Server{Status: health.Connecting}, serving(newest), Credentials{
			URL: "https://keys.example.com/new", Host: "keys.example.com", Instructions: "Make a key that may read notes.", State: CredentialsUnchecked}},
	} {
		t.Run(name, func(t *testing.T) {
			v := usingNotes(tt.digest, tt.is)
			v.Recipe = tt.catalog
			got := ServersOf(v).Servers[0]
			if got.Credentials == nil || got.Credentials.Check == "" {
				t.Fatalf("%+v", got)
			}
			if got.Fix != nil && got.Fix.Code == FixSetSecret && got.Fix.URL != tt.want.URL {
				t.Errorf("the fix leads to %q", got.Fix.URL)
			}
			tt.want.Check = got.Credentials.Check
			if diff := cmp.Diff(&tt.want, got.Credentials); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsersSeeWhatAnOfferedServerNeeds(t *testing.T) {
	v := viewOf("", "Optional x:Off,Optional plain:Off,Optional shared:Off", "")
	offers := v.Bridge.Status.Effective.Servers
	offers[0].Recipe, offers[1].Recipe, offers[2].Recipe, offers[2].Shared = "notes", "other", "notes", "team"
	v.Recipe = serving(notes("https://keys.example.com/new", ""))
	servers := ServersOf(v).Servers
	x := servers[0]
	want := &Credentials{URL: "https://keys.example.com/new", Host: "keys.example.com", State: CredentialsUnchecked, Check: checkOff}
	if diff := cmp.Diff(want, x.Credentials); diff != "" || len(x.Secrets) != 1 || x.Secrets[0] != "TOKEN" {
		t.Errorf("secrets %q (-want +got):\n%s", x.Secrets, diff)
	}
	for _, s := range servers[1:] {
		if s.Credentials != nil || s.Secrets == nil || len(s.Secrets) > 0 {
			t.Errorf("%+v needs nothing of the user", s)
		}
	}
}

func TestAnAccountIsConnectedAndNoSecretIsAskedFor(t *testing.T) {
	v := viewOf("s", "", "")
	v.Bridge.Spec.Servers[0].Secrets = []v1alpha1.SecretName{"TOKEN"}
	login(&v)
	if got := ServersOf(v).Servers[0]; got.Credentials != nil {
		t.Errorf("%+v", got.Credentials)
	}
	v.ConnectPage = nil // The tokens are set as a secret then.
	if got := ServersOf(v).Servers[0]; got.Credentials == nil {
		t.Error("nothing is said of the tokens")
	}
}

func TestPagesToWhichNobodyIsSent(t *testing.T) {
	for raw, want := range map[string]string{
		"https://keys.example.com/a?b=c": "keys.example.com", "https://keys.example.com:8443": "keys.example.com:8443",
		"http://keys.example.com": "", "javascript:alert(1)": "", "https://": "", "": "", "https://good.example.com@evil.example.com/": "",
		"https://" + strings.Repeat("a", 68) + ".example.com/":             strings.Repeat("a", 68) + ".example.com",
		"https://github.com." + strings.Repeat("a", 57) + ".evil.example/": "",
		"https://gith\u0443b.com/":                                         "", "https://a b/": "", "//keys.example.com": "",
	} {
		page, host := safePage(raw)
		if host != want || (page == "") != (want == "") {
			t.Errorf("%q: %q %q, want %q", raw, page, host, want)
		}
	}
}

func TestWhatCannotRunHereIsNoOffer(t *testing.T) {
	e := catalog.Entry{Recipe: notes("https://keys.example.com", ""), Here: &catalog.Here{Reason: "NotHostable", Why: "transports[0]: set bridge.runtimes.python in the values of the chart"}}
	recipes := Recipes(func(name string) *catalog.Entry {
		if name == "notes" {
			return &e
		}
		return nil
	})
	view := func(entries, choices string) View {
		v := viewOf("", entries, choices)
		for i := range v.Bridge.Status.Effective.Servers {
			v.Bridge.Status.Effective.Servers[i].Recipe = "notes"
		}
		v.Recipe = recipes
		return v
	}
	v := view("Optional x:Off,OnRequest y:NotApproved", "")
	if got := ServersOf(v).Servers; len(got) > 0 {
		t.Errorf("offered: %+v", got)
	}
	if got := Askable(v.Bridge, recipes); len(got) > 0 {
		t.Errorf("to ask for: %v", got)
	}
	if err := Permit(v.Bridge, recipes, "x", Choice{Use: v1alpha1.ChoiceOn}); err == nil || !strings.Contains(err.Error(), "cannot run") {
		t.Errorf("turned on: %v", err)
	}
	if err := Permit(v.Bridge, recipes, "x", Choice{Use: v1alpha1.ChoiceOff}); err != nil {
		t.Errorf("turned off: %v", err)
	}
	if got := short(ServersOf(view("Optional x:Off", "x=Off")).Servers[0]); got != "x off/off remove [clear]" {
		t.Errorf("with a choice: %s", got)
	}
	on := view("Optional x", "x=On")
	on.Report.Servers["x"] = health.Server{Status: health.Unhealthy, Reason: reasonNotHostable, Error: e.Here.Why}
	if s := ServersOf(on).Servers[0]; s.Message != "This installation cannot run the server." || s.Fix == nil || s.Fix.Code != FixRemove {
		t.Errorf("turned on before: %s: %s", short(s), s.Message)
	}
	e.Here.Runs = true
	if got := short(ServersOf(v).Servers[0]); got != "x off/off turn_on [turn_on]" {
		t.Errorf("once it runs here: %s", got)
	}
	if got := Askable(v.Bridge, recipes); len(got) != 1 {
		t.Errorf("once it runs here, to ask for: %v", got)
	}
}

func TestWhatCannotRunHereIsTheNewestVersion(t *testing.T) {
	entries := serving(notes("https://keys.example.com/new", ""), notes("https://keys.example.com/old", ""), notes("https://keys.example.com/withdrawn", ""))
	e := entries("notes")
	e.Here, e.Versions[2].Withdrawn = &catalog.Here{Reason: "NotHostable"}, true
	for i, version := range []string{"3.0.0", "2.0.0", "1.0.0"} {
		e.Versions[i].Version = version
	}
	for version, want := range map[string]string{
		"": "", "3.0.0": "", "2.0.0": "x off/off turn_on [turn_on] https://keys.example.com/old", "1.0.0": "x off/off turn_on [turn_on] ", "0.1.0": "x off/off turn_on [turn_on] ",
	} {
		v := viewOf("", "Optional x:Off", "")
		v.Bridge.Status.Effective.Servers[0].Recipe, v.Bridge.Status.Effective.Servers[0].RecipeVersion, v.Recipe = "notes", version, entries
		got := ""
		for _, s := range ServersOf(v).Servers {
			if got = short(s) + " "; s.Credentials != nil {
				got += s.Credentials.URL
			}
		}
		if got != want {
			t.Errorf("version %q: %q, want %q", version, got, want)
		}
		if err := Permit(v.Bridge, entries, "x", Choice{Use: v1alpha1.ChoiceOn}); (err == nil) != (want != "") {
			t.Errorf("version %q is turned on: %v", version, err)
		}
	}
}

func TestAnOfferSaysWhoMakesTheServerAndSomeOfItsTools(t *testing.T) {
	r := notes("", "")
	r.Metadata.Author, r.Metadata.Icon = "Example", "data:image/png;base64,x"
	for i := range 12 {
		r.Metadata.ToolExamples = append(r.Metadata.ToolExamples, recipe.ToolExample{Name: string(rune('a' + i))})
	}
	v := viewOf("", "Optional x:Off", "")
	v.Bridge.Status.Effective.Servers[0].Recipe, v.Recipe = "notes", serving(r)
	if s := ServersOf(v).Servers[0]; s.Author != "Example" || strings.Join(s.KnownTools, "") != "abcdefghij" {
		t.Errorf("%q %q", s.Author, s.KnownTools)
	}
	has := usingNotes("0", health.Server{Status: health.Healthy})
	has.Recipe = serving(r)
	if s := ServersOf(has).Servers[0]; s.Author != "Example" || s.Icon != r.Metadata.Icon || s.KnownTools != nil {
		t.Errorf("a server of the bridge: %q %q", s.Author, s.KnownTools)
	}
}

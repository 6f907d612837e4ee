// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// telling returns a version of a program that is told where to go.
func telling(version string, change func(*recipe.Recipe)) recipe.Recipe {
	return notes(func(r *recipe.Recipe) { r.RecipeVersion = version; change(r) })
}

func argument(arg string) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) { r.Transports[0].Args = append(r.Transports[0].Args, arg) }
}

func environment(value string) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) {
		r.Transports[0].Env = append(r.Transports[0].Env, jsondoc.Entry[string]{Name: "NOTES_API_URL", Value: value})
	}
}

func configured(content string) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) {
		r.Install.ConfigFiles = []recipe.ConfigFile{{Name: "notes.json", Content: content}}
	}
}

// TestAProgramIsNotFollowedToAnotherHost has one that sends the user's secrets
// to where its recipe tells it to.
func TestAProgramIsNotFollowedToAnotherHost(t *testing.T) {
	for name, tt := range map[string]struct {
		was, is func(*recipe.Recipe)
		reason  string
	}{
		"an argument":              {argument(home), argument(evil), v1alpha1.ReasonRecipeMoved},
		"a flag":                   {argument("--url=" + home), argument("--url=" + evil), v1alpha1.ReasonRecipeMoved},
		"a variable":               {environment(home), environment(evil), v1alpha1.ReasonRecipeMoved},
		"a file":                   {configured(`{"url":"` + home + `"}`), configured(`{"url":"` + evil + `"}`), v1alpha1.ReasonRecipeMoved},
		"a file that escapes":      {configured(`{"url":"` + home + `"}`), configured(`{"url":"https:\/\/evil.example.com\/mcp"}`), v1alpha1.ReasonRecipeMoved},
		"one that was told none":   {func(*recipe.Recipe) {}, argument(evil), v1alpha1.ReasonRecipeMoved},
		"one more":                 {argument(home), argument(home + "," + evil), v1alpha1.ReasonRecipeMoved},
		"one that is told none":    {argument(home), func(*recipe.Recipe) {}, v1alpha1.ReasonRecipeMoved},
		"another scheme":           {argument(home), argument("ws://notes.example.com"), v1alpha1.ReasonRecipeMoved},
		"another port":             {argument(home), argument("https://notes.example.com:8443"), v1alpha1.ReasonRecipeMoved},
		"a database":               {environment("postgres://a:${NOTES_TOKEN}@db.example.com/notes"), environment("postgres://a:${NOTES_TOKEN}@evil.example.com/notes"), v1alpha1.ReasonRecipeMoved},
		"a default":                {environment("${NOTES_LANG:-" + home + "}"), environment("${NOTES_LANG:-" + evil + "}"), v1alpha1.ReasonRecipeMoved},
		"a default of the host":    {environment("https://${NOTES_LANG:-a/b}.example.com"), environment("https://${NOTES_LANG:-a/b}.evil.com"), v1alpha1.ReasonRecipeMoved},
		"as a user":                {argument("https://notes.example.com"), argument("https://notes.example.com@evil.example.com"), v1alpha1.ReasonRecipeMoved},
		"with a line break":        {argument("https://notes.example.com"), argument("https://notes.example.com\n.evil.com"), v1alpha1.ReasonRecipeMoved},
		"too few slashes":          {argument(home), argument("https:evil.example.com/mcp"), v1alpha1.ReasonRecipeMoved},
		"an address":               {argument("http://[2001:db8::1]/mcp"), argument("http://[2001:db8::2]/mcp"), v1alpha1.ReasonRecipeMoved},
		"another path":             {argument(home), argument(home + "/v2?lang=en"), v1alpha1.ReasonRecipeInUse},
		"another spelling":         {argument(home), argument("HTTPS://NOTES.example.com:443/mcp"), v1alpha1.ReasonRecipeInUse},
		"in another order":         {argument(home + " " + evil), argument(evil + " " + home), v1alpha1.ReasonRecipeInUse},
		"told elsewhere":           {argument(home), environment(home), v1alpha1.ReasonRecipeInUse},
		"other words":              {argument("--sort=name:asc"), argument("--sort=date:desc"), v1alpha1.ReasonRecipeInUse},
		"a file's next line":       {configured("url: https://notes.example.com\nlang: en"), configured("url: https://notes.example.com\nlang: de"), v1alpha1.ReasonRecipeInUse},
		"a host without a scheme":  {argument("notes.example.com"), argument("evil.example.com"), v1alpha1.ReasonRecipeInUse},
		"a sentence with a colon:": {argument("http: see below"), argument("http: see above"), v1alpha1.ReasonRecipeInUse},
	} {
		t.Run(name, func(t *testing.T) {
			first, next := telling("1.0.0", tt.was), telling("1.0.1", tt.is)
			got := after(named("mine"), catalogOf(accepted(t, first)), catalogOf(accepted(t, first, next)))
			expect(t, got.Status.Recipes[0], tt.reason, "")
		})
	}
}

// TestALoginIsNotFollowedToAnotherPage has people be sent to log in elsewhere by
// a recipe whose server they trust.
func TestALoginIsNotFollowedToAnotherPage(t *testing.T) {
	with := func(version, page string) recipe.Recipe {
		return remote(func(r *recipe.Recipe) {
			r.RecipeVersion = version
			r.Transports[0].Auth = &recipe.TransportAuth{
				Type: "oauth2", GrantType: "authorization_code", ClientID: "bridges",
				AuthorizationURL: page, TokenURL: "https://login.example.com/token",
			}
		})
	}
	const place = "https://notes.example.com with tokens of https://login.example.com"
	for name, tt := range map[string]struct {
		was, is string
		reason  string
		place   string
	}{
		"another path":     {"https://login.example.com/a", "https://login.example.com/b", v1alpha1.ReasonRecipeInUse, place},
		"another spelling": {"https://accounts.example.com/a", "https://ACCOUNTS.example.com:443/a", v1alpha1.ReasonRecipeInUse, place + " and logins at https://accounts.example.com"},
		"another host":     {"https://login.example.com/a", "https://evil.example.com/a", v1alpha1.ReasonRecipeMoved, place},
		"the server's":     {"https://login.example.com/a", "https://notes.example.com/a", v1alpha1.ReasonRecipeMoved, place},
		"back to the tokens'": {
			"https://accounts.example.com/a", "https://login.example.com/a", v1alpha1.ReasonRecipeMoved, place + " and logins at https://accounts.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			first, next := with("1.0.0", tt.was), with("1.0.1", tt.is)
			got := after(named("mine"), catalogOf(accepted(t, first)), catalogOf(accepted(t, first, next))).Status.Recipes[0]
			expect(t, got, tt.reason, "")
			if got.Place != tt.place {
				t.Errorf("place = %q, want %q", got.Place, tt.place)
			}
		})
	}
}

func TestAPlaceNamesWhatAProgramIsTold(t *testing.T) {
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf("https://host-%d.example.com/a", i)
	}
	for name, tt := range map[string]struct {
		change func(*recipe.Recipe)
		place  string
	}{
		"none":  {func(*recipe.Recipe) {}, "npx @example/notes"},
		"two":   {argument(home + " https://a.example.com:443/x " + home), "npx @example/notes with https://a.example.com, https://notes.example.com"},
		"a lot": {configured(strings.Join(many, "\n")), "npx @example/notes with 100 origins (sha256:"},
	} {
		got := after(named("mine"), catalogOf(accepted(t, telling("1.0.0", tt.change)))).Status.Recipes[0]
		if name == "a lot" && strings.HasPrefix(got.Place, tt.place) && len(got.Place) < 200 {
			continue
		}
		if got.Place != tt.place {
			t.Errorf("%s: %q, want %q: %s", name, got.Place, tt.place, got.Message)
		}
	}
}

// TestAMoveSaysWhatToDo has hosts that leave no room for it.
func TestAMoveSaysWhatToDo(t *testing.T) {
	far := at("1.0.1", "https://"+strings.Repeat("a", 1500)+".evil.com/mcp")
	got := after(named("mine"), catalogOf(accepted(t, at("1.0.0", home))), catalogOf(accepted(t, at("1.0.0", home), far))).Status.Recipes[0]
	for _, part := range []string{".evil.com, and not https://notes.example.com; to take it set spec.servers[].recipe.version to 1.0.1; the server stays what version 1.0.0 says", "https://aaa"} {
		expect(t, got, v1alpha1.ReasonRecipeMoved, part)
	}
	if s := shown(strings.Repeat("é", 300)); len(s) > shownLimit || !utf8.ValidString(s) {
		t.Errorf("%d bytes: %s", len(s), s)
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/resolve"
)

// CredentialState is what is known of the secrets that a server needs.
type CredentialState string

// The states of credentials.
const (
	// CredentialsNotSet: the server waits for a secret.
	CredentialsNotSet CredentialState = "not_set"
	// CredentialsUnchecked: the server has not used the secrets yet.
	CredentialsUnchecked CredentialState = "unchecked"
	// CredentialsWork: the bridge is connected to the server with the secrets.
	CredentialsWork CredentialState = "work"
	// CredentialsRefused: the server refuses the secrets.
	CredentialsRefused CredentialState = "refused"
)

// Credentials say where a user gets the secrets of a server, what these must allow, and
// whether the server works with them.
type Credentials struct {
	// URL is the page on which the user gets the secrets, and Host its host. The page has
	// https. Both are empty if the recipe names no such page.
	URL  string `json:"url,omitempty"`
	Host string `json:"host,omitempty"`
	// Instructions say what to make there, and Scopes what it must allow, as the recipe has
	// it. They are empty if it does not say.
	Instructions string          `json:"instructions,omitempty"`
	Scopes       []string        `json:"scopes,omitempty"`
	State        CredentialState `json:"state"`
	// Check is one sentence: how the user sees whether the secrets work.
	Check string `json:"check"`
}

// checks say how a user sees whether secrets work.
var checks = map[CredentialState]string{
	CredentialsNotSet:    "Some seconds after you set it, the server is shown as working, or as refusing it.",
	CredentialsUnchecked: "The server is shown as working, or as refusing it, once the bridge has connected to it.",
	CredentialsWork:      "The server is connected; try a tool to see that the service accepts it, because some check it only then.",
	CredentialsRefused:   "The server refuses it: get another one and replace it.",
}

// checkOff says the same of a server that the bridge does not have.
const checkOff = "Turn the server on: then it is shown as working, or as refusing it."

// Recipes returns what the catalog has of a recipe, nil for one that it does not serve.
type Recipes func(name string) *catalog.Entry

func (r Recipes) entry(name string) *catalog.Entry {
	if r == nil || name == "" {
		return nil
	}
	return r(name)
}

// Excludes reports whether this installation is known not to run what a profile offers, such as
// a recipe of a runtime that it lacks. It reports false where nothing is known: the catalog
// judges the newest version of a recipe alone, and a profile may name an older one.
func (r Recipes) Excludes(o v1alpha1.EffectiveServer) bool {
	e := r.entry(o.Recipe)
	if e == nil || e.Here == nil || e.Here.Runs {
		return false
	}
	return o.RecipeVersion == "" || len(e.Versions) > 0 && e.Versions[0].Version == o.RecipeVersion
}

// maxKnownTools is how many tools of a recipe an offer names: enough to see what a server does.
const maxKnownTools = 10

// ofRecipe adds what the recipe of a server says.
func ofRecipe(v View, s Server) Server {
	r, known := recipeInUse(v, s)
	if !known {
		// What another version is for says enough of a server that runs. It does not of an offer.
		if e := v.Recipe.entry(s.Recipe); e != nil && s.Has() {
			s.Description = cmp.Or(s.Description, e.Recipe.Description)
		}
		return s
	}
	s.Description, s.Author = cmp.Or(s.Description, r.Description), r.Metadata.Author
	s.Icon = r.Metadata.Icon
	if s.Program == nil && v.Program != nil {
		s.Program = v.Program(r, nil)
	}
	if s.Has() {
		return s
	}
	for _, t := range r.Metadata.ToolExamples[:min(len(r.Metadata.ToolExamples), maxKnownTools)] {
		s.KnownTools = append(s.KnownTools, t.Name)
	}
	if !isShared(v.Bridge, s.Name) {
		s.Secrets = secretsOf(r)
	}
	return s
}

// secretsOf returns the secrets that a bridge would ask for by a recipe.
func secretsOf(r recipe.Recipe) []string {
	server, _ := resolve.Hosted(r)
	return append([]string{}, server.Secrets...)
}

// isShared reports whether a server uses the secrets of a SharedServer and none of the user.
func isShared(b *effective.Bridge, server string) bool {
	e, offers := entry(b, server)
	return offers && e.Shared != ""
}

// credentialsOf returns what the user has to know of the secrets of a server, nil if they set
// none: a server without secrets, or one of an account that is connected on a page.
func credentialsOf(v View, s Server) *Credentials {
	names := s.Secrets
	if login := loginOf(v.Bridge, s.Name); login != nil && v.page(s) != "" {
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == string(login.TokenSecret) })
	}
	if len(names) == 0 {
		return nil
	}
	c := &Credentials{State: credentialState(v, s)}
	c.Check = checks[c.State]
	if !s.Has() {
		c.Check = checkOff
	}
	page := ""
	if r, known := recipeInUse(v, s); known && r.Auth != nil {
		page, c.Scopes = r.Auth.CredentialsURL, r.Auth.Scopes
		c.Instructions = asSentence(cmp.Or(r.Auth.Instructions, r.Metadata.AuthSummary))
	} else if status := statusOf(v.Bridge, s.Name); status != nil && s.Has() {
		page = status.CredentialsURL
	}
	c.URL, c.Host = safePage(page)
	return c
}

func credentialState(v View, s Server) CredentialState {
	switch {
	case !s.Has():
		return CredentialsUnchecked
	case s.Reason == health.ReasonSecretMissing, len(v.missing(s)) > 0:
		return CredentialsNotSet
	case refuses(s):
		return CredentialsRefused
	case s.State == health.Healthy:
		return CredentialsWork
	}
	return CredentialsUnchecked
}

// recipeInUse returns the version of the recipe that a server of the bridge uses, or would use
// if it were turned on. It reports false for a version that the catalog has no more: another one
// may be of another owner, who may send users elsewhere.
func recipeInUse(v View, s Server) (recipe.Recipe, bool) {
	e := v.Recipe.entry(s.Recipe)
	if e == nil {
		return recipe.Recipe{}, false
	}
	digest, pinned := "", ""
	if s.Has() {
		if status := statusOf(v.Bridge, s.Name); status != nil {
			digest = status.Digest
		}
	} else {
		offer, _ := entry(v.Bridge, s.Name)
		if pinned = offer.RecipeVersion; pinned == "" {
			return e.Recipe, true
		}
	}
	for _, of := range e.Versions {
		if digest != "" && of.Digest == digest || pinned != "" && of.Version == pinned {
			return of.Recipe, !of.Withdrawn
		}
	}
	return recipe.Recipe{}, false
}

// maxHost is the longest host of a page in characters: the console shows the beginning of a
// longer one (pages.NameLength), and the owner of a host is at its end.
const maxHost = 80

// statusOf returns the state of a server's recipe, nil for a server without one.
func statusOf(b *effective.Bridge, server string) *v1alpha1.RecipeStatus {
	at := slices.IndexFunc(b.Status.Recipes, func(r v1alpha1.RecipeStatus) bool { return r.Server == server })
	if at < 0 {
		return nil
	}
	return &b.Status.Recipes[at]
}

// safePage returns a page to which a user may be sent with the intention to make a token, and
// its host as they read it; neither if it is no such page. A host of other letters than
// ASCII's may look like another one, and so does the beginning of a long one.
func safePage(raw string) (page, host string) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", ""
	}
	if len(u.Host) > maxHost || strings.ContainsFunc(u.Host, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", ""
	}
	return u.String(), u.Host
}

// asSentence returns a text of a recipe as a sentence.
func asSentence(text string) string {
	if text = strings.TrimSpace(text); text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

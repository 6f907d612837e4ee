// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// walk is the way of a person through the pages, link by link: nobody types an address but the
// first one.
type walk struct {
	*person

	// follow is how the person follows links and sends forms: with the mouse or the keyboard.
	follow string
	// browser is what the person sits before. Everybody on the walk has one of this kind.
	browser browser
	// era is the protocol of the person's app.
	era string
}

// peopleWalk walks with scripts in a wide window, and without in a narrow one. Each page is
// looked at in both widths.
func peopleWalk(t *testing.T) {
	for name, w := range map[string]walk{
		"mouse":    {follow: "press", era: "modern", browser: browser{Widths: []int{1280, 390}}},
		"keyboard": {follow: "type", era: "legacy", browser: browser{Widths: []int{390, 1280}, Plain: true}},
	} {
		t.Run("with a "+name, func(t *testing.T) {
			t.Parallel()
			w.browser.Hosts, w.browser.Ours = identityHosts, installed.url
			w.firstDays(t, newWalker(t, name))
		})
	}
}

// walker is somebody with a bridge without servers.
type walker struct {
	tenant

	// who is their name at the identity provider.
	who string
	// secret is the name of the token of github, and token one that its server knows.
	secret, token string
}

// newWalker makes a person and a profile that offers them github, by the installation's own
// recipe with the address of a stand-in, and notes on request.
func newWalker(t *testing.T, short string) walker {
	t.Helper()
	n := walker{tenant: tenant{name: installed.name("walks-" + short)}, who: "walks-" + short, token: left.token(t)}
	r := must.Value(recipe.Parse(must.Value(os.ReadFile("../../config/recipes/github/recipe.json"))(t)))(t).Recipe
	n.secret = r.Auth.EnvVars[0]
	r.ID, r.Transports[0].URL, r.Metadata.SelfHosted = installed.name("github-"+short), left.server().Transport.URL, true
	provideRecipe(t, r)
	p := &v1alpha1.BridgeProfile{ObjectMeta: bridge(n.name, nil).ObjectMeta, Spec: v1alpha1.BridgeProfileSpec{
		Who: v1alpha1.ProfileSubjects{Namespaces: []string{installed.namespace}, Users: []v1alpha1.UserID{v1alpha1.UserID(n.name)}},
		Servers: []v1alpha1.ProfileServer{
			{Use: v1alpha1.ServerOptional, Server: v1alpha1.Server{Name: "github", Recipe: &v1alpha1.RecipeReference{Name: r.ID}}},
			{Use: v1alpha1.ServerOnRequest, Server: bridge("", nil, "notes").Spec.Servers[0]},
		},
	}}
	p.Namespace = systemNamespace
	must.Succeed(t, installed.client.Create(t.Context(), p))
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(installed.client.Delete(context.WithoutCancel(t.Context()), p)); err != nil {
			t.Error(err)
		}
	})
	b := bridge(n.name, nil)
	b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: identityIssuer, Subject: n.who}}}
	n.uid = create(t, b)
	awaitReady(t, n.name)
	return n
}

// firstDays are a person's first days: the first visit, the first server and its token, the key of
// an app, and a server that an administrator has to approve.
func (w walk) firstDays(t *testing.T, n walker) {
	t.Helper()
	w.person = newPerson(t, w.browser)
	w.says(t, w.does(t, "open", installed.url+"/"), "All your tools behind one address", "Log in to see yours")
	w.comesIn(t, n)
	w.says(t, w.does(t, "look"), "Your bridge has no servers yet", "Three steps to your first tool", "No servers yet")
	w.turnsOnGitHub(t, n)
	w.goes(t, "Try whoami", "Says what came with the call", "Try it")
	w.goes(t, "Run whoami", "Done", "Result", apikey.HashOf(n.token).String())
	w.goes(t, "Home", "Your address")
	w.until(t, "Your server works")
	address, key := w.makesAKey(t, n)
	w.appHasTools(t, n, address, key)
	w.asks(t, n)
	w.goes(t, "Log out", "You are logged out")
	w.administratorApproves(t, n)
	n.daysPass(t)
	w.comesIn(t, n)
	approved, ends := "Your request for notes was approved. Turn it on.", "The key "+n.app()+" ends soon. Make another one for the apps that use it."
	w.says(t, w.does(t, "look"), "Since your last visit", approved, "For the handbook.", ends)
	w.goes(t, ends, "Your keys", n.app(), "Ends on")
	w.goes(t, "Home", "Since your last visit")
	w.goes(t, approved, "Off")
	w.goes(t, "Turn on notes", "The server is being turned on")
	w.goes(t, "Home", "Since your last visit")
	w.until(t, "Your servers work")
}

// app is the name of the key of the person's app.
func (n walker) app() string { return "desk-of-" + n.who }

// daysPass makes what the installation keeps of the person older: the last visit by ten days, and
// their key by thirty, so that it came to its last three days meanwhile.
func (n walker) daysPass(t *testing.T) {
	t.Helper()
	earlier := func(at metav1.Time, days int) metav1.Time { return metav1.NewTime(at.AddDate(0, 0, -days)) }
	wait.NoError(t, wait.Limit, "days have passed", func(ctx context.Context) error {
		b, err := getBridge(ctx, n.name)
		if err != nil {
			return err
		}
		if b.Status.Visits == nil {
			return errors.New("no visit is kept")
		}
		for i, of := range b.ManagedFields {
			if strings.HasSuffix(of.Manager, b.Spec.APIKeys[0].ID) {
				b.ManagedFields[i].Time = new(earlier(*of.Time, 30))
			}
		}
		if err := installed.client.Update(ctx, b); err != nil {
			return err
		}
		before := b.DeepCopy()
		b.Status.Visits.Last.Time = earlier(b.Status.Visits.Last.Time, 10)
		return installed.client.Status().Patch(ctx, b, client.MergeFrom(before))
	})
}

// goes follows a link or sends a form, and checks the page to which it leads.
func (w walk) goes(t *testing.T, link string, words ...string) view {
	t.Helper()
	v := w.does(t, w.follow, link)
	w.says(t, v, words...)
	return v
}

// until has the person load the page again until it says the words.
func (w walk) until(t *testing.T, words string) view {
	t.Helper()
	return w.sees(t, words, "reload")
}

// updated waits until the script of the page has brought the words. Without scripts the person
// loads the page again.
func (w walk) updated(t *testing.T, words string) view {
	t.Helper()
	if w.browser.Plain {
		return w.until(t, words)
	}
	return w.sees(t, words, "look")
}

// sees has the person look, and then do something again and again until the page says the words.
func (w walk) sees(t *testing.T, words, again string) (v view) {
	t.Helper()
	act := "look"
	wait.NoError(t, wait.Limit, "the page says "+words, func(context.Context) (err error) {
		v, err = w.try(act)
		if act = again; err == nil && !strings.Contains(v.Text, words) {
			err = fmt.Errorf("status %d at %s: it says %.600s", v.Status, v.path(), v.Text)
		}
		return err
	})
	w.says(t, v)
	return v
}

// comesIn logs the person in at the identity provider, and has them choose the bridge that is
// theirs already.
func (w walk) comesIn(t *testing.T, n walker) {
	t.Helper()
	w.goes(t, "Log in", "Log in to see your bridge")
	v := must.Value(w.saysWho(w.does(t, w.follow, atIdentity.link()), n.who))(t)
	w.says(t, v, n.name)
	at := slices.IndexFunc(v.Choices, func(c string) bool { return strings.Contains(c, n.name) })
	if at < 0 {
		t.Fatalf("the page does not have the person choose %s: %.800s", n.name, v.Text)
	}
	w.does(t, "choose", v.Choices[at])
	w.goes(t, "Continue", "Your address", n.url())
}

// turnsOnGitHub turns github on, and gives it a token that its server refuses, and then one that
// it accepts.
func (w walk) turnsOnGitHub(t *testing.T, n walker) {
	t.Helper()
	where := []string{"Get it at github.com", "Create a personal access token with the permissions that the agent may have."}
	w.goes(t, "Add a server", "What your profiles offer")
	w.says(t, w.until(t, where[0]), append(where, "It needs from you: "+n.secret, "Turn the server on: then it is shown as working, or as refusing it.")...)
	w.goes(t, "Turn on github", "The server is being turned on")
	w.says(t, w.updated(t, "Needs a secret"), where...)
	v := w.goes(t, "Set the secret", append(where, "Not set: the server waits for it", "Some seconds after you set it")...)
	if !slices.Contains(v.Links, "github.com") {
		t.Errorf("the page has no link to where the token comes from: %q", v.Links)
	}
	w.does(t, "fill", n.secret, newToken())
	w.goes(t, "Set "+n.secret, "Secret saved", "Check again")
	w.says(t, w.until(t, "The server refuses it: get another one and replace it."), append(where, "Needs a secret")...)
	w.does(t, "fill", n.secret, n.token)
	w.goes(t, "Replace "+n.secret, "Secret saved")
	// The page has the tools as soon as the server lists them, and its state some seconds later.
	w.says(t, w.until(t, "The server is connected"), "Works", "Says what came with the call", "whoami")
}

var (
	addressInPage = regexp.MustCompile(`http\S+/u/\S+/mcp`)
	keyInPage     = regexp.MustCompile(`\bhb_[A-Za-z0-9_-]{20,}`)
)

// makesAKey has the person look how an app is set up, and make a key for it. They load the page
// with the key again, which has it no more and makes no other one.
func (w walk) makesAKey(t *testing.T, n walker) (address, key string) {
	t.Helper()
	address = addressInPage.FindString(w.goes(t, "Connect an app", "Your address", "An app that cannot log in takes a key").Text)
	if address != n.url() {
		t.Errorf("the page says the address %q, not %s", address, n.url())
	}
	w.goes(t, "a key", "Your keys", "No keys yet")
	name := n.app()
	w.does(t, "fill", "Name", name)
	w.does(t, "fill", "Lasts", "2d")
	key = keyInPage.FindString(w.goes(t, "Make a key", "Copy this key now", name, "See how each app takes it").Text)
	if key == "" {
		t.Fatal("the page does not have the key")
	}
	v := w.does(t, "reload")
	w.says(t, v, "If you did not copy it, revoke it and make another.")
	if strings.Contains(v.Text, key) || strings.Contains(v.Text, "Copy this key now") || strings.Count(v.Text, name) != 1 {
		t.Errorf("the page after the one with the key: %s", redact(v.Text, key))
	}
	if b := must.Value(getBridge(t.Context(), n.name))(t); len(b.Spec.APIKeys) != 1 {
		t.Errorf("the person has %d keys, want 1", len(b.Spec.APIKeys))
	}
	return address, key
}

// appHasTools has an app of the person list the tools and call one, which the server answers by
// the person's token.
func (w walk) appHasTools(t *testing.T, n walker, address, key string) {
	t.Helper()
	wait.NoError(t, wait.Limit, "an app has the tools", func(context.Context) error {
		tools, err := inspectorTools(t, w.era, address, key)
		if err == nil && !slices.Contains(tools, "whoami") {
			err = fmt.Errorf("it lists %v", tools)
		}
		return err
	})
	var saw presented
	must.Succeed(t, json.Unmarshal([]byte(must.Value(inspectorCall(t, w.era, address, key, "whoami"))(t)), &saw))
	if saw.Token != apikey.HashOf(n.token).String() {
		t.Error("the server was given another token than that of the person")
	}
	w.goes(t, "Home", "Your address")
	w.says(t, w.until(t, "Latest calls"), "Your server works", "whoami")
}

// asks has the person ask for a server.
func (w walk) asks(t *testing.T, n walker) {
	t.Helper()
	w.goes(t, "Catalog", "On request")
	w.goes(t, "Ask for notes", "Ask for this server", "Why you need it")
	w.does(t, "fill", "Why you need it", "I write for "+n.who+".")
	w.goes(t, "Ask for notes", "An administrator has your request", "Nobody has answered yet")
}

// administratorApproves has an administrator approve the request in their console.
func (w walk) administratorApproves(t *testing.T, n walker) {
	t.Helper()
	w.person = newPerson(t, w.browser)
	w.says(t, w.does(t, "open", installed.url+"/console"), "Log in as an administrator")
	w.does(t, "fill", "Admin key", adminKey(t))
	w.goes(t, "Log in with the admin key", "for an answer.")
	w.goes(t, "See what users ask for", n.name, "I write for "+n.who+".")
	w.goes(t, "Answer "+n.name+" about notes", "asks for notes")
	w.does(t, "fill", "Reason", "For the handbook.")
	w.goes(t, "Approve", "The request is approved", "For the handbook.")
	w.goes(t, "Log out", "You are logged out")
}

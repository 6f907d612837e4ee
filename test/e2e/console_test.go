// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// offerServer makes a profile that offers the tenant a server for a use.
func offerServer(t *testing.T, n tenant, name string, use v1alpha1.ServerUse) {
	t.Helper()
	group := installed.name("offered-" + name)
	p := &v1alpha1.BridgeProfile{
		ObjectMeta: bridge(group, nil).ObjectMeta,
		Spec: v1alpha1.BridgeProfileSpec{
			Who:     v1alpha1.ProfileSubjects{Namespaces: []string{installed.namespace}, Users: []v1alpha1.UserID{v1alpha1.UserID(n.name)}},
			Servers: []v1alpha1.ProfileServer{{Use: use, Server: bridge("", nil, name).Spec.Servers[0]}},
		},
	}
	p.Namespace = systemNamespace
	must.Succeed(t, installed.client.Create(t.Context(), p))
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(installed.client.Delete(context.WithoutCancel(t.Context()), p)); err != nil {
			t.Error(err)
		}
	})
}

// sees has the person open a page of the console until it says the words.
func (p *person) sees(t *testing.T, path, words string) (v view) {
	t.Helper()
	wait.NoError(t, wait.Limit, path+" says "+words, func(context.Context) error {
		var err error
		if v, err = p.try("open", installed.url+path); err == nil && !strings.Contains(v.Text, words) {
			err = fmt.Errorf("status %d: it says %.600s", v.Status, v.Text)
		}
		return err
	})
	return v
}

// says fails the test unless the page has the words, and everybody can use it.
func (p *person) says(t *testing.T, v view, words ...string) {
	t.Helper()
	v.Complaints = slices.DeleteFunc(v.Complaints, isOfStatus)
	checkPage(t, v)
	for _, word := range words {
		if !strings.Contains(v.Text, word) {
			t.Errorf("%s does not say %q: %.800s", v.path(), word, v.Text)
		}
	}
	if dir := os.Getenv("HB_PICTURES"); dir != "" {
		name := strings.NewReplacer("/", "-", ":", "-").Replace(strings.TrimPrefix(v.path(), "127.0.0.1")) + ".png"
		p.does(t, "picture", filepath.Join(dir, name))
	}
}

// consoleLeadsToATool leads a person from a first visit to a call of a tool, with a key, a
// keyboard, no scripts and a window of 360 pixels.
func consoleLeadsToATool(t *testing.T) {
	n := newGuardedTenant(t, "console", left)
	offerServer(t, n, "team", v1alpha1.ServerOptional)
	offerServer(t, n, "wiki", v1alpha1.ServerOnRequest)
	offerServer(t, n, "notes", v1alpha1.ServerOnRequest)
	other := newTenant(t, "console-other", "private")
	offersNothing(t, other)
	p := newPerson(t, browser{Ours: installed.url, Plain: true})
	p.says(t, p.does(t, "open", installed.url+"/"), "All your tools behind one address")
	v := p.does(t, "open", installed.url+"/keys")
	p.says(t, v, "Log in")
	p.does(t, "fill", "API key", "hb_not_a_key")
	p.says(t, p.does(t, "type", "Log in with a key"), "This key is not valid here")
	p.does(t, "fill", "API key", n.key.secret)
	p.says(t, p.does(t, "type", "Log in with a key"), "Your keys", "you are logged in with it")

	p.says(t, p.sees(t, "/", "Needs a secret"), "Set the secret", n.url())
	p.says(t, p.does(t, "type", "Set the secret"), left.secret, "Nobody has noted where to get it")
	p.does(t, "fill", left.secret, left.token(t))
	p.says(t, p.does(t, "type", "Set "+left.secret), "Secret saved")
	p.says(t, p.sees(t, "/servers/"+left.name, "Works"))

	p.says(t, p.sees(t, "/catalog", "Turn on team"))
	p.says(t, p.does(t, "type", "Turn on team"), "The server is being turned on")
	p.says(t, p.sees(t, "/tools", "team_"+tool), left.name+"_whoami")
	p.says(t, p.does(t, "open", installed.url+"/tools/team_"+tool), "Try it")
	p.says(t, p.does(t, "type", "Run team_"+tool), "Done", "Result")
	appCalls(t, n, "team_"+tool)
	p.says(t, p.sees(t, "/activity", tool), "Your quota")
	asksForServer(t, p, n, "wiki")
	isRefused(t, p, n, "notes")
	// The names of tools are said before a server is turned on.
	p.says(t, p.does(t, "open", installed.url+"/servers/wiki"), "Names of tools")
	for _, path := range []string{"/connect", "/secrets", "/servers/team", "/keys"} {
		p.says(t, p.does(t, "open", installed.url+path))
	}
	p.does(t, "fill", "Name", "laptop")
	v = p.does(t, "type", "Make a key")
	p.says(t, v, "Copy this key now", "laptop")
	p.says(t, p.does(t, "open", installed.url+"/keys/"+n.key.id+"/revoke"), "Revoke")
	p.says(t, p.does(t, "open", installed.url+"/secrets/"+left.secret+"/delete"), "Delete "+left.secret)

	nothing, foreign := p.does(t, "open", installed.url+"/servers/nothing"), p.does(t, "open", installed.url+"/servers/private")
	p.says(t, nothing, "There is no such page")
	if nothing.Status != http.StatusNotFound || foreign.Status != nothing.Status || foreign.Text != nothing.Text {
		t.Errorf("another user's server is told from none: %d %s, and %d %s", nothing.Status, nothing.Text, foreign.Status, foreign.Text)
	}
	if strings.Contains(p.does(t, "open", installed.url+"/").Text, other.name) {
		t.Error("the first page shows another user's things")
	}
	for _, c := range p.does(t, "cookies").Cookies {
		if !c.HTTPOnly || c.SameSite != "Lax" || c.Path != "/" {
			t.Errorf("cookie %+v, want one that no script and no other site has", c)
		}
	}
	change(t, n.name, func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = b.Spec.APIKeys[1:] })
	p.says(t, p.sees(t, "/keys", "Your session ended"), "Log in with a key")
}

// offersNothing has a person of whom no profile knows look for a server to add.
func offersNothing(t *testing.T, n tenant) {
	t.Helper()
	p := newPerson(t, browser{Ours: installed.url, Plain: true})
	p.does(t, "open", installed.url+"/login")
	p.does(t, "fill", "API key", n.key.secret)
	p.does(t, "type", "Log in with a key")
	p.says(t, p.does(t, "open", installed.url+"/catalog"), "Your profiles offer nothing more", "Only an administrator can change that")
}

// appCalls has the inspector call a tool, in both versions of the protocol.
func appCalls(t *testing.T, n tenant, tool string) {
	t.Helper()
	for _, era := range eras {
		wait.NoError(t, wait.Limit, "the inspector calls "+tool, func(context.Context) error {
			_, err := inspectorCall(t, era, n.url(), n.key.secret, tool)
			return err
		})
	}
}

// asksForServer has the person ask for a server, withdraw the request and ask again, and an
// administrator approve it. Then the person can turn the server on.
func asksForServer(t *testing.T, p *person, n tenant, name string) {
	t.Helper()
	p.sees(t, "/catalog", "Ask for "+name)
	p.says(t, p.does(t, "type", "Ask for "+name), "Why you need it")
	p.does(t, "fill", "Why you need it", "I write the handbook.")
	p.says(t, p.does(t, "type", "Ask for "+name), "An administrator has your request", "Nobody has answered yet")
	p.says(t, p.does(t, "type", "Withdraw the request"), "The request is withdrawn")
	p.does(t, "fill", "Why you need it", "I write the handbook.")
	p.says(t, p.does(t, "type", "Ask for "+name), "An administrator has your request")

	a := newPerson(t, browser{Ours: installed.url, Plain: true})
	a.does(t, "open", installed.url+"/console/login")
	a.does(t, "fill", "Admin key", adminKey(t))
	a.does(t, "type", "Log in with the admin key")
	a.says(t, a.does(t, "open", installed.url+"/console/requests"), n.name, "I write the handbook.")
	a.says(t, a.does(t, "open", installed.url+"/console/requests/"+n.name+"/"+name), "asks for "+name)
	a.does(t, "fill", "Reason", "For the handbook alone.")
	a.says(t, a.does(t, "type", "Approve"), "The request is approved", "For the handbook alone.")
	p.says(t, p.sees(t, "/catalog", "Turn on "+name))
}

// isRefused has an app ask for a server, and an administrator refuse it by the API. The
// person reads the reason.
func isRefused(t *testing.T, p *person, n tenant, name string) {
	t.Helper()
	app, path := newCurl(n.key.secret), "/u/"+n.name+"/requests/"+name
	app.must(t, http.StatusOK, http.MethodPut, path, "")
	app.must(t, http.StatusNoContent, http.MethodDelete, path, "")
	app.must(t, http.StatusOK, http.MethodPut, path, `{"reason": "for later"}`)
	var list struct {
		Requests []struct{ User, Server, Version string }
	}
	admin(t).must(t, http.StatusOK, http.MethodGet, "/admin/requests?state=open", "").into(t, &list)
	for _, q := range list.Requests {
		if q.User == n.name && q.Server == name {
			body := fmt.Sprintf(`{"version": %q, "verdict": "Refused", "reason": "The wiki has notes."}`, q.Version)
			admin(t).must(t, http.StatusOK, http.MethodPut, "/admin/requests/"+n.name+"/"+name, body)
		}
	}
	p.says(t, p.sees(t, "/servers/"+name, "Your request was refused"), "The wiki has notes.")
}

// consoleByLogin has a person log in at the identity provider, add a server, set a secret and
// call a tool, and an administrator end what they may use.
func consoleByLogin(t *testing.T) {
	n := newLoginTenant(t, "console-login", "carla")
	change(t, n.name, func(b *v1alpha1.HostedBridge) { b.Spec.Servers = append(b.Spec.Servers, left.server()) })
	offerServer(t, n, "library", v1alpha1.ServerOptional)
	p := newVisitor(t)
	v := p.does(t, "open", installed.url+"/tools")
	p.says(t, v, "Log in", "Or use a key")
	p.says(t, p.does(t, "type", "Log in"), "Log in to see your bridge")
	v = must.Value(p.saysWho(p.does(t, "press", atIdentity.link()), "carla"))(t)
	if slices.Contains(v.Buttons, "Continue") {
		p.says(t, v, n.name)
		// The run's namespace is not one that speaks for the installation, which would make a
		// bridge of its own.
		if at := slices.IndexFunc(v.Choices, func(c string) bool { return strings.Contains(c, n.name) }); at >= 0 {
			p.does(t, "choose", v.Choices[at])
		}
		v = p.does(t, "press", "Continue")
	}
	if !strings.HasSuffix(v.path(), "/tools") {
		t.Errorf("the login leads to %s", v.path())
	}
	p.says(t, v, "Tools")
	p.sees(t, "/catalog", "Turn on library")
	p.says(t, p.does(t, "press", "Turn on library"), "The server is being turned on")
	p.says(t, p.sees(t, "/", "Needs a secret"), "One of your 3 servers needs you", n.url())
	p.does(t, "press", "Set the secret")
	p.does(t, "fill", left.secret, left.token(t))
	p.says(t, p.does(t, "press", "Set "+left.secret), "Secret saved")
	p.sees(t, "/", "Your servers work")
	p.does(t, "open", installed.url+"/tools/library_"+tool)
	p.says(t, p.does(t, "press", "Run library_"+tool), "Done", "Result")
	appCalls(t, n, "library_"+tool)
	p.says(t, p.does(t, "open", installed.url+"/connect"), "Claude Code", "log in")
	changeSubjects(t, n, nil)
	p.says(t, p.sees(t, "/keys", "Your session ended"), "Log in")
}

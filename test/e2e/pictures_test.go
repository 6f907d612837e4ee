// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && pictures

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestPictures takes the pictures of the documentation, of an installation with people who
// have names of people: each page in light and in dark colours. `make pictures` runs it on
// a cluster of its own. With HB_LOOK_IMAGES, a folder, it also takes each page in narrow, usual
// and wide windows, for those who look at a change of pages.
func TestPictures(t *testing.T) {
	folder := os.Getenv("HB_DOCS_IMAGES")
	if folder == "" {
		t.Fatal("HB_DOCS_IMAGES must be the folder for the pictures, as make pictures sets it")
	}
	offerToEngineers(t)
	nora, sam := newEngineer(t, "nora"), newEngineer(t, "sam")

	p := newPerson(t, browser{Ours: installed.url})
	// take takes the pictures of the page where the person is.
	take := func(name string) {
		t.Helper()
		for suffix, scheme := range map[string]string{"": "light", "-dark": "dark"} {
			p.does(t, "picture", filepath.Join(folder, name+suffix+".png"), scheme)
			if look := os.Getenv("HB_LOOK_IMAGES"); look != "" {
				for _, width := range []string{"390", "1280", "1920"} {
					p.does(t, "picture", filepath.Join(look, name+"-"+width+suffix+".png"), scheme, width)
				}
			}
		}
	}
	takeOf := func(name, path, words string) {
		t.Helper()
		p.says(t, p.sees(t, path, words))
		take(name)
	}
	enter := func(n tenant) {
		t.Helper()
		p.does(t, "fill", "API key", n.key.secret)
		p.says(t, p.does(t, "press", "Log in with a key"), "Log out")
	}
	takeOf("console-welcome", "/", "All your tools behind one address")
	takeOf("console-login", "/login", "Log in")
	enter(sam)
	p.sees(t, "/servers/tickets", "Why you need it")
	p.does(t, "fill", "Why you need it", "I triage what customers report.")
	p.says(t, p.does(t, "press", "Ask for tickets"), "An administrator has your request")
	takeOf("console-first", "/", "Needs a secret")
	p.does(t, "press", "Log out")

	p.does(t, "open", installed.url+"/login")
	enter(nora)
	takeOf("console-tools", "/tools", "search_"+tool)
	p.does(t, "open", installed.url+"/tools/search_"+tool)
	p.says(t, p.does(t, "press", "Run search_"+tool), "Done", "Result")
	take("console-tool")
	takeOf("console-home", "/", "Needs a secret")
	takeOf("console-catalog", "/catalog", "Ask for tickets")
	takeOf("console-connect", "/connect", "Claude Code")
	takeOf("console-server", "/servers/github", "GITHUB_TOKEN")
	takeOf("console-secrets", "/secrets", "GITHUB_TOKEN")
	takeOf("console-confirm", "/keys/"+nora.key.id+"/revoke", "Revoke")
	p.does(t, "open", installed.url+"/keys")
	p.does(t, "fill", "Name", "laptop")
	p.says(t, p.does(t, "press", "Make a key"), "Copy this key now")
	// The new key is on that page alone.
	takeOf("console-keys", "/keys", "Revoke")
	takeOf("console-activity", "/activity", tool)

	takeOf("administrators-login", "/console/login", "Admin key")
	p.does(t, "fill", "Admin key", adminKey(t))
	p.says(t, p.does(t, "press", "Log in with the admin key"))
	takeOf("administrators-overview", "/console", "Secret missing")
	takeOf("administrators-requests", "/console/requests", "I triage what customers report.")
	takeOf("administrators-request", "/console/requests/sam/tickets", "sam asks for tickets")
	takeOf("administrators-confirm", "/console/people/nora/suspend", "Suspend nora")
	takeOf("administrators-people", "/console/people", "nora")
	takeOf("administrators-person", "/console/people/nora", "Secret missing")
	takeOf("administrators-usage", "/console/usage?range=day", "search")
	takeOf("administrators-audit", "/console/audit?userId=nora", tool)
	takeOf("administrators-profiles", "/console/profiles", "engineers")
	takeOf("administrators-profile", "/console/profiles/engineers", "operator profiles diff")
	takeOf("administrators-catalog", "/console/catalog", "recipes")
	bundle := bundleOf(t, "@modelcontextprotocol/server-memory", "2026.8.31")
	takeOf("administrators-programs", "/console/programs", "Ready")
	takeOf("administrators-program", "/console/programs/"+bundle.Name, "nora")
	takeOf("administrators-health", "/console/health", " ready")
}

// newEngineer makes a tenant of that very name who gets the servers of engineers.
func newEngineer(t *testing.T, name string) tenant {
	t.Helper()
	n := tenant{name: name, key: mint(t)}
	b := bridge(name, []credential{n.key})
	b.Spec.Groups = []string{"engineers"}
	n.uid = create(t, b)
	awaitReady(t, name)
	return n
}

// offerToEngineers makes a profile with a server that works, one that needs a secret, one
// that its users may turn on, and one that they may ask for.
func offerToEngineers(t *testing.T) {
	t.Helper()
	p := &v1alpha1.BridgeProfile{ObjectMeta: bridge("engineers", nil).ObjectMeta, Spec: v1alpha1.BridgeProfileSpec{
		Who: v1alpha1.ProfileSubjects{Namespaces: []string{installed.namespace}, Groups: []v1alpha1.ProfileGroup{{FromNamespace: installed.namespace, Value: "engineers"}}},
	}}
	p.Namespace = systemNamespace
	github := left.server()
	github.Name, github.Secrets = "github", []v1alpha1.SecretName{"GITHUB_TOKEN"}
	github.Transport.Headers[0].Value = "Bearer ${GITHUB_TOKEN}"
	open := bridge("", nil, "search", "unused", "wiki", "unused", "tickets").Spec.Servers
	p.Spec.Servers = []v1alpha1.ProfileServer{
		{Use: v1alpha1.ServerRequired, Server: open[0]}, {Use: v1alpha1.ServerRequired, Server: installs("memory", "@modelcontextprotocol/server-memory", "2026.8.31")}, {Use: v1alpha1.ServerDefault, Server: github},
		{Use: v1alpha1.ServerOptional, Server: open[2]}, {Use: v1alpha1.ServerOnRequest, Server: open[4]},
	}
	must.Succeed(t, installed.client.Create(t.Context(), p))
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(installed.client.Delete(context.WithoutCancel(t.Context()), p)); err != nil {
			t.Error(err)
		}
	})
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// pagesAreForEverybody goes from a client's link to its answer with a keyboard
// alone, and looks at each page of the installation.
func pagesAreForEverybody(t *testing.T) {
	n := newLoginTenant(t, "pages", "paula")
	for _, c := range []struct {
		name, client string
		says         []string
		// checked is whether somebody vouches for the client's name.
		checked bool
	}{
		{"a client that is known", desk, []string{"Desk", "127.0.0.1"}, true},
		{"a client with a document", desktop.ClientID, []string{desktop.Name, identityName + "." + identityNamespace + ".svc", "127.0.0.1"}, true},
		{"a client that registered itself", register(t, "Your own bank"), []string{"Your own bank", "127.0.0.1"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newVisitor(t)
			a := askAs(c.client, n.url())
			v := p.does(t, "open", a.url())
			checkPage(t, v)
			if choices := []string{atIdentity.link(), atGitHub.link()}; !slices.Equal(v.Links, choices) || !strings.Contains(v.Text, c.says[0]) {
				t.Errorf("the page has the links %q, want %q, and says %q: %s", v.Links, choices, c.says[0], v.Text)
			}
			v = p.does(t, "type", atIdentity.link())
			checkPage(t, v)
			v = must.Value(p.saysWho(v, "paula"))(t)
			checkPage(t, v)
			for _, word := range append(c.says, n.name) {
				if !strings.Contains(v.Text, word) {
					t.Errorf("the page does not say %q: %s", word, v.Text)
				}
			}
			if warns := strings.Contains(v.Text, "nobody has checked"); warns == c.checked {
				t.Errorf("the page says that nobody has checked the client's name: %t", warns)
			}
			v = p.does(t, "type", "Allow")
			if answer := v.answer(t); answer.Get("code") == "" {
				t.Errorf("no code came back: error %q", answer.Get("error"))
			}
			checkPage(t, v)
			for _, c := range p.does(t, "cookies").Cookies {
				if strings.Contains(c.Name, "hb-login") && (!c.HTTPOnly || c.SameSite != "Lax") {
					t.Errorf("cookie %+v, want one that no script and no other site has", c)
				}
			}
		})
	}
}

// register makes a client known by itself, as anybody can, and returns its id.
func register(t *testing.T, name string) string {
	t.Helper()
	a := mustSend(t, installed.url+"/oauth/register", "", request{
		method: http.MethodPost, header: map[string]string{"Content-Type": "application/json"},
		body: `{"client_name":"` + name + `","redirect_uris":["` + deskRedirect + `"]}`,
	})
	var registered struct {
		ID     string `json:"client_id"`
		Method string `json:"token_endpoint_auth_method"`
	}
	if a.into(t, &registered); a.status != http.StatusCreated || registered.ID == "" || registered.Method != "none" {
		t.Fatalf("status %d, authentication by %q: %.500s", a.status, registered.Method, a.body)
	}
	return registered.ID
}

// refused fails the test unless the person has been left on a page of the
// installation, in words, and nothing has gone to a client.
func refused(t *testing.T, v view) {
	t.Helper()
	if v.Stopped != "" {
		t.Errorf("something went to the client")
	}
	if v.Status < http.StatusBadRequest || v.Status >= http.StatusInternalServerError || !strings.HasPrefix(v.URL, installed.url) {
		t.Errorf("status %d at %s", v.Status, v.path())
	}
	if slices.Contains(v.Buttons, "Allow") {
		t.Errorf("the page asks for consent: %s", v.Text)
	}
	v.Complaints = slices.DeleteFunc(v.Complaints, isOfStatus)
	checkPage(t, v)
}

// isOfStatus reports what a browser says of each page whose status is an error.
func isOfStatus(complaint string) bool {
	return strings.HasPrefix(complaint, "Failed to load resource: the server responded with a status of 4")
}

// pagesRefuse asks in ways in which nobody must be sent anywhere.
func pagesRefuse(t *testing.T) {
	n, p := newLoginTenant(t, "refusing", "rita"), newVisitor(t)
	for name, more := range map[string]map[string]string{
		"a client that nobody knows":              {"client_id": "nobody"},
		"no client":                               {"client_id": ""},
		"a document of another client":            {"client_id": forged.ClientID},
		"a document that is not there":            {"client_id": identityIssuer + "/clients/none.json"},
		"a document at an address of the cluster": {"client_id": "https://kubernetes.default.svc/version"},
		"a redirect to another path":              {"redirect_uri": "http://127.0.0.1:9/other"},
		"a redirect to another host":              {"redirect_uri": "https://attacker.example.com/callback"},
		"a redirect with a user":                  {"redirect_uri": "http://127.0.0.1@attacker.example.com/callback"},
		"a redirect that runs a script":           {"redirect_uri": "javascript:alert(1)"},
	} {
		t.Run(name, func(t *testing.T) {
			a := askAs(desk, n.url())
			a.more = more
			refused(t, p.does(t, "open", a.url()))
		})
	}
}

// redirectsRefuse asks in ways that the client hears of, which is the right one.
func redirectsRefuse(t *testing.T) {
	n, p := newLoginTenant(t, "redirecting", "dora"), newVisitor(t)
	for _, c := range []struct {
		name  string
		more  map[string]string
		error string
	}{
		{"no PKCE", map[string]string{"code_challenge": ""}, "invalid_request"},
		{"the challenge of PKCE is the verifier", map[string]string{"code_challenge_method": "plain"}, "invalid_request"},
		{"a token at once", map[string]string{"response_type": "token"}, "unsupported_response_type"},
		{"a scope that there is not", map[string]string{"scope": "admin"}, "invalid_scope"},
		{"a resource that is not here", map[string]string{"resource": "https://elsewhere.example.com/mcp"}, "invalid_target"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := askAs(desk, n.url())
			a.more = c.more
			answer := p.does(t, "open", a.url()).answer(t)
			if answer.Get("error") != c.error || answer.Get("state") != a.state || answer.Get("iss") != installed.url || answer.Has("code") {
				t.Errorf("error %q of %q, want %s with the state and no code", answer.Get("error"), answer.Get("iss"), c.error)
			}
		})
	}
	for name, no := range map[string]func(*person, asking) view{
		"a person who says no": func(p *person, a asking) view {
			p.logsIn(t, a.url(), "dora")
			return p.does(t, "press", "Deny")
		},
		"a person who does not log in": func(p *person, a asking) view {
			p.does(t, "open", a.url())
			p.does(t, "press", atIdentity.link())
			return p.does(t, "press", "Cancel")
		},
		"a person who does not log in at GitHub": func(p *person, a asking) view {
			p.does(t, "open", a.url())
			p.does(t, "press", atGitHub.link())
			return p.does(t, "press", "Cancel")
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := askAs(desk, n.url())
			answer := no(newVisitor(t), a).answer(t)
			if answer.Get("error") != "access_denied" || answer.Get("state") != a.state || answer.Get("iss") != installed.url || answer.Has("code") {
				t.Errorf("error %q of %q, want access_denied with the state and no code", answer.Get("error"), answer.Get("iss"))
			}
		})
	}
}

// loginStaysInItsBrowser takes a login over to another browser, at each step at
// which somebody could send a link to it: whoever opens that must not be logged
// in as another, nor their consent be used.
func loginStaysInItsBrowser(t *testing.T) {
	n := newLoginTenant(t, "fixed", "frida")
	back := installed.url + "/oauth/callback/" + identityName
	attacker := newPerson(t, browser{Hosts: identityHosts, Ours: installed.url, Stops: []string{back + "*"}})
	v := attacker.logsIn(t, askAs(desk, n.url()).url(), "frida")
	if !strings.HasPrefix(v.Stopped, back) {
		t.Fatalf("the attacker is at %s: %.300s", v.path(), v.Text)
	}
	t.Run("somebody else's answer of the provider", func(t *testing.T) {
		refused(t, newVisitor(t).does(t, "open", v.Stopped))
	})
	t.Run("the same in a browser with a login of its own", func(t *testing.T) {
		p := newPerson(t, browser{Hosts: identityHosts, Ours: installed.url, Stops: []string{"http://127.0.0.1:9/*"}})
		p.does(t, "open", askAs(desk, n.url()).url())
		p.does(t, "press", atIdentity.link())
		refused(t, p.does(t, "open", v.Stopped))
	})
	t.Run("an answer to what nobody asked, after a login", func(t *testing.T) {
		p := newVisitor(t)
		a := askAs(desk, n.url())
		p.logsIn(t, a.url(), "frida")
		p.does(t, "press", "Allow").answer(t)
		refused(t, p.does(t, "open", back+"?code=x&state="+a.state))
	})
}

// strangersLearnNothing has somebody who has a bridge ask for another one, and
// for one that is not there: both are refused in the same words.
func strangersLearnNothing(t *testing.T) {
	n, own := newLoginTenant(t, "private", "petra"), newLoginTenant(t, "private-too", "peter")
	token := mustLogIn(t, askAs(desk, own.url()), "peter").Access
	pages, answers := map[string]bool{}, map[string]bool{}
	for _, user := range []string{n.name, installed.name("nothing")} {
		resource := installed.url + "/u/" + user + "/mcp"
		v := newVisitor(t).logsIn(t, askAs(desk, resource).url(), "peter")
		refused(t, v)
		pages[strings.ReplaceAll(v.Text, user, "USER")] = true
		answers[strings.ReplaceAll(mustSend(t, resource, token, modernCall).bytes(), user, "USER")] = true
	}
	if len(pages) != 1 || len(answers) != 1 {
		t.Errorf("somebody with another bridge learns which there are, by the pages %v or the answers %v", pages, answers)
	}
}

// invitationsBind has an administrator invite somebody to a bridge.
func invitationsBind(t *testing.T) {
	n := newLoginTenant(t, "inviting")
	invitation, who := newInvitation(t, n), "invited-"+installed.run

	p := newVisitor(t)
	v := p.does(t, "open", invitation)
	checkPage(t, v)
	v = must.Value(p.saysWho(p.does(t, "press", atIdentity.link()), who))(t)
	checkPage(t, v)
	if v.Status != http.StatusOK || !strings.Contains(v.Text, n.name) {
		t.Errorf("status %d at %s, want words about %s: %s", v.Status, v.path(), n.name, v.Text)
	}
	refused(t, newVisitor(t).does(t, "open", invitation))

	a := askAs(desk, n.url())
	got := askTokens(t, a.redeem(p.consents(t, a, who).Get("code")))
	if err := mustSend(t, n.url(), got.Access, modernCall).toolAnswered(); err != nil {
		t.Errorf("the invited person's call: %v", err)
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// consolePages are the pages of a person with a session.
var consolePages = []string{
	"/", "/connect", "/catalog", "/catalog?q=doc", "/servers/github", "/servers/docs", "/servers/github/disconnect", "/secrets", "/keys", "/tools", "/activity",
}

func TestAFirstVisitLeadsToTheFirstPage(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.visitor()
	if got := v.open("/"); got.status != http.StatusOK || !strings.Contains(got.body, "Log in with a key") || strings.Contains(got.body, "Log out") {
		t.Fatalf("the first visit: %d %s", got.status, got.body)
	}
	if got := v.open("/keys"); got.status != http.StatusSeeOther || got.header.Get("Location") != "/login?next=/keys" {
		t.Fatalf("a page without a session: %d %v", got.status, got.header)
	}
	if got := v.logIn(w.alice, "/keys"); got.status != http.StatusSeeOther || got.header.Get("Location") != "/keys" {
		t.Fatalf("a login: %d %v %s", got.status, got.header, got.body)
	}
	got := v.open("/")
	for _, want := range []string{"One of your 2 servers needs you", "Three steps to your first tool", "/u/alice/mcp", "Set the secret", "276 of 300 calls"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the first page does not say %q: %s", want, got.body)
		}
	}
	out := v.submit("/", "/logout")
	if out.status != http.StatusSeeOther || v.open("/").hidden().Get("csrf") != "" {
		t.Errorf("after the logout there is still a session: %d", out.status)
	}
}

func TestAKeyThatIsNotValidBeginsNoSession(t *testing.T) {
	w := newConsoleWorld(t)
	for name, key := range map[string]string{
		"none": "", "unknown": otherKey(t), "mistyped": w.alice[:len(w.alice)-1], "a token": "a.b.c", "the admin key": adminKey,
		"long": strings.Repeat("k", 20000),
	} {
		v := w.visitor()
		got := v.logIn(key, "/")
		if got.status != http.StatusUnauthorized || !strings.Contains(got.body, "This key is not valid here") || key != "" && strings.Contains(got.body, key) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		if got := v.open("/keys"); got.status != http.StatusSeeOther {
			t.Errorf("%s: a session began", name)
		}
	}
	if strings.Contains(w.logs.String(), strings.Split(w.alice, "_")[2][:10]) {
		t.Error("the log has a key")
	}
}

func TestALoginLeadsBackToWhatWasSearchedFor(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.visitor()
	got := v.open("/catalog?q=a%20b%26c")
	login := got.header.Get("Location")
	if login != "/login?next=/catalog%3Fq%3Da%2520b%2526c" {
		t.Fatalf("the login is at %q", login)
	}
	if got := v.open(login); !strings.Contains(got.body, `name="next" value="/catalog?q=a%20b%26c"`) {
		t.Errorf("the form: %s", got.body)
	}
	if got := v.logIn(w.alice, "/catalog?q=a%20b%26c"); got.header.Get("Location") != "/catalog?q=a%20b%26c" {
		t.Errorf("the login leads to %q", got.header.Get("Location"))
	}
	if got := w.visitor().open("/keys?done=revoked"); got.header.Get("Location") != "/login?next=/keys" {
		t.Errorf("what was done: %q", got.header.Get("Location"))
	}
}

func TestALoginLeadsToNoOtherSite(t *testing.T) {
	w := newConsoleWorld(t)
	for _, next := range []string{
		"//evil.example", "https://evil.example", "/\\evil.example", "/%2f/evil.example", "javascript:alert(1)", "/././/evil.example", "",
		"//evil.example?q=a", "/keys?//evil.example", "/keys?q=a\r\nSet-Cookie:+a=b", "/keys?q=<b>", "/keys?q", "/keys?q=" + strings.Repeat("a", 300),
	} {
		if got := w.visitor().logIn(w.alice, next); got.header.Get("Location") != "/" {
			t.Errorf("%q leads to %q", next, got.header.Get("Location"))
		}
	}
}

func TestEachPageHasThePolicy(t *testing.T) {
	w := newConsoleWorld(t)
	in, out := w.logged(w.alice), w.visitor()
	pages := map[string]reply{"first visit": out.open("/"), "login": out.open("/login"), "nothing": in.open("/servers/nothing"), "a refused form": in.post("/keys", url.Values{})}
	for _, path := range consolePages {
		pages[path] = in.open(path)
	}
	for name, got := range pages {
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'", "style-src 'self'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q has no %s", name, policy, want)
			}
		}
		got.body = checkScript(t, name, got)
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("%s: policy %q", name, policy)
		}
		for header, want := range map[string]string{
			"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "same-origin",
			"Content-Type": "text/html; charset=utf-8", "Access-Control-Allow-Origin": "",
		} {
			if got.header.Get(header) != want {
				t.Errorf("%s: %s is %q", name, header, got.header.Get(header))
			}
		}
		for _, no := range []string{"<script", "<style", " style=", " onclick", "https://", "javascript:"} {
			if strings.Contains(got.body, no) {
				t.Errorf("%s has %q: %s", name, no, got.body)
			}
		}
	}
}

// pageScripts are the scripts of pages, by what is in each page with the script and by words of
// the script.
var pageScripts = map[string]string{`<code class="copy">`: "navigator.clipboard.writeText", `<p class="changes"`: "fetch(location.href"}

// checkScript checks that the policy of a page allows the scripts of the page, or none, and
// returns the page without them.
func checkScript(t *testing.T, name string, got reply) string {
	t.Helper()
	policy := got.header.Get("Content-Security-Policy")
	_, allowed, _ := strings.Cut(policy, "script-src ")
	allowed, _, _ = strings.Cut(allowed, ";")
	rest, want := got.body, ""
	for mark, words := range pageScripts {
		if has := strings.Contains(got.body, words); has != strings.Contains(got.body, mark) {
			t.Errorf("%s: the script with %s is on the page: %v", name, words, has)
		}
	}
	for {
		before, after, has := strings.Cut(rest, "<script>")
		if !has {
			break
		}
		script, after, _ := strings.Cut(after, "</script>")
		sum := sha256.Sum256([]byte(script))
		want, rest = want+" 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", before+after
	}
	if allowed != strings.TrimPrefix(want, " ") {
		t.Errorf("%s: the policy allows the scripts %s, want %s", name, allowed, want)
	}
	if updates := strings.Contains(got.body, `<p class="changes"`); updates != strings.Contains(policy, "connect-src 'self'") {
		t.Errorf("%s: the page updates by itself: %v, and its policy is %s", name, updates, policy)
	}
	return rest
}

func TestThePageOfAppsInstallsTheBridge(t *testing.T) {
	const byKey, byLogin = "Give your app this address and ", "It opens your browser, where you log in"
	keyed := []string{"Bearer%20$%7Binput:hb-key%7D", "Bearer%20YOUR_KEY", byKey, "Cursor takes your key from the variable HB_KEY", "VS Code asks for your key.", "in place of YOUR_KEY in ~/.lmstudio/mcp.json.", "in the form that opens."}
	for name, tt := range map[string]struct {
		login  string
		enter  func(*consoleWorld) *visitor
		has    []string
		hasNot string
	}{
		"without logins": {"", func(w *consoleWorld) *visitor { return w.logged(w.alice) }, append(keyed, "Custom connectors log in, which this installation does not offer."), byLogin},
		// Somebody with a key may have no login, to whom an app would show a page that refuses them.
		"by a key where there are logins": {"/oauth/console", func(w *consoleWorld) *visitor { return w.logged(w.alice) }, append(keyed, "It logs in, and takes no key."), byLogin},
		"by a login": {"/oauth/console", func(w *consoleWorld) *visitor {
			w.bindSubject("alice", "ann")
			v, _ := w.logsIn("ann")
			return v
		}, []string{byLogin, `An app that cannot log in takes <a href="/keys">a key</a>`}, byKey},
	} {
		t.Run(name, func(t *testing.T) {
			w := newConsoleWorld(t, func(o *console.Options) { o.Login, o.BaseURL = tt.login, publicURL })
			got := tt.enter(w).open("/connect")
			for _, app := range []string{"Cursor", "VS Code", "VS Code Insiders", "LM Studio", "Goose"} {
				if strings.Count(got.body, ">Install in "+app+"</a>") != 1 {
					t.Errorf("the page has no link for %s: %s", app, got.body)
				}
			}
			for _, scheme := range []string{"cursor://anysphere.cursor-deeplink/", "vscode:mcp/install?", "vscode-insiders:mcp/install?", "lmstudio://add_mcp", "goose://extension?"} {
				tt.has = append(tt.has, `href="`+scheme)
			}
			for _, want := range tt.has {
				if !strings.Contains(got.body, want) {
					t.Errorf("the page has no %s: %s", want, got.body)
				}
			}
			for _, no := range []string{tt.hasNot, "unsafe", "ZgotmplZ", w.alice} {
				if strings.Contains(got.body, no) {
					t.Errorf("the page has %s, a key, or a link that was taken out: %s", no, got.body)
				}
			}
		})
	}
}

func TestThePageOfAServerListsItsTools(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	tools := []selfservice.Tool{
		{Name: "search_query", Server: "search", Tool: "query", Title: "Search", Description: "Finds pages of the handbook."},
		{Name: "search_odd/name", Server: "search", Tool: "odd/name", Description: "Has no page."},
		{Name: "github_issues", Server: "github", Tool: "issues", Description: "Of another server."},
	}
	missing := []selfservice.MissingTool{{Server: "search", Tool: "purge", Message: "your choice denies it"}, {Server: "github", Message: "It waits."}}
	w.self.tools = selfservice.Tools{Known: true, Mode: v1alpha1.ModeDirect, Tools: tools, Missing: missing}
	got := v.open("/servers/search")
	for want, times := range map[string]int{
		"Finds pages of the handbook.": 1, `href="/tools/search_query"`: 2, "Has no page.": 1, "Of another server.": 0, "<bdi>purge</bdi>": 1, "Your choice denies it.": 1, "It waits.": 0, "3 tools": 1,
	} {
		if strings.Count(got.body, want) != times {
			t.Errorf("the page has %q %d times, want %d: %s", want, strings.Count(got.body, want), times, got.body)
		}
	}
	w.self.tools.Mode = v1alpha1.ModeRouter
	if got := v.open("/servers/search"); !strings.Contains(got.body, `href="/servers/search/tools/query"`) {
		t.Errorf("in mode Router: %s", got.body)
	}
	w.self.tools.Next = "100"
	if got := v.open("/servers/search"); !strings.Contains(got.body, `<a href="/tools">All tools</a>`) {
		t.Errorf("with more tools than a page has: %s", got.body)
	}
	w.self.tools = selfservice.Tools{Known: true}
	if got := v.open("/servers/search"); !strings.Contains(got.body, "The server has no tools.") {
		t.Errorf("without tools: %s", got.body)
	}
	w.self.tools = selfservice.Tools{}
	if got := v.open("/servers/search"); !strings.Contains(got.body, "The bridge does not run now") {
		t.Errorf("asleep: %s", got.body)
	}
	if got := v.open("/servers/docs"); strings.Contains(got.body, `id="tools"`) {
		t.Errorf("the page of a server that is off lists tools: %s", got.body)
	}
}

func TestThePageOfAServerHasTheLastLinesOfItsProgram(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	of := w.self.servers["alice"]
	of.Servers[1].LastLines = []string{"GITHUB_TOKEN <b>is</b> not set", "bye"}
	got := v.open("/servers/github")
	if !strings.Contains(got.body, "What the program wrote last") || !strings.Contains(got.body, "GITHUB_TOKEN &lt;b&gt;is&lt;/b&gt; not set") {
		t.Errorf("the page is %s", got.body)
	}
	if got := v.open("/servers/search"); strings.Contains(got.body, "wrote last") {
		t.Errorf("the page of a server that works: %s", got.body)
	}
}

func TestTheStyleSheetIsKeptByItsHash(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.visitor()
	_, after, _ := strings.Cut(v.open("/").body, `<link rel="stylesheet" href="`)
	path, _, _ := strings.Cut(after, `"`)
	if got := v.open(path); got.status != http.StatusOK || !strings.Contains(got.header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(got.header.Get("Content-Type"), "text/css") {
		t.Errorf("%s: %d %v", path, got.status, got.header)
	}
	if got := v.open("/static/style-0123456789abcdef.css"); got.status != http.StatusOK || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the name of another replica's: %d %v", got.status, got.header)
	}
	if got := v.open("/static/logo-0123456789abcdef.png"); got.status != http.StatusNotFound {
		t.Errorf("a logo that there is not: %d", got.status)
	}
}

func TestTheCookieOpensNothingElse(t *testing.T) {
	w := newConsoleWorld(t)
	w.serveBridge(hosts[0], "uid-alice", servedBy("alice"))
	w.setPod("alice", "alice-1", hosts[0])
	v := w.logged(w.alice)
	for _, path := range []string{"/u/alice/mcp", "/mcp", "/u/alice/health", "/u/alice/secrets", "/u/alice/sse", "/admin/audit", keysOfAlice} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r, err := http.NewRequest(method, v.url()+path, strings.NewReader(toolCall))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			if method == http.MethodGet {
				r.Body, r.ContentLength = nil, 0
			}
			if got := v.send(r); got.status != http.StatusUnauthorized && got.status != http.StatusMethodNotAllowed && got.status != http.StatusBadRequest {
				t.Errorf("%s %s with the cookie alone: %d %s", method, path, got.status, got.body)
			}
		}
	}
	for _, header := range []string{"Authorization", "X-Api-Key"} {
		r := w.request(http.MethodGet, "/keys", "", "")
		r.Header.Set(header, "Bearer "+w.alice)
		if got := w.visitor().send(r); got.status != http.StatusSeeOther {
			t.Errorf("a page of the console with %s: %d", header, got.status)
		}
	}
	if got := w.visitor().open("/keys?key=" + w.alice); got.status == http.StatusOK {
		t.Error("a key in a URL opens a page")
	}
}

func TestATokenOfASessionIsNoAccessToken(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	at, err := url.Parse(v.url())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.client.Jar.Cookies(at) {
		if got := w.do(w.request(http.MethodGet, "/u/alice/health", c.Value, "")); got.status != http.StatusUnauthorized {
			t.Errorf("the cookie %s as a bearer token: %d", c.Name, got.status)
		}
	}
}

// consoleForm is a form of a page, with what is entered and what it does.
type consoleForm struct {
	page, action string
	fields       []string
	does         string
}

// values returns what is entered.
func (f *consoleForm) values() url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(f.fields); i += 2 {
		form.Set(f.fields[i], f.fields[i+1])
	}
	return form
}

// consoleForms are the forms of the console, with what they do.
var consoleForms = []consoleForm{
	{"/catalog", "/servers/docs/choice", []string{"use", "On"}, "choose docs On"},
	{"/catalog", "/servers/docs/choice", []string{"use", "Clear"}, "clear docs"},
	{"/servers/github", "/secrets", []string{"name", "GITHUB_TOKEN", "server", "github", "value", "a b+%&="}, "set GITHUB_TOKEN"},
	{"/keys", "/keys", []string{"name", "laptop", "expires", "90d"}, "create laptop 2160h0m0s"},
	{"/keys", "/keys/abcdefgh/revoke", nil, "revoke abcdefgh"},
	{"/secrets", "/secrets/GITHUB_TOKEN/delete", nil, "delete GITHUB_TOKEN"},
	{"/servers/github/disconnect", "/servers/github/disconnect", nil, "disconnect github"},
	{"/servers/jira", "/servers/jira/request", []string{"reason", "I triage tickets"}, "ask jira I triage tickets"},
	{"/servers/jira", "/servers/jira/withdraw", nil, "withdraw jira"},
}

// bridgeForms are those that call the bridge, and the one that ends the session.
var bridgeForms = []consoleForm{
	{"/tools", "/tools", nil, ""},
	{"/tools/search_query", "/tools/search_query", []string{"arg.query", "report"}, ""},
	{"/servers/search/tools/query", "/servers/search/tools/query", []string{"arg.limit", "5"}, ""},
	{"/", "/logout", nil, ""},
}

func TestAFormDoesWhatItSays(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	var want []string
	for _, f := range consoleForms {
		got := v.submit(f.page, f.action, f.fields...)
		if want = append(want, "alice "+f.does); got.status != http.StatusSeeOther && got.status != http.StatusOK {
			t.Errorf("%s: %d %s", f.action, got.status, got.body)
		}
		if to := got.header.Get("Location"); to != "" {
			if page := v.open(to); page.status != http.StatusOK || !strings.Contains(page.body, `class="said"`) {
				t.Errorf("%s leads to %s, which does not say what was done: %d", f.action, to, page.status)
			}
		}
	}
	if diff := cmp.Diff(want, w.self.acts()); diff != "" {
		t.Error(diff)
	}
	if w.self.secrets["GITHUB_TOKEN"] != "a b+%&=" {
		t.Error("the secret is not the one that was entered")
	}
}

func TestAFormWaitsForWhatItChanges(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newConsoleWorld(t, func(o *console.Options) { o.Patience = wait.Limit })
		v := w.logged(w.alice)
		for _, change := range []struct {
			form   int
			before selfservice.Server
		}{
			{0, selfservice.Server{Name: "docs", State: selfservice.ServerOff, Reason: selfservice.ReasonPending}},
			{0, selfservice.Server{Name: "docs", State: health.Connecting}},
			{2, selfservice.Server{Name: "github", State: health.Unhealthy, Secrets: []string{"GITHUB_TOKEN"}, Fix: &selfservice.Fix{Code: selfservice.FixSetSecret}}},
		} {
			f := consoleForms[change.form]
			w.self.become(change.before)
			// It has taken effect some time after the form was sent.
			after := time.AfterFunc(time.Second/2, func() { w.self.become(selfservice.Server{Name: change.before.Name, State: health.Healthy}) })
			v.submit(f.page, f.action, f.fields...)
			if got := v.open("/servers/" + change.before.Name); !strings.Contains(got.body, "Works") || strings.Contains(got.body, "Changing") {
				t.Errorf("after %s the page does not say that it works: %s", f.action, got.body)
			}
			after.Stop()
		}
	})
}

func TestThePageOfAServerSaysWhatBecameOfTheRequest(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	answered := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for state, c := range map[string]struct {
		requests         []requests.Request
		catalog, says    string
		action, isNoForm string
	}{
		"none":     {nil, "Ask for jira", "Why you need it", "request", "withdraw"},
		"open":     {[]requests.Request{{Server: "jira", State: requests.Open, Reason: "<b>tickets", Asked: answered}}, "See the request", "Your reason: <bdi>&lt;b&gt;tickets", "withdraw", "request"},
		"refused":  {[]requests.Request{{Server: "jira", State: requests.Refused, Answer: "use the team's", Answered: &answered}}, "Ask for jira", "The answer: <bdi>use the team&#39;s", "request", "withdraw"},
		"approved": {[]requests.Request{{Server: "jira", State: requests.Approved, Answered: &answered}}, "Ask for jira", "Your request was approved", "request", "withdraw"},
		"other":    {[]requests.Request{{Server: "wiki", State: requests.Open}}, "Ask for jira", "Why you need it", "request", "withdraw"},
	} {
		w.self.mu.Lock()
		w.self.requests = requests.List{Requests: c.requests}
		w.self.mu.Unlock()
		if got := v.open("/catalog"); got.status != http.StatusOK || !strings.Contains(got.body, c.catalog) {
			t.Errorf("%s: the catalog does not say %q: %s", state, c.catalog, got.body)
		}
		got := v.open("/servers/jira")
		if !strings.Contains(got.body, c.says) || !strings.Contains(got.body, `action="/servers/jira/`+c.action) || strings.Contains(got.body, `action="/servers/jira/`+c.isNoForm) {
			t.Errorf("%s: %d %s", state, got.status, got.body)
		}
	}
	form := url.Values{"csrf": v.open("/servers/jira").hidden()["csrf"], "reason": {"once more"}}
	w.self.fail(httpapi.New(http.StatusConflict, "some_code", "Ten requests are open."))
	if got := v.post("/servers/jira/request", form); got.status != http.StatusConflict {
		t.Errorf("what is refused: %d %s", got.status, got.body)
	}
}

func TestAFormOfAnotherSiteDoesNothing(t *testing.T) {
	w := newConsoleWorld(t)
	var asked []string
	w.serveBridge(hosts[0], "uid-alice", mcpOf(&asked, `{"content":[]}`))
	w.setPod("alice", "alice-1", hosts[0])
	v, other := w.logged(w.alice), w.logged(w.bob)
	right, foreign := v.open("/keys").hidden().Get("csrf"), other.open("/keys").hidden().Get("csrf")
	sent := []string{"/login"} // TestALoginOfAnotherSiteBeginsNoSession sends it.
	for _, f := range slices.Concat(consoleForms, bridgeForms) {
		sent = append(sent, f.action)
		for name, tt := range attacksOnForms(right, foreign) {
			form := f.values()
			form["csrf"] = tt.csrf
			if got := v.post(f.action, form, tt.header...); got.status != http.StatusForbidden {
				t.Errorf("%s with %s: %d", f.action, name, got.status)
			}
		}
	}
	if did := w.self.acts(); len(did) > 0 || len(asked) > 0 {
		t.Errorf("something was done: %q, and the bridge was asked %q", did, asked)
	}
	if got := v.open("/keys"); got.status != http.StatusOK {
		t.Errorf("the session has ended: %d", got.status)
	}
	if forgotten := routesWithout(w.pages, http.MethodPost, sent); len(forgotten) > 0 {
		t.Errorf("no form was sent to %q", forgotten)
	}
}

// attackOnForm is how another site, or another session, sends a form.
type attackOnForm struct {
	csrf, header []string
}

// attacksOnForms are all ways in which a form comes that no page of the session sends, whose
// token is right. foreign is the token of another session.
func attacksOnForms(right, foreign string) map[string]attackOnForm {
	return map[string]attackOnForm{
		"no token":                     {},
		"another session's token":      {csrf: []string{foreign}},
		"another site":                 {[]string{right}, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}},
		"another origin, old browser":  {[]string{right}, []string{"Sec-Fetch-Site", "", "Origin", "https://evil.example"}},
		"a page of a file":             {[]string{right}, []string{"Sec-Fetch-Site", "", "Origin", "null"}},
		"a sibling of the same domain": {[]string{right}, []string{"Sec-Fetch-Site", "same-site"}},
	}
}

// partOfPath is a part of the path of a route that differs.
var partOfPath = regexp.MustCompile(`:[A-Za-z]+`)

// routesWithout returns the paths of the routes with a method that no path is one of.
func routesWithout(routes []httpapi.Route, method string, paths []string) []string {
	var without []string
	for _, r := range routes {
		form := regexp.MustCompile("^" + partOfPath.ReplaceAllString(r.Path, "[^/]+") + "$")
		if r.Method == method && !slices.ContainsFunc(paths, form.MatchString) {
			without = append(without, r.Path)
		}
	}
	return without
}

func TestALoginOfAnotherSiteBeginsNoSession(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.visitor()
	form := v.open("/login").hidden()
	form.Set("key", w.alice)
	if got := v.post("/login", form, "Sec-Fetch-Site", "cross-site"); got.status != http.StatusForbidden {
		t.Errorf("from another site: %d", got.status)
	}
	form.Set("visit", w.visitor().open("/login").hidden().Get("visit"))
	if got := v.post("/login", form); got.status != http.StatusForbidden || !strings.Contains(got.body, "cookie") {
		t.Errorf("with the form of another browser: %d %s", got.status, got.body)
	}
	if got := v.open("/keys"); got.status != http.StatusSeeOther {
		t.Error("a session began")
	}
}

func TestASessionEnds(t *testing.T) {
	for name, end := range map[string]func(w *consoleWorld){
		"when it was idle for an hour": func(w *consoleWorld) { w.wait(time.Hour) },
		"when its key is revoked": func(w *consoleWorld) {
			w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = nil })
		},
		"when its key has expired": func(w *consoleWorld) {
			w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
				b.Spec.APIKeys[0].ExpiresAt = &metav1.Time{Time: time.Now().Add(-time.Second)}
			})
		},
		"when another key has its id": func(w *consoleWorld) {
			w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys[0].Hash = "user-sha256:" + strings.Repeat("0", 64) })
		},
		"when the bridge is gone":     func(w *consoleWorld) { w.change(func() { w.bridges = w.bridges[1:] }) },
		"when the user is suspended":  func(w *consoleWorld) { w.setAccess("alice", v1alpha1.AccessSuspended) },
		"when the user is offboarded": func(w *consoleWorld) { w.setAccess("alice", v1alpha1.AccessOffboarded) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newConsoleWorld(t)
			v := w.logged(w.alice)
			form := v.open("/keys").hidden()
			end(w)
			if got := v.post("/keys", form); got.status != http.StatusSeeOther || got.header.Get("Location") != "/login?next=/keys&why=ended" {
				t.Errorf("a form: %d %v", got.status, got.header)
			}
			if got := v.open("/login?next=/keys&why=ended"); !strings.Contains(got.body, "Your session ended") || !strings.Contains(got.body, `name="next" value="/keys"`) {
				t.Errorf("the page to log in again: %s", got.body)
			}
			if got := v.open("/secrets"); got.status != http.StatusSeeOther {
				t.Errorf("a page: %d", got.status)
			}
			if did := w.self.acts(); len(did) > 0 {
				t.Errorf("something was done: %q", did)
			}
		})
	}
}

// setAccess has an administrator set the access of a user.
func (w *consoleWorld) setAccess(user v1alpha1.UserID, access v1alpha1.Access) {
	w.setPeople(&v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Name: "user." + string(user)}, Spec: v1alpha1.BridgePersonSpec{User: user, Access: access}})
}

func TestASessionGoesOnWhileItIsUsed(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	form := v.open("/keys").hidden()
	for n := range 9 {
		if got := v.open("/keys"); got.status != http.StatusOK {
			t.Fatalf("after %d times 50 minutes: %d", n, got.status)
		}
		w.wait(50 * time.Minute)
	}
	if got := v.post("/keys", form); got.status != http.StatusSeeOther || got.header.Get("Location") != "/keys?done=made" {
		t.Errorf("a form of the session's first page: %d %v", got.status, got.header)
	}
	w.wait(31 * time.Minute)
	if got := v.open("/keys"); got.status != http.StatusSeeOther {
		t.Errorf("a session lasts longer than 8 hours: %d", got.status)
	}
}

func TestAForgedSessionIsNone(t *testing.T) {
	w := newConsoleWorld(t)
	other := newConsoleWorld(t)
	v := w.logged(w.alice)
	at, err := url.Parse(v.url())
	if err != nil {
		t.Fatal(err)
	}
	at2, err := url.Parse("http://" + other.addr)
	if err != nil {
		t.Fatal(err)
	}
	var token string
	for _, c := range v.client.Jar.Cookies(at) {
		if c.Name == "hb-console" {
			token = c.Value
		}
	}
	parts := strings.Split(token, ".")
	for name, value := range map[string]string{
		"another signature": parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])),
		"no signature":      parts[0] + "." + parts[1] + ".",
		"another payload":   parts[0] + "." + parts[1][:len(parts[1])-4] + "AAAA." + parts[2],
		"no algorithm":      "eyJhbGciOiJub25lIn0." + parts[1] + ".",
		"nothing":           "x",
		"long":              strings.Repeat("a", 8<<10),
	} {
		visitor := w.visitor()
		visitor.client.Jar.SetCookies(at, []*http.Cookie{{Name: "hb-console", Value: value, Path: "/"}})
		if got := visitor.open("/keys"); got.status != http.StatusSeeOther {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	// The keys are the same there, but nobody knows that key of alice's.
	elsewhere := other.visitor()
	elsewhere.client.Jar.SetCookies(at2, []*http.Cookie{{Name: "hb-console", Value: token, Path: "/"}})
	if got := elsewhere.open("/keys"); got.status != http.StatusSeeOther {
		t.Errorf("at an installation without the key: %d", got.status)
	}
}

func TestHostileTextsAreShownAsText(t *testing.T) {
	w := newConsoleWorld(t)
	hostile := `</bdi><script>alert(1)</script>` + "\u202e\x1b[31m" + strings.Repeat("x", 10<<10)
	w.self.servers["alice"].Servers[1].Message = hostile
	w.self.servers["alice"].Servers[1].Recipe = hostile
	w.self.servers["alice"].Servers[1].Fix.Text = hostile
	w.self.keys = []keys.Info{{ID: "abcdefgh", Name: hostile}}
	w.self.tools = selfservice.Tools{Known: true, Tools: []selfservice.Tool{{Name: hostile, Server: "search", Description: hostile, Title: hostile}},
		Missing: []selfservice.MissingTool{{Server: "search", Tool: hostile, Message: hostile}}}
	w.self.events = []selfservice.Event{{Act: methods.CallTool, Tool: hostile, Server: hostile, App: hostile, Status: audit.Success}}
	v := w.logged(w.alice)
	for _, page := range append([]string{"/keys/abcdefgh/revoke"}, consolePages...) {
		got := v.open(page)
		if got.status != http.StatusOK {
			t.Errorf("%s: %d", page, got.status)
		}
		got.body = checkScript(t, got.header.Get("X-Request-Id"), got)
		if strings.Contains(got.body, "<script") || strings.ContainsAny(got.body, "\u202e\x1b") || strings.Contains(got.body, strings.Repeat("x", 1000)) {
			t.Errorf("%s shows hostile text as it is", page)
		}
	}
}

// Parts of a page of a tool. Fields have their names and values as they are, which browsers
// send and nobody reads.
var (
	unseen = regexp.MustCompile(` (name|value)="[^"]*"`)
	whole  = regexp.MustCompile(`(?s)<pre class="result".*?</pre>`)
)

func TestHostileTextsOfAToolAreShownAsText(t *testing.T) {
	w := newConsoleWorld(t)
	hostile := `</bdi></pre></textarea><script>alert(1)</script>"'` + "\u202e\x1b[31m" + strings.Repeat("x", 4<<10)
	name := "t_" + strings.Repeat("x", 126) // The longest that a path has.
	encode := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	type object = map[string]any
	properties := object{hostile: object{"type": "string", "title": hostile, "description": hostile, "default": hostile}}
	for _, kind := range []string{"string", "integer", "number", "boolean", "array"} {
		properties["of-"+kind] = object{"type": kind, "title": hostile, "description": hostile, "default": hostile, "maxLength": 3}
	}
	properties["one"] = object{"enum": []any{hostile, 1}, "description": hostile}
	tool := object{"name": name, "title": hostile, "description": hostile, "annotations": object{"destructiveHint": true, "title": hostile}}
	result := ""
	serve := func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		var q struct {
			Params struct{ Arguments struct{ Action string } }
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		answer := result
		if r.Header.Get("Mcp-Method") == "tools/list" {
			answer = `"result":{"tools":[` + encode(tool) + `]}`
		} else if q.Params.Arguments.Action == "schema" {
			answer = `"result":{"content":[],"structuredContent":` + encode(tool) + `}`
		}
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":1,%s}`, answer)
	}
	w.serveBridge(hosts[0], "uid-alice", serve)
	w.setPod("alice", "alice-1", hosts[0])
	v := w.logged(w.alice)
	check := func(what string, got reply, status int) {
		t.Helper()
		body := unseen.ReplaceAllString(got.body, "")
		if got.status != status {
			t.Errorf("%s: %d", what, got.status)
		}
		got.body = checkScript(t, got.header.Get("X-Request-Id"), got)
		if strings.Contains(got.body, "<script") || strings.ContainsAny(body, "\u202e\x1b") {
			t.Errorf("%s shows hostile text as it is", what)
		}
		if strings.Contains(whole.ReplaceAllString(body, ""), strings.Repeat("x", 1000)) {
			t.Errorf("%s shows all of a long text", what)
		}
	}
	for schema, of := range map[string]any{
		"a form":                   object{"type": "object", "properties": properties, "required": []string{hostile, "of-string", "of-array"}},
		"a schema that is no form": object{"type": "object", "properties": properties, "oneOf": []any{object{"title": hostile}}, hostile: hostile},
	} {
		tool["inputSchema"] = of
		for _, page := range []string{"/tools/" + name, "/servers/search/tools/" + name} {
			what := page[:strings.LastIndex(page, "/")] + " with " + schema
			check(what, v.open(page), http.StatusOK)
			wrong := []string{"arguments", "{", "arg.of-integer", "1.5", "arg.of-number", "1e999", "arg.of-array", "{", "arg.one", "2"}
			check(what+", filled in wrongly", v.submit(page, page, wrong...), http.StatusUnprocessableEntity)
		}
	}
	tool["inputSchema"] = object{"type": "object"}
	for what, answer := range map[string]string{
		"a result":           `"result":{"content":[{"type":"text","text":` + encode(hostile) + `},{"type":` + encode(hostile) + `,"mimeType":` + encode(hostile) + `},{"type":"resource_link","uri":` + encode(hostile) + `}]}`,
		"a structured one":   `"result":{"content":[],"structuredContent":{` + encode(hostile) + `:` + encode(hostile) + `}}`,
		"a tool that failed": `"result":{"isError":true,"content":[{"type":"text","text":` + encode(hostile) + `}]}`,
		"an error":           `"error":{"code":-32000,"message":` + encode(hostile) + `,"data":{"code":` + encode(hostile) + `}}`,
	} {
		result = answer
		for _, page := range []string{"/tools/" + name, "/servers/search/tools/" + name} {
			check(what+" of "+strings.TrimSuffix(page, name), v.submit(page, page, "confirm", "yes"), http.StatusOK)
		}
	}
}

func TestWrongInputIsToldBesideItsField(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	for name, tt := range map[string]struct {
		page, action string
		fields       []string
		says         []string
		not          string
	}{
		"a lifetime":             {"/keys", "/keys", []string{"name", "laptop", "expires", "soon"}, []string{"is not a lifetime such as 90d", `value="laptop"`, `value="soon"`, `aria-describedby="expires-hint expires-error"`}, ""},
		"a name of a key":        {"/keys", "/keys", []string{"name", "a\x00b", "expires", "90d"}, []string{`id="name-error"`, `value="90d"`}, ""},
		"a secret's name":        {"/secrets", "/secrets", []string{"name", "not a name", "value", "a-canary-value"}, []string{"Use capital letters", `value="not a name"`}, "a-canary-value"},
		"no value":               {"/secrets", "/secrets", []string{"name", "TOKEN", "value", ""}, []string{"Enter the value", `value="TOKEN"`}, ""},
		"no value of a server's": {"/servers/github", "/secrets", []string{"name", "GITHUB_TOKEN", "server", "github", "value", "\r\n"}, []string{"Enter the value", "<h1><bdi>github"}, ""},
	} {
		got := v.submit(tt.page, tt.action, tt.fields...)
		if got.status != http.StatusUnprocessableEntity || tt.not != "" && strings.Contains(got.body, tt.not) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		for _, want := range tt.says {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s: the page does not have %q: %s", name, want, got.body)
			}
		}
	}
	if did := w.self.acts(); len(did) > 0 {
		t.Errorf("something was done: %q", did)
	}
}

func TestAKeyIsShownOnce(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	got := v.submit("/keys", "/keys", "name", "laptop")
	cookie := strings.Join(got.header["Set-Cookie"], "\n")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/keys?done=made" || got.body != "" {
		t.Fatalf("the form: %d %v %s", got.status, got.header, got.body)
	}
	for _, want := range []string{"hb-once=", "Path=/keys", "Max-Age=60", "HttpOnly", "SameSite=Strict"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie has no %s: %s", want, cookie)
		}
	}
	if strings.Contains(cookie, newKey) || strings.Contains(cookie, base64.RawURLEncoding.EncodeToString([]byte(newKey))) {
		t.Errorf("the cookie has the key: %s", cookie)
	}
	if got := v.open("/keys?done=made"); got.status != http.StatusOK || strings.Count(got.body, newKey) != 1 || !strings.Contains(got.body, "laptop") {
		t.Errorf("the page after it: %d %s", got.status, got.body)
	}
	for range 2 {
		if got := v.open("/keys?done=made"); strings.Contains(got.body, newKey) || !strings.Contains(got.body, "make another") {
			t.Errorf("the page, loaded again: %s", got.body)
		}
	}
	if did := w.self.acts(); len(did) != 1 {
		t.Errorf("loading the page again did %q", did)
	}
	if strings.Contains(w.logs.String(), newKey) {
		t.Error("the log has the key")
	}
}

func TestAKeyIsShownToTheSessionThatMadeIt(t *testing.T) {
	w := newConsoleWorld(t)
	made := w.logged(w.alice).submit("/keys", "/keys", "name", "laptop")
	sealed := (&http.Response{Header: made.header}).Cookies()[0]
	for name, key := range map[string]string{"another session": w.alice, "another user": w.bob} {
		v := w.logged(key)
		for text, value := range map[string]string{"the cookie": sealed.Value, "no cookie of ours": "x.y", "a changed one": sealed.Value[:len(sealed.Value)-4] + "AAAA"} {
			r, err := http.NewRequest(http.MethodGet, v.url()+"/keys", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.AddCookie(&http.Cookie{Name: sealed.Name, Value: value})
			if got := v.send(r); got.status != http.StatusOK || strings.Contains(got.body, newKey) || !strings.Contains(strings.Join(got.header["Set-Cookie"], "\n"), sealed.Name+"=; Path=/keys; Max-Age=0") {
				t.Errorf("%s in %s: %d %v %s", text, name, got.status, got.header, got.body)
			}
		}
	}
}

func TestThePageThatRevokesAKeySaysWhichOne(t *testing.T) {
	w := newConsoleWorld(t)
	made, used := time.Date(2026, 4, 1, 9, 30, 0, 0, time.UTC), time.Now().Add(-3*time.Hour)
	w.self.keys = []keys.Info{{ID: "aaaaaaaaaaaa", Name: "laptop", CreatedAt: &made, LastUsed: &used}, {ID: "bbbbbbbbbbbb", Name: "laptop"}, {ID: "cccccccccccc"}}
	v := w.logged(w.alice)
	for id, says := range map[string][]string{
		"aaaaaaaaaaaa": {"Revoke laptop?", "The key laptop has the id aaaaaaaaaaaa. It was made on 1 April 2026, 09:30 UTC. It was last used 3 h ago. Apps that use it lose access now."},
		"bbbbbbbbbbbb": {"Revoke laptop?", "The key laptop has the id bbbbbbbbbbbb. It was not used yet."},
		"cccccccccccc": {"Revoke cccccccccccc?", "The key cccccccccccc has no name."},
	} {
		got := v.open("/keys/" + id + "/revoke")
		for _, want := range says {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s has no %q: %s", id, want, got.body)
			}
		}
	}
}

func TestPagesSayWhatStillWorksWithoutTheCluster(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	form := v.open("/keys").hidden()
	w.self.fail(errClusterAway)
	for _, page := range []string{"/", "/servers/github", "/secrets", "/keys", "/activity"} {
		if got := v.open(page); got.status != http.StatusOK || !strings.Contains(got.body, "your apps work on") {
			t.Errorf("%s: %d %s", page, got.status, got.body)
		}
	}
	for page, wrong := range map[string]string{"/secrets": "You have none", "/servers/github": "Not set"} {
		if got := v.open(page); strings.Contains(got.body, wrong) || !strings.Contains(got.body, "not known at the moment") {
			t.Errorf("%s says what it does not know: %s", page, got.body)
		}
	}
	if got := v.post("/keys", form); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "This does not work at the moment") {
		t.Errorf("a form: %d %s", got.status, got.body)
	}
}

// mcpOf answers as a bridge with one tool does, in the way of the version that needs no
// session, and notes what it was asked.
func mcpOf(asked *[]string, result string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, r.Header.Get("Mcp-Method")+" "+r.Header.Get("Mcp-Name")+" "+string(body))
		rw.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Mcp-Method") == "tools/list" {
			fmt.Fprint(rw, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"search_query","description":"Finds.","inputSchema":{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":50}},"required":["query"]}}]}}`)
			return
		}
		rw.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(rw, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%s}\n\n", result)
	}
}

// TestAToolIsFoundInALongList has descriptions of a MiB in a list, and of more than a page
// reads.
func TestAToolIsFoundInALongList(t *testing.T) {
	w := newConsoleWorld(t)
	size := 1 << 20
	w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"other","description":%q},{"name":"search_query","description":"Finds."}]}}`, strings.Repeat("x", size))
	})
	w.setPod("alice", "alice-1", hosts[0])
	v := w.logged(w.alice)
	if got := v.open("/tools/search_query"); got.status != http.StatusOK || !strings.Contains(got.body, "Finds.") {
		t.Errorf("in a long list: %d %s", got.status, got.body)
	}
	size = 3 << 20
	if got := v.open("/tools/search_query"); got.status != http.StatusBadGateway || !strings.Contains(got.body, "than this page can read") {
		t.Errorf("in a list that is too long: %d %s", got.status, got.body)
	}
}

func TestAToolIsCalledFromItsPage(t *testing.T) {
	w := newConsoleWorld(t)
	var asked []string
	w.serveBridge(hosts[0], "uid-alice", mcpOf(&asked, `{"content":[{"type":"text","text":"<b>found</b>\u202e"}]}`))
	w.setPod("alice", "alice-1", hosts[0])
	v := w.logged(w.alice)
	if got := v.open("/tools/search_query"); got.status != http.StatusOK || !strings.Contains(got.body, "A whole number from 1 to 50.") {
		t.Fatalf("the page: %d %s", got.status, got.body)
	}
	if got := v.submit("/tools/search_query", "/tools/search_query", "arg.query", "report", "arg.limit", "500"); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, "Enter a whole number from 1 to 50.") || !strings.Contains(got.body, `value="500"`) || !strings.Contains(got.body, ">report</textarea>") {
		t.Errorf("a wrong argument: %d %s", got.status, got.body)
	}
	got := v.submit("/tools/search_query", "/tools/search_query", "arg.query", "report", "arg.limit", "5")
	if got.status != http.StatusOK || !strings.Contains(got.body, "&lt;b&gt;found&lt;/b&gt;[U&#43;202E]") {
		t.Errorf("a call: %d %s", got.status, got.body)
	}
	calls := slices.DeleteFunc(asked, func(a string) bool { return !strings.HasPrefix(a, "tools/call ") })
	if len(calls) != 1 || !strings.Contains(calls[0], `"arguments":{"query":"report","limit":5}`) || !strings.HasPrefix(calls[0], "tools/call search_query ") {
		t.Errorf("the bridge was asked %q", calls)
	}
	entries := slices.DeleteFunc(w.audit.all(), func(e audit.Entry) bool { return e.Method == "user/console.login" })
	if len(entries) != 1 || entries[0].UserID != "alice" || entries[0].Method != methods.CallTool || entries[0].Principal.Kind != audit.KindUserKey {
		t.Errorf("the audit trail has %+v", entries)
	}
	if got := v.open("/tools/other"); got.status != http.StatusNotFound {
		t.Errorf("a tool that there is not: %d", got.status)
	}
}

// routerOf answers as a bridge in mode Router does whose server search has the tool query, and
// notes what it was asked.
func routerOf(asked *[]string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var q struct {
			Params struct {
				Arguments struct{ Action, Server, Tool string }
			}
		}
		_ = json.Unmarshal(body, &q)
		*asked = append(*asked, r.Header.Get("Mcp-Method")+" "+r.Header.Get("Mcp-Name")+" "+string(body))
		rw.Header().Set("Content-Type", "application/json")
		result := `{"content":[{"type":"text","text":"found"}]}`
		switch a := q.Params.Arguments; {
		case a.Server != "search" || a.Tool != "query":
			result = `{"isError":true,"content":[],"structuredContent":{"error":"unknown_tool","message":"no"}}`
		case a.Action == "schema":
			result = `{"content":[],"structuredContent":{"action":"schema","server":"search","tool":"query","description":"Finds.","inputSchema":{"type":"object","properties":{"limit":{"type":"integer"}}}}}`
		}
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":1,"result":%s}`, result)
	}
}

func TestAToolOfARouterIsCalledFromItsPage(t *testing.T) {
	w := newConsoleWorld(t)
	var asked []string
	w.serveBridge(hosts[0], "uid-alice", routerOf(&asked))
	w.setPod("alice", "alice-1", hosts[0])
	w.self.tools = selfservice.Tools{Mode: v1alpha1.ModeRouter, Known: true, Tools: []selfservice.Tool{
		{Name: "query", Server: "search", Tool: "query"}, {Name: "query", Server: "github", Tool: "query"}, {Name: "a/b", Server: "github", Tool: "a/b"},
	}}
	v := w.logged(w.alice)
	const page = "/servers/search/tools/query"
	list := v.open("/tools")
	for _, href := range []string{page, "/servers/github/tools/query"} {
		if !strings.Contains(list.body, `href="`+href+`" aria-label="Try query"`) {
			t.Errorf("the list has no link to %s: %s", href, list.body)
		}
	}
	if strings.Contains(list.body, `aria-label="Try a/b"`) {
		t.Error("a tool is to be tried on a page that does not exist")
	}
	if got := v.open(page); got.status != http.StatusOK || !strings.Contains(got.body, `action="`+page+`"`) || !strings.Contains(got.body, "A whole number") {
		t.Fatalf("the page: %d %s", got.status, got.body)
	}
	if got := v.submit(page, page, "arg.limit", "many"); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Enter a whole number") {
		t.Errorf("a wrong argument: %d %s", got.status, got.body)
	}
	asked = nil
	if got := v.submit(page, page, "arg.limit", "5"); got.status != http.StatusOK || !strings.Contains(got.body, "found") {
		t.Errorf("a call: %d %s", got.status, got.body)
	}
	if last := asked[len(asked)-1]; !strings.HasPrefix(last, "tools/call mcp ") || !strings.Contains(last, `"arguments":{"action":"call","server":"search","tool":"query","params":{"limit":5}}`) {
		t.Errorf("the bridge was asked %q", last)
	}
	if got := v.open("/servers/github/tools/query"); got.status != http.StatusNotFound {
		t.Errorf("a tool that does not exist: %d", got.status)
	}
	if got := w.visitor().open("/servers/search/tools/delete"); got.header.Get("Location") != "/login?next=/servers/search/tools/delete" {
		t.Errorf("without a session: %d %v", got.status, got.header)
	}
}

func TestACallFromAPageIsBoundedAsAnyOther(t *testing.T) {
	w := newConsoleWorld(t)
	var asked []string
	w.serveBridge(hosts[0], "uid-alice", mcpOf(&asked, `{"content":[]}`))
	w.setPod("alice", "alice-1", hosts[0])
	v := w.logged(w.alice)
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.Tier = "none" })
	if got := v.open("/tools/search_query"); got.status != http.StatusBadGateway || len(asked) > 0 {
		t.Errorf("in a tier that there is not: %d, and the bridge was asked %q", got.status, asked)
	}
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.Tier, b.Spec.DesiredState = testTier, v1alpha1.StateSuspended })
	if got := v.open("/tools/search_query"); got.status != http.StatusBadGateway || !strings.Contains(got.body, "suspended") {
		t.Errorf("suspended: %d %s", got.status, got.body)
	}
}

// logsIn returns a person who came back from the provider to alice's bridge.
func (w *consoleWorld) logsIn(subject string) (*visitor, reply) {
	w.t.Helper()
	key := oauth.KeyOf(issuerURL, subject)
	w.came = httpapi.Identity{User: "alice", Subject: &key, Since: w.now()}
	v := w.visitor()
	return v, v.open("/oauth/came")
}

func TestAPersonLogsInAtAProvider(t *testing.T) {
	w := newConsoleWorld(t, func(o *console.Options) { o.Login = "/oauth/console" })
	if got := w.visitor().open("/login?next=/keys"); !strings.Contains(got.body, `href="/oauth/console?next=/keys"`) {
		t.Errorf("the page does not lead to the providers: %s", got.body)
	}
	w.bindSubject("alice", "ann")
	v, got := w.logsIn("ann")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/keys" {
		t.Fatalf("%d %v %s", got.status, got.header, got.body)
	}
	if got := v.open("/keys"); got.status != http.StatusOK {
		t.Errorf("the page: %d", got.status)
	}
	if got := v.submit("/keys", "/keys", "name", "laptop"); got.status != http.StatusSeeOther || got.header.Get("Location") != "/keys?done=made" {
		t.Errorf("a form: %d %s", got.status, got.body)
	}
	var acts []string
	for _, e := range w.audit.all() {
		if acts = append(acts, e.Method); e.UserID != "alice" || e.Principal.ID != oauth.KeyOf(issuerURL, "ann").String() {
			t.Errorf("entry %+v", e)
		}
	}
	if !slices.Equal(acts, []string{"user/console.login", "user/keys.create"}) {
		t.Errorf("the audit trail has %q", acts)
	}
}

func TestASessionOfALoginEnds(t *testing.T) {
	person := func(edit func(*v1alpha1.BridgePerson)) func(*consoleWorld) {
		return func(w *consoleWorld) {
			record := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Name: "ann"}, Spec: v1alpha1.BridgePersonSpec{Issuer: issuerURL, Subject: "ann"}}
			edit(record)
			w.setPeople(record)
		}
	}
	for name, end := range map[string]func(w *consoleWorld){
		"when the person is suspended":  person(func(p *v1alpha1.BridgePerson) { p.Spec.Access = v1alpha1.AccessSuspended }),
		"when the person is offboarded": person(func(p *v1alpha1.BridgePerson) { p.Spec.Access = v1alpha1.AccessOffboarded }),
		"when their logins were ended": person(func(p *v1alpha1.BridgePerson) {
			p.Spec.Access, p.Status.LoginsEndedTime = v1alpha1.AccessAllowed, &metav1.Time{Time: time.Now().Add(time.Second)}
		}),
		"when they are taken off the bridge": func(w *consoleWorld) { w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.OAuth = nil }) },
		"when the store says that logins were ended": func(w *consoleWorld) {
			w.ended.Store(true)
			w.wait(11 * time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newConsoleWorld(t)
			w.bindSubject("alice", "ann")
			v, _ := w.logsIn("ann")
			if got := v.open("/keys"); got.status != http.StatusOK {
				t.Fatalf("before: %d", got.status)
			}
			end(w)
			if got := v.open("/keys"); got.status != http.StatusSeeOther || got.header.Get("Location") != "/login?next=/keys&why=ended" {
				t.Errorf("%d %v", got.status, got.header)
			}
		})
	}
}

func TestAPersonWithoutTheBridgeGetsNoSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newConsoleWorld(t)
		if v, got := w.logsIn("mallory"); got.status < 400 || v.open("/keys").status != http.StatusSeeOther {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
}

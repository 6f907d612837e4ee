// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/console/admin"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// adminPages are the pages of administrators, with the roles that see them beside admin.
var adminPages = map[string]string{
	"/console": "auditor", "/console/people": "auditor", "/console/people?search=ali&phase=": "auditor", "/console/people/alice": "auditor",
	"/console/people/alice/suspend": "", "/console/people/alice/resume": "", "/console/people/alice/offboard": "", "/console/people/alice/keys/abcdefgh/revoke": "",
	"/console/audit": "auditor", "/console/audit?userId=alice&server=&status=success": "auditor", "/console/usage": "auditor", "/console/usage?range=month": "auditor",
	"/console/requests": "auditor curator", "/console/requests/alice/jira": "curator",
	"/console/profiles": "auditor", "/console/profiles/engineering": "auditor", "/console/try-profile": "auditor", "/console/catalog": "auditor curator", "/console/health": "auditor",
	"/console/programs": "auditor", "/console/programs?search=notes&state=Ready": "auditor", "/console/programs/" + newNotes: "auditor", "/console/programs/" + brokenMail: "auditor",
	"/console/programs/" + newNotes + "/changes?from=" + oldNotes: "auditor", "/console/programs/" + newNotes + "/reinstall": "",
}

// adminFiles are what administrators download, each for the role auditor beside admin.
var adminFiles = []string{"/console/programs/" + newNotes + "/lock", "/console/programs/" + newNotes + "/spdx"}

// adminForm is a form of administrators, with the roles that send it beside admin and what
// is entered: user and verdict. Requests of a new world are of the version 1.
type adminForm struct{ path, roles, user, verdict string }

func (f *adminForm) values(csrf ...string) url.Values {
	return url.Values{"csrf": csrf, "user": {f.user}, "verdict": {f.verdict}, "version": {"1"}}
}

// adminForms are the forms of administrators. What they do is in
// TestFormsOfAdministratorsDoWhatTheySay.
var adminForms = []adminForm{
	{"/console/people/alice/suspend", "", "", ""},
	{"/console/people/alice/resume", "", "", ""},
	{"/console/people/alice/offboard", "", "alice", ""},
	{"/console/people/alice/keys/abcdefgh/revoke", "", "", ""},
	{"/console/people/alice/wake", "", "", ""},
	{"/console/requests/alice/jira", "curator", "", "Approved"},
	{"/console/programs/" + newNotes + "/reinstall", "", "", ""},
}

// TestThePagesOfAdministratorsAreAllThatIsServed holds that the tables above have each page
// and each form.
func TestThePagesOfAdministratorsAreAllThatIsServed(t *testing.T) {
	w := newAdminWorld(t)
	pages := append([]string{"/console/login"}, adminFiles...)
	for path := range adminPages {
		path, _, _ = strings.Cut(path, "?")
		pages = append(pages, path)
	}
	forms := []string{"/console/login", "/console/logout", "/console/try-profile"}
	for _, f := range adminForms {
		forms = append(forms, f.path)
	}
	served := slices.DeleteFunc(slices.Clone(w.adminPages), func(r httpapi.Route) bool { return strings.HasPrefix(r.Path, "/console/:") }) // Those of nothing.
	if forgotten := routesWithout(served, http.MethodGet, pages); len(forgotten) > 0 {
		t.Errorf("adminPages lacks %q", forgotten)
	}
	if forgotten := routesWithout(served, http.MethodPost, forms); len(forgotten) > 0 {
		t.Errorf("adminForms lacks %q", forgotten)
	}
}

func TestAdministratorsSeeThePagesOfTheirRole(t *testing.T) {
	w := newAdminWorld(t)
	for role, v := range map[oauth.Role]*visitor{
		"key": w.administrator(), oauth.RoleAdmin: w.with(oauth.RoleAdmin), oauth.RoleAuditor: w.with(oauth.RoleAuditor), oauth.RoleCurator: w.with(oauth.RoleCurator),
	} {
		nothing := v.open("/console/nothing/at/all")
		if nothing.status != http.StatusNotFound || !strings.Contains(nothing.body, "There is no such page") {
			t.Fatalf("%s: nothing is answered %d %s", role, nothing.status, nothing.body)
		}
		for path, roles := range adminPages {
			got := v.open(path)
			sees := role == "key" || role == oauth.RoleAdmin || slices.Contains(strings.Fields(roles), string(role))
			switch {
			case sees && got.status != http.StatusOK:
				t.Errorf("%s with %s: %d %s", path, role, got.status, got.body)
			case !sees && (got.status != http.StatusNotFound || got.body != nothing.body):
				t.Errorf("%s with %s: %d, not as nothing: %s", path, role, got.status, got.body)
			}
			if role == oauth.RoleAuditor && (strings.Contains(got.body, `action="/console/people/alice`) || strings.Contains(got.body, "/suspend") || strings.Contains(got.body, "/wake") || strings.Contains(got.body, "/revoke") || strings.Contains(got.body, "/reinstall")) {
				t.Errorf("%s: an auditor sees a button that writes", path)
			}
		}
		if role == "key" || role == oauth.RoleAdmin {
			continue
		}
		token := v.open("/console/catalog").hidden()
		nothing = v.post("/console/nothing", token)
		for _, f := range adminForms {
			got := v.post(f.path, f.values(token["csrf"]...))
			switch may := slices.Contains(strings.Fields(f.roles), string(role)); {
			case may && got.status != http.StatusSeeOther:
				t.Errorf("%s with %s: %d %s", f.path, role, got.status, got.body)
			case !may && (got.status != http.StatusNotFound || got.body != nothing.body):
				t.Errorf("%s with %s: %d, not as nothing", f.path, role, got.status)
			}
		}
	}
	if did := w.access.acts(); len(did) > 0 {
		t.Errorf("something was done: %q", did)
	}
}

func TestWithoutASessionThereIsTheLogin(t *testing.T) {
	w := newAdminWorld(t)
	v := w.visitor()
	for path := range adminPages {
		next := path
		if page, query, has := strings.Cut(path, "?"); has {
			next = page + "%3F" + url.QueryEscape(query)
		}
		if got := v.open(path); got.status != http.StatusSeeOther || got.header.Get("Location") != "/console/login?next="+next {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
	if got := v.open("/console/nothing"); got.status != http.StatusSeeOther {
		t.Errorf("nothing: %d", got.status)
	}
	if got := v.open("/console/login?next=/console/people"); got.status != http.StatusOK || !strings.Contains(got.body, `name="next" value="/console/people"`) || strings.Contains(got.body, "Log out") {
		t.Errorf("the login: %d %s", got.status, got.body)
	}
	for _, f := range adminForms {
		if got := v.post(f.path, f.values()); got.status != http.StatusSeeOther {
			t.Errorf("%s: %d", f.path, got.status)
		}
	}
}

func TestOnlyTheAdminKeyBeginsASession(t *testing.T) {
	w := newAdminWorld(t)
	for name, key := range map[string]string{"none": "", "a user's": w.alice, "a longer one": adminKey + "x", "very long": strings.Repeat("k", 3000)} {
		v := w.visitor()
		got := v.enterKey(key, "/console")
		if got.status != http.StatusUnauthorized || !strings.Contains(got.body, "This is not the admin key") || key != "" && strings.Contains(got.body, key) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		if got := v.open("/console"); got.status != http.StatusSeeOther {
			t.Errorf("%s: a session began", name)
		}
	}
	if got := w.visitor().enterKey(adminKey, "//evil.example"); got.header.Get("Location") != "/console" {
		t.Errorf("a login leads to %q", got.header.Get("Location"))
	}
	if got := w.visitor().enterKey(adminKey, "/keys"); got.header.Get("Location") != "/console" {
		t.Errorf("a login leads out of the console, to %q", got.header.Get("Location"))
	}
	if got := w.with(oauth.RoleCurator).open("/console/catalog"); got.status != http.StatusOK || !strings.Contains(got.body, `href="/console/catalog"`) || strings.Contains(got.body, `href="/console/people"`) {
		t.Errorf("a curator: %d %s", got.status, got.body)
	}
	w.adminKey = nil
	if got := w.visitor().enterKey(adminKey, "/console"); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "no admin key") {
		t.Errorf("without an admin key: %d %s", got.status, got.body)
	}
	if strings.Contains(w.logs.String(), adminKey) {
		t.Error("the log has the admin key")
	}
}

func TestTriesOfAdminKeysAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newAdminWorld(t)
		v := w.visitor()
		last := 0
		for range 200 {
			if last = v.enterKey(strings.Repeat("k", 32), "/console").status; last == http.StatusTooManyRequests {
				break
			}
		}
		if last != http.StatusTooManyRequests {
			t.Errorf("the last of many tries is answered %d", last)
		}
	})
}

func TestASessionOfAnAdministratorEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		enter func(*adminWorld) *visitor
		end   func(*adminWorld)
	}{
		"after an hour":              {(*adminWorld).administrator, func(w *adminWorld) { w.wait(time.Hour) }},
		"after an hour, by a login":  {func(w *adminWorld) *visitor { return w.with(oauth.RoleAdmin) }, func(w *adminWorld) { w.wait(time.Hour) }},
		"when the admin key changes": {(*adminWorld).administrator, func(w *adminWorld) { w.adminKey = []byte("another-admin-key-of-some-length") }},
		"when there is no key":       {(*adminWorld).administrator, func(w *adminWorld) { w.adminKey = nil }},
		"when the person has to leave": {func(w *adminWorld) *visitor { return w.with(oauth.RoleAdmin) }, func(w *adminWorld) {
			w.change(func() {
				w.persons = append(w.persons, &v1alpha1.BridgePerson{Spec: v1alpha1.BridgePersonSpec{Issuer: issuerURL, Subject: "ann", Access: v1alpha1.AccessSuspended}})
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAdminWorld(t)
			v := tt.enter(w)
			form := v.open("/console/people/alice/suspend").hidden()
			tt.end(w)
			if got := v.post("/console/people/alice/suspend", form); got.status != http.StatusSeeOther || got.header.Get("Location") != "/console/login?next=/console/people/alice/suspend&why=ended" {
				t.Errorf("a form: %d %v", got.status, got.header)
			}
			if got := v.open("/console"); got.status != http.StatusSeeOther {
				t.Errorf("a page: %d", got.status)
			}
			if did := w.access.acts(); len(did) > 0 {
				t.Errorf("something was done: %q", did)
			}
		})
	}
}

func TestALogoutEndsTheSessionInTheBrowser(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	if got := v.submit("/console", "/console/logout"); got.header.Get("Location") != "/console/login?why=out" {
		t.Errorf("%d %v", got.status, got.header)
	}
	if got := v.open("/console"); got.status != http.StatusSeeOther {
		t.Errorf("after the logout: %d", got.status)
	}
}

func TestTheCookieOfAnAdministratorIsForTheConsoleAlone(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	at, err := url.Parse(v.url())
	if err != nil {
		t.Fatal(err)
	}
	cookies := v.client.Jar.Cookies(at)
	i := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return c.Name == "hb-administrator" })
	if i < 0 {
		t.Fatalf("cookies %v", cookies)
	}
	for _, path := range []string{"/admin/users", "/admin/audit", "/u/alice/health", "/u/alice/secrets"} {
		if got := v.open(path); got.status != http.StatusUnauthorized {
			t.Errorf("%s with the cookie alone: %d", path, got.status)
		}
		if got := w.do(w.request("GET", path, cookies[i].Value, "")); got.status != http.StatusUnauthorized {
			t.Errorf("%s with the cookie as a token: %d", path, got.status)
		}
	}
	if got := v.open("/keys"); got.status != http.StatusSeeOther {
		t.Errorf("a page of users with it: %d", got.status)
	}
	// Neither console takes the other's session under the name of its own cookie.
	user := w.logged(w.alice)
	for _, c := range user.client.Jar.Cookies(at) {
		if c.Name != "hb-console" {
			continue
		}
		swapped := w.visitor()
		swapped.client.Jar.SetCookies(at, []*http.Cookie{{Name: "hb-administrator", Value: c.Value, Path: "/"}, {Name: "hb-console", Value: cookies[i].Value, Path: "/"}})
		if got := swapped.open("/console/people"); got.status != http.StatusSeeOther {
			t.Errorf("a user's session as an administrator's: %d", got.status)
		}
		if got := swapped.open("/keys"); got.status != http.StatusSeeOther {
			t.Errorf("an administrator's session as a user's: %d", got.status)
		}
	}
	for _, header := range []string{"Authorization", "X-Api-Key"} {
		r := w.request(http.MethodGet, "/console", "", "")
		r.Header.Set(header, adminKey)
		if got := w.visitor().send(r); got.status != http.StatusSeeOther {
			t.Errorf("a page with %s: %d", header, got.status)
		}
	}
}

func TestAFormOfAnotherSiteDoesNothingOfAnAdministrators(t *testing.T) {
	w := newAdminWorld(t)
	v, other := w.administrator(), w.administrator()
	right, foreign := v.open("/console").hidden().Get("csrf"), other.open("/console").hidden().Get("csrf")
	for _, f := range append(slices.Clone(adminForms), adminForm{path: "/console/logout"}, adminForm{path: "/console/try-profile"}) {
		for name, tt := range attacksOnForms(right, foreign) {
			if got := v.post(f.path, f.values(tt.csrf...), tt.header...); got.status != http.StatusForbidden {
				t.Errorf("%s with %s: %d", f.path, name, got.status)
			}
		}
	}
	form := v.open("/console/login").hidden()
	form.Set("key", adminKey)
	form.Set("visit", w.visitor().open("/console/login").hidden().Get("visit"))
	if got := v.post("/console/login", form); got.status != http.StatusForbidden {
		t.Errorf("a login with the form of another browser: %d", got.status)
	}
	isAnswered := func(q v1alpha1.BridgeRequest) bool { return q.Spec.Decision != nil }
	if did := w.access.acts(); len(did) > 0 || len(w.keys.keys["uid-alice"]) != 1 || slices.ContainsFunc(w.requests.all, isAnswered) || len(w.programs.deleted) > 0 {
		t.Errorf("something was done: %q, keys %v, requests %v", did, w.keys.keys, w.requests.all)
	}
}

func TestFormsOfAdministratorsDoWhatTheySay(t *testing.T) {
	w := newAdminWorld(t)
	v := w.with(oauth.RoleAdmin)
	for _, f := range adminForms {
		got := v.submit(f.path, f.path, "user", f.user, "verdict", f.verdict)
		back, _, _ := strings.Cut(got.header.Get("Location"), "?done=")
		if got.status != http.StatusSeeOther || !slices.Contains([]string{"/console/people/alice", "/console/requests", "/console/programs"}, back) {
			t.Errorf("%s: %d %v %s", f.path, got.status, got.header, got.body)
			continue
		}
		if page := v.open(got.header.Get("Location")); page.status != http.StatusOK || !strings.Contains(page.body, `class="said"`) {
			t.Errorf("%s leads to a page that does not say what was done: %d", f.path, page.status)
		}
	}
	want := []string{"alice Suspended", "alice Allowed", "alice Offboarded"}
	if diff := cmp.Diff(want, w.access.acts()); diff != "" {
		t.Error(diff)
	}
	if len(w.keys.keys["uid-alice"]) != 0 || !slices.Equal(w.programs.deleted, []string{newNotes + " 1"}) {
		t.Errorf("the key was not revoked, or no program made again: %q", w.programs.deleted)
	}
	acted := w.acted()
	for _, act := range []string{
		"oauth admin admin/access.preview alice Suspended", "oauth admin admin/access.set alice Suspended", "oauth admin admin/access.set alice Allowed",
		"oauth admin admin/access.set alice Offboarded", "oauth admin admin/keys.revoke alice abcdefgh", "oauth admin admin/users.get alice",
		"oauth admin admin/requests.approve alice jira", "oauth admin admin/programs.reinstall  " + newNotes,
	} {
		if !slices.Contains(acted, act) {
			t.Errorf("the trail lacks %q: %q", act, acted)
		}
	}
}

func TestARequestIsAnsweredOnItsPage(t *testing.T) {
	w := newAdminWorld(t)
	const jira, wiki = "/console/requests/alice/jira", "/console/requests/alice/wiki"
	auditor := w.with(oauth.RoleAuditor)
	if got := auditor.open("/console/requests"); !strings.Contains(got.body, "I triage &lt;tickets&gt;") || strings.Contains(got.body, jira) {
		t.Errorf("an auditor: %d %s", got.status, got.body)
	}
	if got := auditor.submit("/console/requests", jira, "verdict", "Approved"); got.status != http.StatusNotFound {
		t.Errorf("an auditor answers: %d", got.status)
	}
	v := w.with(oauth.RoleCurator)
	if got := v.open("/console/requests"); !strings.Contains(got.body, "2 wait for an answer") || !strings.Contains(got.body, `href="`+jira+`"`) {
		t.Errorf("a curator: %d %s", got.status, got.body)
	}
	if got := v.submit(wiki, wiki, "verdict", "Refused", "reason", " "); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "a refusal needs a reason") {
		t.Errorf("a refusal without a reason: %d %s", got.status, got.body)
	}
	if got := v.submit(wiki, wiki, "verdict", "Maybe"); got.status != http.StatusForbidden {
		t.Errorf("another verdict: %d %s", got.status, got.body)
	}
	if got := v.open("/console/requests/alice/other"); got.status != http.StatusNotFound {
		t.Errorf("no request: %d", got.status)
	}
	w.requests.fail(requests.ErrChanged)
	if got := v.submit(wiki, wiki, "verdict", "Refused", "reason", "use the team's"); got.status != http.StatusConflict || !strings.Contains(got.body, "use the team&#39;s</textarea>") {
		t.Errorf("a request that somebody else answered meanwhile: %d %s", got.status, got.body)
	}
	w.requests.fail(nil)
	for path, fields := range map[string][]string{jira: {"verdict", "Approved", "reason", ""}, wiki: {"verdict", "Refused", "reason", "use the team's"}} {
		got := v.submit(path, path, fields...)
		if got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/console/requests?done=") {
			t.Fatalf("%s: %d %s", path, got.status, got.body)
		}
		if page := v.open(got.header.Get("Location")); !strings.Contains(page.body, `class="said"`) {
			t.Errorf("%s leads to a page that does not say what was done", path)
		}
	}
	got := v.open("/console/requests")
	for _, want := range []string{"None waits for an answer", "Approved", "Refused", "use the team&#39;s"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page lacks %q: %s", want, got.body)
		}
	}
	acted := w.acted()
	for _, act := range []string{"oauth curator admin/requests.approve alice jira", "oauth curator admin/requests.refuse alice wiki", "oauth auditor admin/requests.list"} {
		if !slices.ContainsFunc(acted, func(a string) bool { return strings.TrimSpace(a) == act }) {
			t.Errorf("the trail lacks %q: %q", act, acted)
		}
	}
}

func TestAnAnswerIsAboutTheRequestThatItsPageShowed(t *testing.T) {
	w := newAdminWorld(t)
	const jira = "/console/requests/alice/jira"
	v := w.with(oauth.RoleCurator)
	shown := v.open(jira)
	if !strings.Contains(shown.body, "recipe jira") {
		t.Errorf("the page does not say what is approved: %s", shown.body)
	}
	form := shown.hidden()
	form.Set("verdict", string(v1alpha1.RequestApproved))
	w.requests.change("jira", func(q *v1alpha1.BridgeRequest) { q.Spec.Reason, q.Spec.Offer = "I pay salaries", "recipe payroll" })
	got := v.post(jira, form)
	if got.status != http.StatusConflict || !strings.Contains(got.body, "not the version that you read") || !strings.Contains(got.body, "I pay salaries") || !strings.Contains(got.body, "recipe payroll") {
		t.Errorf("an answer to the page of before: %d %s", got.status, got.body)
	}
	if slices.ContainsFunc(w.requests.all, func(q v1alpha1.BridgeRequest) bool { return q.Spec.Decision != nil }) {
		t.Errorf("it was answered: %+v", w.requests.all)
	}
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Status.Effective = &v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{
			{Name: "jira", Profile: "team", Use: v1alpha1.ServerOnRequest, Reason: v1alpha1.ReasonNotApproved, Offer: "recipe jira"},
		}}
	})
	if got := v.open(jira); !strings.Contains(got.body, "has to ask again") || strings.Contains(got.body, ">Approve<") {
		t.Errorf("a request for another offer can be approved: %d %s", got.status, got.body)
	}
	if got := v.submit(jira, jira, "verdict", "Approved"); got.status != http.StatusConflict || !strings.Contains(got.body, "something else") {
		t.Errorf("a request for another offer was approved: %d %s", got.status, got.body)
	}
}

func TestAnAdministratorSeesNoRequestOfAnEarlierBridge(t *testing.T) {
	w := newAdminWorld(t)
	v := w.with(oauth.RoleCurator)
	w.requests.change("jira", func(q *v1alpha1.BridgeRequest) { q.Spec.BridgeUID = "uid-former" })
	if got := v.open("/console/requests"); !strings.Contains(got.body, "1 waits for an answer") || strings.Contains(got.body, "alice/jira") {
		t.Errorf("the list: %d %s", got.status, got.body)
	}
	if got := v.submit("/console/requests/alice/wiki", "/console/requests/alice/jira", "verdict", "Approved"); got.status != http.StatusNotFound {
		t.Errorf("it was answered: %d %s", got.status, got.body)
	}
}

func TestThePageOfTheInstallationSaysWhatDoesNotAnswer(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	away := errors.New("connect to 10.0.0.1: refused")
	w.health.Logins.Err, w.health.Quotas.Err, w.health.Replicas, w.health.ReplicasErr = away, away, nil, away
	w.health.KeyVersions = map[int32]int{2: 7}
	w.health.Providers = []flow.ProviderHealth{
		{ID: "okta", Name: "Okta", Limits: flow.Limits{Grace: time.Hour}, Answered: time.Unix(1, 0), Failed: time.Unix(2, 0), Trouble: "it answers with status 500, error invalid_request"},
		{ID: "google", Name: "Google", Answered: time.Unix(1, 0)}, {ID: "entra", Name: "Entra", NoToken: true, Login: 12 * time.Hour, Answered: time.Unix(1, 0)}, {ID: "github", Name: "GitHub"},
	}
	got := v.open("/console/health")
	for _, want := range []string{"Nobody can log in or renew a login.", "each replica of the ingress allows its share", "The replicas cannot be shown now", "All bridges have their secrets under the last version.",
		"Does not say who people are", "it answers with status 500, error invalid_request", "Without its word for 1h0m0s", "Logins at Google", "Gives no refresh token", "can be 12h0m0s old", "Not asked yet"} {
		if got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("it does not say %q: %d %s", want, got.status, got.body)
		}
	}
	if strings.Contains(got.body, "10.0.0.1") || strings.Count(got.body, "Does not answer") != 2 {
		t.Errorf("%s", got.body)
	}
	w.health.Logins = admin.Store{}
	for want, versions := range map[string]map[int32]int{"No bridge has secrets yet.": {}, "The bridges are not known yet.": nil} {
		w.health.KeyVersions = versions
		if got := v.open("/console/health"); !strings.Contains(got.body, want) || !strings.Contains(got.body, "keeps no logins") {
			t.Errorf("it does not say %q: %s", want, got.body)
		}
	}
}

func TestTheAuditPageSaysWhichLinesItLacks(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	const missing, whole, verify = "2 of 40 lines are not here", "The index has all 40", "ingress audit verify FILE..."
	for want, lines := range map[string]*audit.Lines{missing: {Count: 40, Missing: 2}, whole: {Count: 40}, "": nil} {
		w.index.answer(audit.Page{Lines: lines}, nil)
		got := v.open("/console/audit").body
		if !strings.Contains(got, verify) || strings.Contains(got, missing) != (want == missing) || strings.Contains(got, whole) != (want == whole) {
			t.Errorf("%q: %s", want, got)
		}
	}
}

func TestTheAuditPageLeavesOutItsOwnReaders(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	for path, want := range map[string]bool{"/console/audit": true, "/console/audit?userId=alice": true, "/console/audit?views=true": false} {
		w.index.answer(audit.Page{Next: &audit.Position{TimeMS: 1, Writer: "w", Seq: 1}}, nil)
		got := v.open(path)
		asked := w.index.queries()
		if got.status != http.StatusOK || len(asked) != 1 || asked[0].NoViews != want || strings.Contains(got.body, `value="true" checked`) == want {
			t.Errorf("%s asks for %+v: %s", path, asked, got.body)
		}
		if next := "views=" + strconv.FormatBool(!want); !strings.Contains(got.body, next) {
			t.Errorf("the next page of %s is not one with %s", path, next)
		}
	}
}

func TestTheCatalogOfAdministratorsHasPages(t *testing.T) {
	w := newAdminWorld(t)
	w.recipes.entries = []catalog.Entry{{Name: "broken", Refused: "why"}}
	for i := range 120 {
		w.recipes.entries = append(w.recipes.entries, catalog.Entry{Name: fmt.Sprintf("recipe-%03d", i), Accepted: true})
	}
	v := w.administrator()
	const next, previous = `rel="next"`, `rel="prev"`
	for path, test := range map[string]struct{ has, hasNot []string }{
		"/console/catalog":                         {[]string{"broken", "recipe-000", "recipe-049", next, "Page 1 of 3", "/console/catalog?page=2"}, []string{"recipe-050", previous}},
		"/console/catalog?page=3":                  {[]string{"recipe-100", "recipe-119", previous, "Page 3 of 3"}, []string{"broken", "recipe-099", next}},
		"/console/catalog?page=4":                  {[]string{"recipe-000", "Page 1 of 3"}, []string{"recipe-119"}},
		"/console/catalog?search=recipe-0&page=2":  {[]string{"recipe-050", "recipe-099", "/console/catalog?page=1&amp;search=recipe-0"}, []string{next}},
		"/console/catalog?search=recipe-01&page=1": {[]string{"recipe-010"}, []string{"Page 1", next}},
	} {
		got := v.open(path)
		for _, want := range test.has {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s does not have %s: %s", path, want, got.body)
			}
		}
		for _, other := range test.hasNot {
			if strings.Contains(got.body, other) {
				t.Errorf("%s has %s", path, other)
			}
		}
	}
}

func TestAnAdministratorWakesABridge(t *testing.T) {
	w := newAdminWorld(t)
	const page, button = "/console/people/bob", `action="/console/people/bob/wake"`
	w.sleep("bob")
	if got := w.with(oauth.RoleAuditor).open(page); got.status != http.StatusOK || !strings.Contains(got.body, "asleep") || strings.Contains(got.body, button) {
		t.Errorf("an auditor: %d %s", got.status, got.body)
	}
	v := w.with(oauth.RoleAdmin)
	if got := v.open(page); !strings.Contains(got.body, button) {
		t.Errorf("no button: %s", got.body)
	}
	for _, tt := range []struct {
		user, says string
		woken      int
	}{{"bob", "The bridge wakes.", 1}, {"alice", "Nothing was done", 1}} {
		person := "/console/people/" + tt.user
		got := v.submit(page, person+"/wake")
		if got.status != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", tt.user, got.status, got.body)
		}
		if shown := v.open(got.header.Get("Location")); !strings.Contains(shown.body, tt.says) || len(w.activity.wakes()) != tt.woken {
			t.Errorf("%s: woken %q: %s", tt.user, w.activity.wakes(), shown.body)
		}
		if acted := w.acted(); !slices.Contains(acted, "oauth admin admin/bridge.wake "+tt.user) {
			t.Errorf("%s: the trail has %q", tt.user, acted)
		}
	}
	if got := v.open("/console/people/alice"); strings.Contains(got.body, "/wake") {
		t.Errorf("a bridge that runs has a button: %s", got.body)
	}
	w.setPeople(&v1alpha1.BridgePerson{Spec: v1alpha1.BridgePersonSpec{User: "bob", Access: v1alpha1.AccessSuspended}})
	if got := v.open(page); strings.Contains(got.body, button) {
		t.Errorf("a bridge that nobody may use has a button: %s", got.body)
	}
	if v.submit(page, page+"/wake"); len(w.activity.wakes()) != 1 {
		t.Errorf("woken %q, though nobody may use it", w.activity.wakes())
	}
}

func TestThePageOfAPersonCountsTheirCallsAlone(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	for _, page := range []string{"/console/people/alice", "/console/usage?range=week&userId=alice"} {
		w.index.answerFigures(figuresOfDay(time.Now()), nil)
		if got := v.open(page); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", page, got.status, got.body)
		}
		if asked := w.index.counts(); len(asked) != 1 || asked[0].UserID != "alice" {
			t.Errorf("%s counts %+v", page, asked)
		}
		if acted := w.acted(); !slices.Contains(acted, "admin_key  admin/analytics.query alice") {
			t.Errorf("%s: the trail has %q", page, acted)
		}
	}
	if got := v.open("/console/usage?userId=alice"); strings.Contains(got.body, `id="top-users"`) {
		t.Error("the calls of one person are listed by person")
	}
	w.index.answerFigures(audit.Figures{}, problems.AuditIndexDisabled)
	if got := v.open("/console/people/alice"); got.status != http.StatusOK || !strings.Contains(got.body, "keeps no index of its calls") {
		t.Errorf("without an index: %d %s", got.status, got.body)
	}
}

func TestAnOffboardingNeedsTheTypedName(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	const path = "/console/people/alice/offboard"
	if got := v.open(path); !strings.Contains(got.body, "the salt and the secrets are destroyed") || !strings.Contains(got.body, "Type alice to confirm") {
		t.Errorf("the page: %s", got.body)
	}
	for _, typed := range []string{"", "bob", "Alice", "alice "} {
		got := v.submit(path, path, "user", typed)
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "user-error") || !strings.Contains(got.body, `value="`+typed+`"`) {
			t.Errorf("%q: %d %s", typed, got.status, got.body)
		}
	}
	if did := w.access.acts(); len(did) > 0 {
		t.Errorf("something was done: %q", did)
	}
}

func TestTheOverviewSaysWhoWaitsForAnAnswer(t *testing.T) {
	w := newAdminWorld(t)
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Status.ServerStates, b.Status.Secrets = nil, nil })
	const quiet, link = "Nothing to do", `href="/console/requests">See what users ask for</a>`
	for _, want := range []string{"2 requests wait for an answer.", "1 request waits for an answer.", quiet} {
		got := w.administrator().open("/console")
		if !strings.Contains(got.body, want) || strings.Contains(got.body, link) != (want != quiet) || strings.Contains(got.body, quiet) != (want == quiet) {
			t.Errorf("the page does not say %q alone: %s", want, got.body)
		}
		if want != quiet {
			w.requests.all = w.requests.all[1:]
		}
	}
	w.requests.away = errors.New("away")
	if got := w.administrator().open("/console"); got.status != http.StatusOK || strings.Contains(got.body, quiet) || !strings.Contains(got.body, "Whether users wait for an answer cannot be shown now") {
		t.Errorf("while requests are not known: %d %s", got.status, got.body)
	}
}

func TestPagesOfAdministratorsAreAuditedAsTheAPI(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	if acted := w.acted(); !slices.Contains(acted, "admin_key  admin/console.login") {
		t.Errorf("the login is not in the trail: %q", acted)
	}
	for path, want := range map[string]string{
		"/console": "admin_key  admin/problems.list", "/console/people": "admin_key  admin/users.list", "/console/audit?userId=alice": "admin_key  admin/audit.query alice",
		"/console/usage": "admin_key  admin/analytics.query", "/console/people/alice": "admin_key  admin/keys.list alice",
		"/console/profiles": "admin_key  admin/profiles.list", "/console/profiles/engineering": "admin_key  admin/profiles.get  engineering", "/console/catalog": "admin_key  admin/catalog.list",
		"/console/programs": "admin_key  admin/programs.list", "/console/programs/" + newNotes: "admin_key  admin/programs.get  " + newNotes, adminFiles[0]: "admin_key  admin/programs.download  " + newNotes,
		"/console/programs/" + newNotes + "/changes?from=" + oldNotes: "admin_key  admin/programs.compare  " + newNotes,
	} {
		before := len(w.audit.all())
		v.open(path)
		if acted := w.acted()[before:]; !slices.Contains(acted, want) {
			t.Errorf("%s: the trail has %q, not %q", path, acted, want)
		}
	}
	w.audit.fail(errors.New("disk full"))
	for path := range adminPages {
		if got := v.open(path); strings.Contains(got.body, "MAIL_TOKEN") || strings.Contains(got.body, ">laptop<") || strings.Contains(got.body, "CredentialsRefused") || strings.Contains(got.body, "209 of 212") || strings.Contains(got.body, "Score 87") || strings.Contains(got.body, "esbuild") {
			t.Errorf("%s is shown without its entry: %d %s", path, got.status, got.body)
		}
	}
}

func TestThePagesOfAdministratorsSayWhatIsKnown(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	for path, says := range map[string][]string{
		"/console":                     {"1 of 2 people cannot use something", "Credentials refused", "the server refuses MAIL_TOKEN", "/console/people?reason=CredentialsRefused&amp;server=mail", "Asleep"},
		"/console/people":              {"2 have a bridge.", `href="/console/people/bob"`, "1 of 2 out", "engineering"},
		"/console/people?search=ali":   {"1 of 2 match.", `value="ali"`, "Clear filters"},
		"/console/people?phase=Failed": {"Nobody matches."},
		"/console/people/alice": {"1 of 2 servers cannot be used.", "Ready: yes", "Servers wait for", "laptop", "kubectl get hostedbridge --namespace tenants alice -o yaml", "Offboard alice", "kubectl events --for hostedbridge/alice -n tenants",
			"kubectl patch hb alice -n tenants --type=merge -p &#39;{&#34;spec&#34;:{&#34;tier&#34;:&#34;TIER&#34;}}&#39;", "Change the groups", "operator profiles diff --namespace hosted-bridge-system", "kubectl delete hb alice -n tenants",
			"In 24 hours ", " ran, ", "<bdi>query</bdi>", `href="/console/usage?range=week&amp;userId=alice"`},
		"/console/people/alice/suspend": {"Suspend alice?", "keys, logins and secrets are kept"},
		"/console/audit":                {"search query", "admin, by login", "admin/access.set Suspended", "cursor="},
		"/console/usage":                {"<polyline", "<rect class=\"bar\"", `role="img"`, "24 hours", "95 % of the calls", "People who called in each hour", "At most 7 in one hour.", "900 calls, 20 failed", " ran, ", `href="/console/people/alice"`},
		"/console/usage?userId=alice":   {`value="alice"`, `href="/console/usage?range=month&amp;userId=alice"`},
		"/console/profiles":             {"209 of 212", "Rolling out", "Everyone in all namespaces", "/console/people?profile=engineering"},
		"/console/profiles/engineering": {"tier: team", "operator profiles diff", "/console/people?profile=engineering", "/console/people/alice"},
		"/console/catalog":              {"The signature is not the publisher", "Refused", "1.4.0", "1 key works", "Verified", "Score 87 of 100", "Audit outdated"},
		"/console/health": {"v1.2.3", "Version 2", "Being replaced", "It lacks no entry.", "2 of 2 ready", "1 of 2 ready", "0 of 2 ready", "Where logins are kept.", "PostgreSQL",
			"3 of 43 bridges have secrets under an older version", "-n hosted-bridge-system deploy/hosted-bridge-keybroker -- /keybroker rotate --dry-run", "Not configured", `href="https://github.com/hostedbridge/hostedbridge/blob/main/docs/operations/backup.md"`},
	} {
		got := v.open(path)
		for _, want := range says {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s does not say %q: %s", path, want, got.body)
			}
		}
	}
	if got := v.open("/console/people/nobody"); got.status != http.StatusNotFound {
		t.Errorf("a person that there is not: %d", got.status)
	}
	if got := v.open("/console/profiles/nothing"); got.status != http.StatusNotFound {
		t.Errorf("a profile that there is not: %d", got.status)
	}
	w.access.is["gone"] = v1alpha1.AccessOffboarded
	if got := v.open("/console/people/gone"); got.status != http.StatusOK || !strings.Contains(got.body, "The bridge is deleted.") {
		t.Errorf("a person whose bridge is deleted: %d %s", got.status, got.body)
	}
}

func TestAWrongFilterIsToldAndKept(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	for path, says := range map[string]string{
		"/console/people?phase=Sleeping&search=ali":    "phase: it must be one of",
		"/console/people?limit=1000&search=ali":        "limit: it must be a number",
		"/console/audit?from=yesterday&userId=alice":   "from: it must be a time such as",
		"/console/audit?status=good&userId=alice":      "status: it must be one of",
		"/console/usage?from=2026-03-02&to=2026-03-01": "from must be before to",
	} {
		got := v.open(path)
		typed := regexpValue.FindString(got.body)
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, says) || typed == "" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

func TestHostileTextsAreShownAsTextToAdministrators(t *testing.T) {
	w := newAdminWorld(t)
	hostile := `</bdi><script>alert(1)</script>"'` + "\u202e\x1b[31m" + strings.Repeat("x", 10<<10)
	// What the API server bounds is in links too.
	short := hostile[:60]
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Status.ServerStates[0].Message, b.Status.ServerStates[0].Name, b.Status.ServerStates[0].From, b.Status.ServerStates[0].Reason = hostile, short, hostile, short
		b.Status.Conditions[0].Message, b.Status.Conditions[0].Reason = hostile, hostile
		b.Status.Profiles[0].Name, b.Spec.Tier = short, hostile
		b.Status.Secrets.Missing = []string{hostile}
		b.Spec.Groups = []string{hostile}
	})
	w.keys.keys["uid-alice"] = []keys.Info{{ID: "abcdefgh", Name: hostile, ManagedBy: []string{hostile}}}
	w.profiles[0].Spec.Tier, w.profiles[0].Status.Conditions[0].Reason, w.profiles[0].Status.Conditions[0].Message = hostile, hostile, hostile
	w.recipes.entries = []catalog.Entry{{Name: hostile, Owner: hostile, Refused: hostile, Recipe: recipe.Recipe{Description: hostile}}, {Name: hostile, Accepted: true, Versions: []catalog.Version{{Version: hostile}}}}
	w.recipes.publishers = []catalog.Publisher{{ID: hostile, DisplayName: hostile, Contact: hostile}}
	w.index.answer(audit.Page{Entries: []audit.Entry{{UserID: short, Principal: audit.Principal{ID: hostile, Kind: audit.Kind(hostile)}, Call: audit.Call{Method: hostile, Action: hostile, Server: hostile, Tool: hostile, ErrorType: hostile}}}}, nil)
	f := figuresOfDay(time.Now())
	f.Tools[0].Tool, f.Uses[0].UserID, f.Uses[0].Server = hostile, short, hostile
	w.index.answerFigures(f, nil)
	v := w.administrator()
	for path := range adminPages {
		got := v.open(path)
		if got.status != http.StatusOK {
			t.Errorf("%s: %d", path, got.status)
		}
		got.body = checkScript(t, got.header.Get("X-Request-Id"), got)
		if strings.Contains(got.body, "<script") || strings.ContainsAny(got.body, "\u202e\x1b") {
			t.Errorf("%s shows hostile text as it is", path)
		}
		if path != "/console/profiles/engineering" && strings.Contains(got.body, strings.Repeat("x", 1000)) {
			t.Errorf("%s shows all of a long text", path)
		}
	}
}

func TestPagesOfAdministratorsWithoutTheCluster(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	form := v.open("/console/people/alice/suspend").hidden()
	w.access.fail(problems.KeysAway)
	w.keys.fail(errors.New("away"))
	w.profilesErr = errors.New("away")
	w.index.answer(audit.Page{}, errors.New("index is away"))
	for path, says := range map[string]string{
		"/console": "cannot use something", "/console/people": "2 have a bridge.", "/console/people/alice": "The keys cannot be shown now", "/console/audit": "The trail itself is not affected",
		"/console/profiles": "The profiles cannot be shown now", "/console/health": "The trail itself is not affected", "/console/catalog": "3 recipes",
	} {
		if got := v.open(path); got.status != http.StatusOK || !strings.Contains(got.body, says) || strings.Contains(got.body, "is away") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := v.post("/console/people/alice/suspend", form); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "This does not work at the moment") {
		t.Errorf("a form: %d %s", got.status, got.body)
	}
	w.index.answer(audit.Page{}, problems.AuditIndexDisabled)
	w.index.answerFigures(audit.Figures{}, problems.AuditIndexDisabled)
	w.profilesErr = admin.ErrMayNotRead
	for path, says := range map[string]string{
		"/console/usage": "keeps no index of its calls", "/console/audit": "--audit-index names one", "/console/profiles": "kubectl get bridgeprofiles --namespace hosted-bridge-system",
	} {
		if got := v.open(path); got.status != http.StatusOK || !strings.Contains(got.body, says) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	w.users.err = errors.New("no word yet")
	for _, path := range []string{"/console", "/console/people"} {
		if got := v.open(path); got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "no word") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

func TestEachPageOfAdministratorsHasThePolicy(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	pages := map[string]reply{"login": w.visitor().open("/console/login"), "nothing": v.open("/console/nothing"), "a refused form": v.post("/console/logout", url.Values{})}
	for path := range adminPages {
		pages[path] = v.open(path)
	}
	for name, got := range pages {
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'", "style-src 'self'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q has no %s", name, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") || got.header.Get("X-Frame-Options") != "DENY" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", name, got.header)
		}
		got.body = checkScript(t, got.header.Get("X-Request-Id"), got)
		for _, no := range []string{"<script", "<style", " style=", " onclick", "javascript:", adminKey} {
			if strings.Contains(got.body, no) {
				t.Errorf("%s has %q: %s", name, no, got.body)
			}
		}
		if strings.Count(got.body, "<h1") != 1 {
			t.Errorf("%s has %d first headings", name, strings.Count(got.body, "<h1"))
		}
	}
}

var (
	rowOfPerson = regexp.MustCompile(`<a class="name" href="/console/people/([a-z0-9-]+)"`)
	nextLink    = regexp.MustCompile(`<a class="action" href="([^"]+)">Next</a>`)
)

func TestTheListOfPeopleHasEachOnceOnPagesThatAreSmall(t *testing.T) {
	w := newAdminWorld(t)
	const many = 118
	w.change(func() {
		for i := range many {
			w.bridges = append(w.bridges, manyth(i))
		}
	})
	v := w.administrator()
	var seen []string
	pages := 0
	for path := "/console/people"; path != ""; pages++ {
		got := v.open(path)
		if got.status != http.StatusOK || len(got.body) > 40_000 {
			t.Fatalf("%s: %d, %d bytes", path, got.status, len(got.body))
		}
		for _, found := range rowOfPerson.FindAllStringSubmatch(got.body, -1) {
			seen = append(seen, found[1])
		}
		path = ""
		if next := nextLink.FindStringSubmatch(got.body); next != nil {
			path = html.UnescapeString(next[1])
		}
	}
	if len(seen) != many+2 || len(slices.Compact(seen)) != many+2 || !slices.IsSorted(seen) || pages != 3 {
		t.Errorf("%d people on %d pages: %q", len(seen), pages, seen)
	}
}

func TestTheHealthPageSaysHowOldTheLastBackupIs(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	now := time.Now()
	day := func(days int) time.Time { return now.AddDate(0, 0, -days) }
	for name, test := range map[string]struct {
		is   admin.Backups
		says []string
	}{
		"a fresh one":           {admin.Backups{Last: now.Add(-5 * time.Hour), Since: day(9)}, []string{"Current", "written and read back 5 h ago", "17 3 * * *"}},
		"an old one":            {admin.Backups{Last: day(2), Since: day(9)}, []string{"Too old", "written and read back"}},
		"none until today":      {admin.Backups{Since: day(1)}, []string{"None yet", "No backup has succeeded since"}},
		"none for days":         {admin.Backups{Since: day(3)}, []string{">None<", "No backup has succeeded since"}},
		"suspended ones":        {admin.Backups{Last: day(1), Since: day(9), Suspended: true}, []string{"Suspended", "written and read back"}},
		"those that are unread": {admin.Backups{Err: errors.New("forbidden to 10.0.0.1")}, []string{"Not shown", "The state of backups"}},
	} {
		test.is.Configured, test.is.Schedule = true, "17 3 * * *"
		w.health.Backups = test.is
		body := v.open("/console/health").body
		_, body, _ = strings.Cut(body, `id="backups"`)
		for _, want := range test.says {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the page does not say %q: %s", name, want, body)
			}
		}
		if strings.Contains(body, "10.0.0.1") || strings.Contains(body, "Not configured") {
			t.Errorf("%s: the page says too much: %s", name, body)
		}
	}
}

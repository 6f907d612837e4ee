// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// Whoever comes back must be who went, in the same browser, from the same
// provider, once and soon.
func TestWhoComesBackMustBeWhoWent(t *testing.T) {
	const over = "This login is over"
	for _, test := range []struct {
		name   string
		comes  func(t *testing.T, w *world, b *browser, link string) answer
		status int
		words  string
	}{
		{"in a browser that has no login", func(_ *testing.T, w *world, _ *browser, link string) answer {
			return w.browser().get(link)
		}, http.StatusBadRequest, over},
		{"in a browser that has another login", func(t *testing.T, w *world, _ *browser, link string) answer {
			other := w.browser()
			other.get(deskFor(alices).authorize()).location(t)
			return other.get(link)
		}, http.StatusBadRequest, over},
		{"in a browser with two cookies", func(_ *testing.T, w *world, b *browser, link string) answer {
			cookie := b.header().Get("Cookie")
			return w.send(http.MethodGet, strings.TrimPrefix(link, issuer), "", http.Header{"Cookie": {cookie + "; __Host-hb-login=" + strings.Repeat("A", 43)}})
		}, http.StatusBadRequest, over},
		{"twice", func(t *testing.T, _ *world, b *browser, link string) answer {
			fieldOf(t, b.get(link))
			return b.get(link)
		}, http.StatusBadRequest, over},
		{"too late", func(_ *testing.T, w *world, b *browser, link string) answer {
			w.wait(loginLife)
			return b.get(link)
		}, http.StatusBadRequest, over},
		{"without a state", func(_ *testing.T, _ *world, b *browser, _ string) answer {
			return b.get("/oauth/callback/idp?code=as-alice")
		}, http.StatusBadRequest, over},
		{"with a state of nobody's", func(_ *testing.T, _ *world, b *browser, _ string) answer {
			return b.get("/oauth/callback/idp?code=as-alice&state=" + strings.Repeat("A", 43))
		}, http.StatusBadRequest, over},
		{"with two states", func(_ *testing.T, _ *world, b *browser, link string) answer {
			return b.get(link + "&state=" + strings.Repeat("A", 43))
		}, http.StatusBadRequest, over},
		{"with two codes", func(_ *testing.T, _ *world, b *browser, link string) answer {
			return b.get(link + "&code=as-amy")
		}, http.StatusBadRequest, over},
		{"from another provider", func(_ *testing.T, _ *world, b *browser, link string) answer {
			return b.get(strings.Replace(link, "/callback/idp", "/callback/other", 1))
		}, http.StatusBadRequest, over},
		{"from a provider that there is not", func(_ *testing.T, _ *world, b *browser, link string) answer {
			return b.get(strings.Replace(link, "/callback/idp", "/callback/third", 1))
		}, http.StatusNotFound, "no such page"},
		{"with the word of another issuer", func(_ *testing.T, _ *world, b *browser, link string) answer {
			return b.get(link + "&iss=" + url.QueryEscape("https://other.example"))
		}, http.StatusForbidden, "could not be logged in"},
		{"with a code that the provider does not know", func(_ *testing.T, _ *world, b *browser, link string) answer {
			return b.get(strings.Replace(link, "code=as-", "code=x-", 1))
		}, http.StatusForbidden, "could not be logged in"},
		{"with nothing", func(_ *testing.T, _ *world, b *browser, link string) answer {
			return b.get(strings.Replace(link, "code=as-alice&", "", 1))
		}, http.StatusForbidden, "could not be logged in"},
		{"as nobody", func(_ *testing.T, _ *world, b *browser, link string) answer {
			return b.get(strings.Replace(link, "code=as-alice", "code=as-", 1))
		}, http.StatusForbidden, "could not be logged in"},
		{"with the provider's error", func(_ *testing.T, _ *world, b *browser, link string) answer {
			return b.get(strings.Replace(link, "code=as-alice", "error=server_error", 1))
		}, http.StatusServiceUnavailable, "Try again in a minute"},
		{"while the provider is away", func(_ *testing.T, w *world, b *browser, link string) answer {
			w.provider.away = true
			return b.get(link)
		}, http.StatusServiceUnavailable, "cannot be reached"},
		{"while the store is away", func(_ *testing.T, w *world, b *browser, link string) answer {
			w.store.fail("put")
			return b.get(link)
		}, http.StatusServiceUnavailable, "at the moment"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			for _, s := range w.replicas {
				s.providers["other"] = newProvider("other")
			}
			b := w.browser()
			got := test.comes(t, w, b, back(t, b.get(deskFor(alices).authorize()), "alice"))
			page(t, got, test.status, test.words)
			if loginField.MatchString(got.body) || strings.Contains(w.store.dump(), "grant/") {
				t.Errorf("the person is let in: %s", got.body)
			}
		})
	}
}

// Apple sends people back by a form, with which browsers send no cookie that is Lax.
func TestAProviderMaySendPeopleBackByAForm(t *testing.T) {
	for name, tt := range map[string]struct {
		more   url.Values
		status int
		words  string
	}{
		"with a code":           {url.Values{"user": {`{"name":{"firstName":"Al"}}`}}, http.StatusOK, `name="login"`},
		"with two states":       {url.Values{"state": {strings.Repeat("A", 43)}}, http.StatusBadRequest, "This login is over"},
		"of another issuer":     {url.Values{"iss": {"https://other.example"}}, http.StatusForbidden, "could not be logged in"},
		"with an error as well": {url.Values{"error": {"server_error"}}, http.StatusServiceUnavailable, "Try again in a minute"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser()
			path, query, _ := strings.Cut(strings.TrimPrefix(back(t, b.get(deskFor(alices).authorize()), "alice"), issuer), "?")
			sent := must.Value(url.ParseQuery(query))(t)
			for key, values := range tt.more {
				sent[key] = append(sent[key], values...)
			}
			header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {"https://appleid.example"}}
			to := w.send(http.MethodPost, path, sent.Encode(), header).location(t)
			if to.Host != "" || to.Path != path || to.Query().Has("user") {
				t.Fatalf("the browser is sent to %v", to)
			}
			page(t, b.get(to.String()), tt.status, tt.words)
		})
	}
}

// The form and the link that it is answered with are one callback.
func TestACallbackByAFormIsCountedOnce(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	path, query, _ := strings.Cut(strings.TrimPrefix(back(t, b.get(deskFor(alices).authorize()), "alice"), issuer), "?")
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {"https://appleid.example"}}
	fieldOf(t, b.get(w.send(http.MethodPost, path, query, header).location(t).String()))
	if done := w.steps(stepCallback, stepDone); done != 1 {
		t.Errorf("it is counted %v times", done)
	}
	page(t, w.send(http.MethodPost, path, "state=%zz", header), http.StatusNotFound, "no such page")
	if refused := w.steps(stepCallback, stepRefused); refused != 1 {
		t.Errorf("a form that cannot be read is counted %v times", refused)
	}
}

// A login that cannot begin has its cause where one that was begun has it.
func TestALoginThatTheProviderDoesNotTakeIsReportedToAdministrators(t *testing.T) {
	refused := func(status int, code, description string) error {
		return fmt.Errorf("push: %w", flow.NewAnswerError(status, code, description))
	}
	for name, test := range map[string]struct {
		fault     error
		status    int
		words     string // of the person's page
		logged    string
		outcome   string
		isTrouble bool // on the administrators' page
	}{
		"it does not know a scope":  {refused(400, "invalid_scope", "no groups\x1b"), http.StatusForbidden, "Ask whoever runs this installation", `status 400, error invalid_scope: \"no groups\"`, stepRefused, true},
		"it does not know us":       {refused(401, "invalid_client", ""), http.StatusServiceUnavailable, "is not set up as the provider", "status 401, error invalid_client", stepFailed, true},
		"it does not work":          {refused(502, "", ""), http.StatusServiceUnavailable, "Try again in a minute", "status 502", stepFailed, true},
		"we come too often":         {refused(429, "", ""), http.StatusServiceUnavailable, "Try again in a minute", "status 429", stepFailed, true},
		"it refuses a person":       {refused(400, "access_denied", ""), http.StatusForbidden, "Ask whoever runs this installation", "error access_denied", stepRefused, true},
		"our key does not fit it":   {fmt.Errorf("begin: %w", flow.SetupError("the key is short")), http.StatusServiceUnavailable, "is not set up as the provider", "the key is short", stepFailed, true},
		"it cannot be reached, now": {errFake, http.StatusServiceUnavailable, "cannot be reached", errFake.Error(), stepFailed, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.provider.away, w.provider.fault = true, test.fault
			got := w.browser().get(deskFor(alices).authorize())
			page(t, got, test.status, test.words)
			if log := w.logs.String(); !strings.Contains(log, test.logged) {
				t.Errorf("the log is %s", log)
			}
			health := append(w.replicas[0].ProviderHealth(), w.replicas[1].ProviderHealth()...)
			shown := strings.ReplaceAll(test.logged, `\"`, `"`)
			if isTrouble := strings.Contains(health[0].Trouble+health[1].Trouble, shown); isTrouble != test.isTrouble {
				t.Errorf("administrators see %+v", health)
			}
			if w.steps(stepAuthorize, test.outcome) != 1 {
				t.Errorf("it is not counted as %s", test.outcome)
			}
		})
	}
}

func TestALoginThatIsNotSetUpFailsInWordsThatSaySo(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	link := back(t, b.get(deskFor(alices).authorize()), "alice")
	w.provider.away, w.provider.fault = true, flow.SetupError("the key is short")
	page(t, b.get(link), http.StatusServiceUnavailable, "is not set up as the provider")
}

// An administrator has nothing else to find the cause by. The provider's words are in the
// log and on the administrators' page as bounded plain text, and not on the person's page.
func TestTheErrorOfAProviderIsReportedToAdministrators(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, test := range []struct {
		code, description string
		status            int
		words             string // of the person's page
		logged            string
		failed            bool
	}{
		{"temporarily_unavailable", "maintenance", http.StatusServiceUnavailable, "Try again in a minute", `error temporarily_unavailable: \"maintenance\"`, true},
		{"server_error", "", http.StatusServiceUnavailable, "Try again in a minute", `error server_error`, true},
		{"invalid_scope", "unknown scope\ngroups\x1b[2J\u202e", http.StatusForbidden, "Ask whoever runs this installation", `error invalid_scope: \"unknown scopegroups[2J\"`, true},
		{"unauthorized_client", long, http.StatusForbidden, "Ask whoever runs this installation", `error unauthorized_client: \"` + long[:200] + `\"`, true},
		{"Not\na code", "some words", http.StatusForbidden, "Ask whoever runs this installation", `error unknown: \"some words\"`, true},
		{"interaction_required", "a second factor", http.StatusForbidden, "The provider refused the login", `error interaction_required: \"a second factor\"`, false},
		{"access_denied", "not assigned", http.StatusSeeOther, "", `error access_denied: \"not assigned\"`, false},
	} {
		t.Run(test.code, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser()
			sent := url.Values{"error": {test.code}, "error_description": {test.description}}.Encode()
			got := b.get(strings.Replace(back(t, b.get(deskFor(alices).authorize()), "alice"), "code=as-alice", sent, 1))
			if got.status != test.status || !strings.Contains(got.body, test.words) || test.description != "" && strings.Contains(got.body, test.description) {
				t.Errorf("the person gets %d %s", got.status, got.body)
			}
			if log := w.logs.String(); !strings.Contains(log, test.logged) || !strings.Contains(log, "idp") {
				t.Errorf("the log is %s", log)
			}
			health := append(w.replicas[0].ProviderHealth(), w.replicas[1].ProviderHealth()...)
			shown := strings.ReplaceAll(test.logged, `\"`, `"`)
			if failed := strings.Contains(health[0].Trouble+health[1].Trouble, shown); failed != test.failed {
				t.Errorf("administrators see %+v", health)
			}
		})
	}
}

func TestAPersonWhoDoesNotLogInIsReportedToTheClient(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	link := back(t, b.get(deskFor(alices).authorize()), "alice")
	q := b.get(strings.Replace(link, "code=as-alice", "error=access_denied", 1)).location(t).Query()
	if q.Get("error") != codeAccessDenied || q.Get("iss") != issuer || q.Get("state") != "a state/of=its own" || q.Has("code") {
		t.Errorf("the client is told %v", q)
	}
}

// What one step left is for the next one alone.
func TestAStepCannotBeSkipped(t *testing.T) {
	w := newWorld(t, providers(newProvider("other")))
	b := w.browser()
	choosing := func() (link, secret string) {
		link = linksOf(b.get(deskFor(alices).authorize()))[0]
		return link, link[strings.Index(link, "=")+1:]
	}
	agreeing := func() string {
		link, _ := choosing()
		return fieldOf(t, b.get(back(t, b.get(link), "alice")))
	}
	_, chosen := choosing()
	_, allowed := choosing()
	for name, a := range map[string]answer{
		"from the choice to the provider's word": b.get("/oauth/callback/idp?code=as-alice&state=" + chosen),
		"from the choice to consent":             b.post(pathConsent, url.Values{"login": {allowed}, "answer": {"allow"}}),
		"from consent to the provider's word":    b.get("/oauth/callback/idp?code=as-bob&state=" + agreeing()),
		"from consent to the choice":             b.get("/oauth/login/other?login=" + agreeing()),
	} {
		t.Run(name, func(t *testing.T) { page(t, a, http.StatusBadRequest, "This login is over") })
	}
}

func TestConsentIsThePersonsOwn(t *testing.T) {
	const over = "This login is over"
	for _, test := range []struct {
		name   string
		sent   func(w *world, b *browser, secret string) answer
		status int
		words  string
	}{
		{"without the page's secret", func(_ *world, b *browser, _ string) answer {
			return b.post(pathConsent, url.Values{"answer": {"allow"}})
		}, http.StatusBadRequest, over},
		{"with a secret of nobody's", func(_ *world, b *browser, _ string) answer {
			return b.post(pathConsent, url.Values{"answer": {"allow"}, "login": {strings.Repeat("A", 43)}})
		}, http.StatusBadRequest, over},
		{"in another browser", func(w *world, _ *browser, secret string) answer {
			other := w.browser()
			other.get(deskFor(alices).authorize())
			return other.post(pathConsent, url.Values{"answer": {"allow"}, "login": {secret}, "bridge": {"uid-alice-0"}})
		}, http.StatusBadRequest, over},
		{"without a cookie", func(w *world, _ *browser, secret string) answer {
			return w.browser().post(pathConsent, url.Values{"answer": {"allow"}, "login": {secret}, "bridge": {"uid-alice-0"}})
		}, http.StatusBadRequest, over},
		{"without an answer", func(_ *world, b *browser, secret string) answer {
			return b.post(pathConsent, url.Values{"login": {secret}})
		}, http.StatusBadRequest, over},
		{"with two answers", func(_ *world, b *browser, secret string) answer {
			return b.post(pathConsent, url.Values{"login": {secret}, "answer": {"deny", "allow"}, "bridge": {"uid-alice-0"}})
		}, http.StatusBadRequest, over},
		{"too late", func(w *world, b *browser, secret string) answer {
			w.wait(loginLife)
			return b.post(pathConsent, url.Values{"login": {secret}, "answer": {"allow"}, "bridge": {"uid-alice-0"}})
		}, http.StatusBadRequest, over},
		{"while the store is away", func(w *world, b *browser, secret string) answer {
			w.store.fail("put")
			return b.post(pathConsent, url.Values{"login": {secret}, "answer": {"allow"}, "bridge": {"uid-alice-0"}})
		}, http.StatusServiceUnavailable, "at the moment"},
		{"while nothing can be written to the audit trail", func(w *world, b *browser, secret string) answer {
			w.auditErr = errFake
			return b.post(pathConsent, url.Values{"login": {secret}, "answer": {"allow"}, "bridge": {"uid-alice-0"}})
		}, http.StatusServiceUnavailable, "at the moment"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			b := w.browser()
			secret := fieldOf(t, b.comesTo(deskFor(alices), "alice"))
			page(t, test.sent(w, b, secret), test.status, test.words)
			if strings.Contains(w.store.dump(), "grant/") {
				t.Error("there is a grant")
			}
		})
	}
}

func TestConsentCountsOnce(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	asked := b.comesTo(deskFor(alices), "alice")
	b.answers(asked, "allow").location(t)
	page(t, b.answers(asked, "allow"), http.StatusBadRequest, "This login is over")
}

func TestAPersonWhoSaysNoIsReportedToTheClient(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	q := b.answers(b.comesTo(deskFor(alices), "alice"), "deny").location(t).Query()
	if q.Get("error") != codeAccessDenied || q.Get("iss") != issuer || q.Get("state") != "a state/of=its own" || q.Has("code") {
		t.Errorf("the client is told %v", q)
	}
	if acts := w.audited(); len(acts) != 1 || acts[0].Name != "deny" || acts[0].User != "alice" {
		t.Errorf("audit trail %v", acts)
	}
	if strings.Contains(w.store.dump(), "grant/") {
		t.Error("there is a grant")
	}
}

func TestAProviderThatAnswersLateStillCounts(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	link := back(t, b.get(deskFor(alices).authorize()), "alice")
	w.wait(loginLife - time.Second)
	fieldOf(t, b.get(link))
}

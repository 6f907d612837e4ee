// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// updates reports whether a page looks again by itself, and checks that its policy allows that
// alone and that no header loads it again: that would take the focus and what is typed.
func updates(t *testing.T, what string, got reply) bool {
	t.Helper()
	checkScript(t, what, got)
	if got.header.Get("Refresh") != "" || strings.Contains(got.body, "http-equiv") {
		t.Errorf("%s is loaded again as a whole", what)
	}
	return strings.Contains(got.body, `<p class="changes" role="status" data-every="`)
}

func TestPagesUpdateByThemselvesWhileServersStart(t *testing.T) {
	wait := &selfservice.Fix{Code: selfservice.FixWait, Text: "Wait."}
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	pages := []string{"/", "/catalog", "/servers/search"}
	for _, page := range append([]string{"/tools", "/activity", "/secrets", "/keys", "/connect"}, pages...) {
		if updates(t, page, v.open(page)) {
			t.Errorf("nothing is under way, and %s updates by itself", page)
		}
	}
	for name, s := range map[string]selfservice.Server{
		"a server that starts": {State: health.Connecting, Fix: wait}, "a server that changes": {State: health.Healthy, Reason: selfservice.ReasonPending, Fix: wait},
		"a server that is not known yet": {State: selfservice.ServerUnknown, Fix: wait},
	} {
		s.Name = "search"
		w.self.become(s)
		for _, page := range pages {
			if !updates(t, page, v.open(page)) {
				t.Errorf("%s: %s does not update by itself", name, page)
			}
		}
		if updates(t, "another server", v.open("/servers/github")) {
			t.Errorf("%s: the page of another server updates by itself", name)
		}
	}
	w.self.become(selfservice.Server{Name: "search", State: health.Unhealthy, Reason: "connection_refused", Message: "It refuses connections.", Fix: wait})
	if updates(t, "/", v.open("/")) {
		t.Error("a server does not work, which no time mends, and the page updates by itself")
	}
}

// TestTheAnswerToAFormDoesNotUpdate sends a form that is refused: the address of the answer is
// that of the form, which is not the page.
func TestTheAnswerToAFormDoesNotUpdate(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	w.self.become(selfservice.Server{Name: "github", State: health.Connecting, Secrets: []string{"GITHUB_TOKEN"}, Fix: &selfservice.Fix{Code: selfservice.FixWait, Text: "Wait."}})
	if !updates(t, "the page", v.open("/servers/github")) {
		t.Fatal("the page does not update by itself")
	}
	got := v.submit("/servers/github", "/secrets", "name", "GITHUB_TOKEN", "server", "github", "value", "")
	if got.status < http.StatusBadRequest || !strings.Contains(got.body, "GITHUB_TOKEN") || updates(t, "the answer", got) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// typedField is a field that holds what a person enters.
var typedField = regexp.MustCompile(`<(textarea|select|input type="(text|password|search|number|checkbox)")`)

var partOfPage = regexp.MustCompile(`<(div|section)[^>]* data-part="`)

// partsOf returns the parts of a page that an update replaces.
func partsOf(page string) []string {
	var parts []string
	for _, at := range partOfPage.FindAllStringSubmatchIndex(page, -1) {
		tag, open := regexp.MustCompile(`</?`+page[at[2]:at[3]]+`\b`), 0
		for _, found := range tag.FindAllStringIndex(page[at[0]:], -1) {
			if open++; page[at[0]+found[0]+1] == '/' {
				open -= 2
			}
			if open == 0 {
				parts = append(parts, page[at[0]:at[0]+found[1]])
				break
			}
		}
	}
	return parts
}

func TestPartsThatUpdateHoldNoFields(t *testing.T) {
	w := newAdminWorld(t)
	users, admins := w.logged(w.alice), w.administrator()
	found := 0
	look := func(page string, got reply) {
		parts := partsOf(got.body)
		if found += len(parts); len(parts) != strings.Count(got.body, " data-part=") {
			t.Errorf("%s: %d parts end: %s", page, len(parts), got.body)
		}
		for _, part := range parts {
			if field := typedField.FindString(part); field != "" {
				t.Errorf("%s: a part that is replaced has the field %s: %s", page, field, part)
			}
		}
	}
	for _, page := range consolePages {
		look(page, users.open(page))
	}
	for page := range adminPages {
		look(page, admins.open(page))
	}
	if found < 10 {
		t.Errorf("the pages have %d parts", found)
	}
}

func TestPagesOfAdministratorsUpdateByThemselves(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	for page, want := range map[string]bool{
		"/console": false, "/console/people": false, "/console/people/alice": false, "/console/catalog": false, "/console/health": false,
		"/console/programs": true, "/console/programs?state=Ready": false, "/console/programs/" + newNotes: false, "/console/programs/" + brokenMail: false,
	} {
		if got := updates(t, page, v.open(page)); got != want {
			t.Errorf("%s updates by itself: %v", page, got)
		}
	}
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Status.Phase = v1alpha1.PhaseWaking })
	if !updates(t, "a bridge that wakes", v.open("/console/people/alice")) {
		t.Error("the page of a person whose bridge wakes does not update by itself")
	}
}

func TestTheNavigationIsTheSameOnEachPage(t *testing.T) {
	current := regexp.MustCompile(` aria-current="page"`)
	navigation := func(got reply) string {
		_, rest, _ := strings.Cut(got.body, `<nav class="wide"`)
		nav, rest, _ := strings.Cut(rest, "</nav>")
		_, folded, _ := strings.Cut(rest, "<nav")
		folded, _, _ = strings.Cut(folded, "</nav>")
		if _, links, _ := strings.Cut(nav, ">"); !strings.HasSuffix(folded, links) || strings.Count(links, "<a ") < 6 {
			t.Errorf("the menu of narrow windows differs: %s and %s", nav, folded)
		}
		return current.ReplaceAllString(nav, "")
	}
	w := newAdminWorld(t)
	users, admins := w.logged(w.alice), w.administrator()
	want := navigation(users.open("/"))
	for _, page := range consolePages {
		if got := navigation(users.open(page)); got != want {
			t.Errorf("%s: %s, want %s", page, got, want)
		}
	}
	want = navigation(admins.open("/console"))
	for page := range adminPages {
		if got := navigation(admins.open(page)); got != want {
			t.Errorf("%s: %s, want %s", page, got, want)
		}
	}
}

func TestListsWithNothingSayWhatTheyAreFor(t *testing.T) {
	w := newConsoleWorld(t)
	w.self.servers["alice"] = selfservice.Servers{Bridge: selfservice.Bridge{Status: health.Healthy}}
	v := w.logged(w.alice)
	for page, next := range map[string]string{"/": `href="/catalog"`, "/tools": `href="/catalog"`, "/activity": `href="/connect"`, "/secrets": `href="/"`, "/keys": `action="/keys"`, "/catalog?q=zzz": `href="/catalog"`} {
		_, empty, has := strings.Cut(v.open(page).body, "empty")
		if !has || !strings.Contains(empty, next) && page != "/" {
			t.Errorf("%s does not say what it is for and go on at %s", page, next)
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/news"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

var (
	newsSection = regexp.MustCompile(`(?s)<section class="card" aria-labelledby="news"><header><h2 id="news">Since your last visit</h2>.*?</section>`)
	newsLine    = regexp.MustCompile(`(?s)<li><div class="what"><p><a href="([^"]*)"><bdi>(.*?)</bdi></a></p>\n(?:<p><bdi>(.*?)</bdi></p>\n)?<p class="note">(.*?)</p></div></li>`)
)

// newsIn returns the lines of a page about what has changed: page, text, reason and time.
func newsIn(page string) (lines []string) {
	for _, line := range newsLine.FindAllStringSubmatch(newsSection.FindString(page), -1) {
		lines = append(lines, strings.Join(line[1:], "|"))
	}
	return lines
}

// newsWorld is a world of alice, whose servers have tools, and who has visited the console once.
func newsWorld(t *testing.T) *adminWorld {
	w := newAdminWorld(t)
	alice := w.self.servers["alice"]
	alice.Servers[3].Actions = []selfservice.Action{selfservice.ActionAsk}
	alice.Servers = append(alice.Servers, selfservice.Server{Name: "mail", State: health.Healthy, Tools: 1}, selfservice.Server{Name: "notes", State: health.Healthy, Tools: 1})
	w.self.servers["alice"] = alice
	w.self.toolNames = selfservice.ToolNames{"search": {"old", "find"}, "mail": {"read"}, "notes": {"a"}}
	now := w.today().Truncate(time.Second) // As the API server has it.
	soon, later := now.Add(16*24*time.Hour), now.Add(400*24*time.Hour)
	w.self.keys = []keys.Info{{ID: "abcdefgh1234", Name: "laptop", ExpiresAt: &soon}, {ID: "abcdefgh5678", Name: "phone", ExpiresAt: &later}, {ID: "abcdefgh9012", Name: "old"}}
	if got := w.logged(w.alice).open("/"); got.status != http.StatusOK || newsSection.MatchString(got.body) {
		t.Fatalf("a first visit has news: %d %s", got.status, got.body)
	}
	if w.self.visited != 1 {
		t.Fatalf("%d visits were noted", w.self.visited)
	}
	return w
}

// somethingNew has everything change for alice that she is to hear of.
func (w *adminWorld) somethingNew() (answered time.Time) {
	f := w.self
	f.mu.Lock()
	defer f.mu.Unlock()
	answered = w.today().Add(-time.Minute).UTC()
	f.requests = requests.List{Requests: []requests.Request{
		{Server: "jira", State: requests.Approved, Answer: "Welcome.", Answered: &answered},
		{Server: "wiki", State: requests.Refused, Answer: `<b>Use</b> the team's` + "\u202e", Answered: &answered},
		{Server: "docs", State: requests.Open},
	}}
	alice := f.servers["alice"]
	alice.Servers = slices.Clone(alice.Servers)
	alice.Servers[0].Fix = &selfservice.Fix{Code: selfservice.FixSetSecret}
	alice.Servers[0].Credentials = &selfservice.Credentials{State: selfservice.CredentialsRefused}
	// The server of mail is asleep with its bridge, and that of notes has gone.
	alice.Servers[4] = selfservice.Server{Name: "mail", State: health.Connecting}
	alice.Servers[5] = selfservice.Server{Name: "calendar", State: health.Healthy, Tools: 1}
	f.servers["alice"] = alice
	f.toolNames = selfservice.ToolNames{"search": {"find", "<i>new</i>"}, "calendar": {"c"}}
	return answered
}

func TestTheFirstPageSaysWhatHasChangedSinceTheLastVisit(t *testing.T) {
	w := newsWorld(t)
	w.pass(3 * 24 * time.Hour)
	answered := w.somethingNew()

	// Neither an administrator nor a program that only looks is a visitor.
	administrator := w.administrator()
	if got := administrator.open("/console/people/alice"); got.status != http.StatusOK {
		t.Fatalf("the page of administrators: %d %s", got.status, got.body)
	}
	_, told, text := ask[news.List](w.world, "GET", "/news", w.alice, "")
	if len(told.News) != 8 || told.Since == nil || told.Partial || w.self.visited != 1 {
		t.Errorf("for programs: %s; %d visits were noted", text, w.self.visited)
	}

	const when = "2 January 2006, 15:04 UTC"
	at := answered.Format(when)
	want := []string{
		"/keys|The key laptop ends soon. Make another one for the apps that use it.||" + w.self.keys[0].ExpiresAt.UTC().Format(when),
		"/servers/search#secrets|The server search refuses its secret. Get another one and replace it.||Since your last visit",
		"/servers/jira|Your request for jira was approved. Turn it on.|Welcome.|" + at,
		"/servers/wiki|Your request for wiki was refused.|&lt;b&gt;Use&lt;/b&gt; the team&#39;s[U+202E]|" + at,
		"/servers/calendar|The server calendar was added. Apps see its tools.||Since your last visit",
		"/catalog|The server notes was removed. Apps no longer see its tools.||Since your last visit",
		"/servers/search|The server search has a new tool: &lt;i&gt;new&lt;/i&gt;.||Since your last visit",
		"/servers/search|The server search no longer has a tool: old.||Since your last visit",
	}
	v := w.logged(w.alice)
	// The page says the same for as long as the visit lasts, in each browser.
	for _, browser := range []*visitor{v, v, w.logged(w.alice)} {
		if diff := cmp.Diff(want, newsIn(browser.open("/").body)); diff != "" {
			t.Errorf("news (-want +got):\n%s", diff)
		}
	}
	w.pass(50 * time.Minute)
	if _, again, _ := ask[news.List](w.world, "GET", "/news", w.alice, ""); len(again.News) != len(want) || w.self.visited != 2 {
		t.Errorf("while the visit lasts: %+v; %d visits were noted", again, w.self.visited)
	}

	w.pass(20 * time.Minute)
	if got := w.logged(w.alice).open("/"); newsSection.MatchString(got.body) || w.self.visited != 3 {
		t.Errorf("the next visit says it again: %v; %d visits were noted", newsIn(got.body), w.self.visited)
	}
	// mail was asleep, and is awake with the tools that it had, and one more.
	w.pass(2 * time.Hour)
	w.self.become(selfservice.Server{Name: "mail", State: health.Healthy, Tools: 2})
	w.self.toolNames["mail"] = []string{"read", "send"}
	if diff := cmp.Diff([]string{"/servers/mail|The server mail has a new tool: send.||Since your last visit"}, newsIn(w.logged(w.alice).open("/").body)); diff != "" {
		t.Errorf("once it is awake (-want +got):\n%s", diff)
	}
}

func TestAKeyIsToldOfAgainShortlyBeforeItEnds(t *testing.T) {
	w := newsWorld(t)
	said := func() string { return strings.Join(newsIn(w.logged(w.alice).open("/").body), "\n") }
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{
		{24 * time.Hour, ""}, {2 * 24 * time.Hour, "ends soon"}, {24 * time.Hour, ""}, {9 * 24 * time.Hour, "ends soon"}, {24 * time.Hour, ""}, {3 * 24 * time.Hour, "has ended"}, {24 * time.Hour, ""},
	} {
		w.pass(tt.after)
		if got := said(); strings.Contains(got, "laptop "+tt.want) != (tt.want != "") || tt.want == "" && got != "" {
			t.Errorf("after %s more: %q, want %q", tt.after, got, tt.want)
		}
	}
}

func TestAVisitThatDoesNotSeeEverythingIsToldAgain(t *testing.T) {
	w := newsWorld(t)
	w.pass(24 * time.Hour)
	w.somethingNew()
	v := w.logged(w.alice)
	w.self.fail(errClusterAway)
	got := v.open("/")
	if got.status != http.StatusOK || !strings.Contains(newsSection.FindString(got.body), "What has changed cannot be shown now") || newsIn(got.body) != nil {
		t.Errorf("while the API server is away: %d %s", got.status, got.body)
	}
	if status, _, text := ask[news.List](w.world, "GET", "/news", w.alice, ""); status != http.StatusServiceUnavailable || !strings.Contains(text, "cluster_unavailable") {
		t.Errorf("for programs: %d %s", status, text)
	}
	w.self.fail(nil)
	if got := newsIn(v.open("/").body); len(got) < 7 {
		t.Errorf("when it is back: %v", got)
	}
}

// TestAProgramNotesAVisit is for installations without the console.
func TestAProgramNotesAVisit(t *testing.T) {
	w := newsWorld(t)
	w.pass(24 * time.Hour)
	w.somethingNew()
	for _, tt := range []struct {
		method, path  string
		after         time.Duration
		told, visited int
	}{{"GET", "/news", 0, 7, 1}, {"PUT", "/visit", 0, 7, 2}, {"PUT", "/visit", time.Minute, 7, 2}, {"PUT", "/visit", time.Hour, 0, 3}} {
		w.pass(tt.after)
		if status, got, text := ask[news.List](w.world, tt.method, tt.path, w.alice, ""); status != http.StatusOK || len(got.News) != tt.told || w.self.visited != tt.visited {
			t.Errorf("%s %s: %d %s, and %d visits were noted; want %d and %d", tt.method, tt.path, status, text, w.self.visited, tt.told, tt.visited)
		}
	}
	if got := w.do(w.request("PUT", "/u/alice/visit", w.bob, "")); got.status != http.StatusUnauthorized {
		t.Errorf("somebody else's visit: %d %s", got.status, got.body)
	}
}

// TestTheNamesOfToolsAreKnownWhileABridgeRuns asks a bridge, and does not wake one.
func TestTheNamesOfToolsAreKnownWhileABridgeRuns(t *testing.T) {
	w, _, _ := selfWorld(t)
	self := management.NewSelf(w.selfOptions(nil))
	of, _ := w.routes.Current().Lookup("alice")
	if names, err := self.ToolNames(t.Context(), of); err != nil || !cmp.Equal(names, selfservice.ToolNames{"must": {"a"}}) {
		t.Errorf("%v, %v", names, err)
	}
	for _, state := range []route.State{route.Sleeping, route.Starting, route.Suspended} {
		of.State = state
		if names, err := self.ToolNames(t.Context(), of); err == nil || names != nil {
			t.Errorf("of a bridge that does not run: %v", names)
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/console/admin"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

var (
	anyLink = regexp.MustCompile(`<a [^>]*href="([^"]*)"`)
	anyForm = regexp.MustCompile(`<form [^>]*method="(get|post)" action="([^"]*)"`)
)

// crawl opens each page that links and forms lead to, and fails on one that is not there. A form
// that is posted is sent without what shows that a page of the session sent it: the refusal of
// that says that the form is there. A page that is left out is one that ends the session.
func (v *visitor) crawl(from string) (pages map[string]string) {
	v.w.t.Helper()
	pages = map[string]string{}
	open := []string{from}
	came := map[string]string{from: "the start"}
	lead := func(page, to string) {
		to = html.UnescapeString(to)
		at, err := url.Parse(to)
		if err != nil || at.Host != "" || at.Scheme != "" || at.Path == "" {
			return // Another site's, an app's, or this page's.
		}
		at.Fragment = ""
		if to = at.String(); came[to] == "" {
			came[to], open = page, append(open, to)
		}
	}
	for ; len(open) > 0; open = open[1:] {
		page := open[0]
		got := v.open(page)
		if got.status == http.StatusSeeOther {
			lead(page, got.header.Get("Location"))
			continue
		}
		if away := v.w.self.err() != nil; away && got.status == http.StatusServiceUnavailable {
			continue // It is there, and says that it cannot be shown now.
		}
		if got.status != http.StatusOK {
			v.w.t.Errorf("%s, which %s leads to: %d", page, came[page], got.status)
			continue
		}
		pages[page] = got.body
		for _, found := range anyLink.FindAllStringSubmatch(got.body, -1) {
			lead(page, found[1])
		}
		for _, found := range anyForm.FindAllStringSubmatch(got.body, -1) {
			if found[1] == "get" {
				lead(page, found[2])
				continue
			}
			if sent := v.post(html.UnescapeString(found[2]), url.Values{"sent": {"by nobody"}}); sent.status != http.StatusForbidden && sent.status != http.StatusUnauthorized {
				v.w.t.Errorf("the form %s of %s: %d", found[2], page, sent.status)
			}
		}
		if len(came) > 2000 {
			v.w.t.Fatal("the pages do not end")
		}
	}
	return pages
}

// leaveTraces gives the world what is named and is not there any more.
func (w *adminWorld) leaveTraces() {
	now := time.Now()
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Status.Profiles = append(b.Status.Profiles, v1alpha1.ProfileUse{Name: "deleted"})
	})
	w.profiles[0].Spec.Servers = []v1alpha1.ProfileServer{gives("search", v1alpha1.ServerRequired), gives("gone", v1alpha1.ServerOptional)}
	w.index.answer(audit.Page{Entries: []audit.Entry{
		{Time: now, UserID: "alice", Call: audit.Call{Method: methods.CallTool, Server: "search", Tool: "query", Status: audit.Success}},
		{Time: now, UserID: "zoe", Call: audit.Call{Method: "admin/access.set", Action: "Offboarded", Status: audit.Success}},
		{Time: now, UserID: "yves", Call: audit.Call{Method: methods.CallTool, Server: "gone", Tool: "query", Status: audit.Success}},
	}}, nil)
	figures := figuresOfDay(now)
	figures.Uses = append(figures.Uses, audit.Use{UserID: "zoe", Server: "gone", Tally: audit.Tally{Calls: 7}}, audit.Use{UserID: "yves", Server: "gone", Tally: audit.Tally{Calls: 7}})
	w.index.answerFigures(figures, nil)
	// Of yves, whose bridge is deleted, there is a record. Of zoe there is nothing.
	w.access.is["yves"] = v1alpha1.AccessOffboarded
	w.change(func() {
		w.persons = append(w.persons, &v1alpha1.BridgePerson{Spec: v1alpha1.BridgePersonSpec{User: "yves", Access: v1alpha1.AccessOffboarded}})
	})
}

func TestEachLinkOfAnAdministratorLeadsToAPage(t *testing.T) {
	for name, change := range map[string]func(*adminWorld){
		"with everything":         func(*adminWorld) {},
		"without profiles":        func(w *adminWorld) { w.profiles = nil },
		"no right on profiles":    func(w *adminWorld) { w.profilesErr = admin.ErrMayNotRead },
		"no catalog":              func(w *adminWorld) { w.recipes.entries, w.recipes.publishers = nil, nil },
		"no bundles":              func(w *adminWorld) { w.programPages.Programs = management.NewPrograms(management.ProgramOptions{}) },
		"a store without records": func(w *adminWorld) { clear(w.programs.records) },
		"nobody":                  func(w *adminWorld) { w.change(func() { w.bridges = nil }); w.requests.all = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newAdminWorld(t)
			w.leaveTraces()
			change(w)
			for role, start := range map[oauth.Role]string{"key": "/console", oauth.RoleAdmin: "/console", oauth.RoleAuditor: "/console", oauth.RoleCurator: "/console/catalog"} {
				v := w.administrator()
				if role != "key" {
					v = w.with(role)
				}
				pages := v.crawl(start)
				if len(pages) < 2 || role != oauth.RoleCurator && len(pages) < 10 {
					t.Errorf("%s sees %d pages alone", role, len(pages))
				}
				if strings.Contains(pages["/console/audit"], `/console/people/zoe"`) {
					t.Error("the audit page links to somebody of whom nothing is known")
				}
				if role != oauth.RoleCurator && !strings.Contains(pages["/console/audit"], `/console/people/yves"`) {
					t.Error("the audit page does not link to somebody who has left")
				}
			}
			if name != "nobody" {
				w.logged(w.alice).crawl("/")
			}
		})
	}
}

func TestEachLinkOfAUserLeadsToAPage(t *testing.T) {
	for name, change := range map[string]func(*fakeSelf){
		"with everything": func(*fakeSelf) {},
		"with nothing": func(f *fakeSelf) {
			f.servers["alice"] = selfservice.Servers{Bridge: selfservice.Bridge{Status: health.Healthy}}
			f.keys, f.secrets, f.tools, f.requests = nil, map[string]string{}, selfservice.Tools{}, requests.List{}
		},
		"no index":        func(f *fakeSelf) { f.noIndex = true },
		"nothing answers": func(f *fakeSelf) { f.failWith = errClusterAway },
	} {
		t.Run(name, func(t *testing.T) {
			w := newConsoleWorld(t)
			w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(rw, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"search_query"},{"name":"gone_query"},{"name":"jira_find"}]}}`)
			})
			w.setPod("alice", "alice-1", hosts[0])
			f := w.self
			f.keys = []keys.Info{{ID: "abcdefgh", Name: "laptop"}, {ID: "managed1", ManagedBy: []string{"argo"}}}
			f.secrets = map[string]string{"GITHUB_TOKEN": "x", "OF_NO_SERVER": "y"}
			f.tools = selfservice.Tools{Known: true, Tools: []selfservice.Tool{
				{Name: "search_query", Server: "search", Tool: "query"},
				{Name: "gone_query", Server: "gone", Tool: "query"},
				{Name: "jira_find", Server: "jira", Tool: "find"},
			}}
			f.requests = requests.List{Requests: []requests.Request{{Server: "jira", State: requests.Open}, {Server: "gone", State: requests.Refused}}}
			f.events = []selfservice.Event{{Act: methods.CallTool, Server: "gone", Tool: "query", Time: time.Now()}}
			change(f)
			pages := w.logged(w.alice).crawl("/")
			if len(pages) < 5 {
				t.Errorf("alice sees %d pages alone", len(pages))
			}
		})
	}
}

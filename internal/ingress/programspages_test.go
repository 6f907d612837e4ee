// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/programs"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

const notesPage, mailPage = "/console/programs/" + newNotes, "/console/programs/" + brokenMail

func TestPagesOfProgramsSayWhatIsInstalledAndWhyNot(t *testing.T) {
	w := newAdminWorld(t)
	w.runNotes("alice", "1.1.0")
	v := w.administrator()
	for path, says := range map[string][]string{
		"/console/programs": {
			"installed once for all users: 4.", "1 could not be installed", "Node too old", "mail needs Node 99", "Installing", "2Mi", "cdcdcdcdcdcd", "install scripts", `href="` + notesPage + `"`,
		},
		"/console/programs?search=notes&state=Ready": {"2 of 4 match.", `value="notes"`, "<option selected>Ready</option>"},
		"/console/programs?search=nothing":           {"None matches."},
		notesPage: {
			"<bdi>esbuild</bdi>", "<bdi>0.2.0</bdi>", "<bdi>MIT</bdi>", "1 package has install scripts, which did not run", "added 3 packages", "<bdi>tenants</bdi>/<bdi>alice</bdi>", `href="/console/people/alice"`,
			notesPage + "/lock", notesPage + "/spdx", notesPage + "/changes?from=" + oldNotes, string(newDigest), "node:24", "kubectl describe programbundle --namespace hosted-bridge-system " + newNotes, ">Install it again<",
		},
		mailPage: {"Node too old", "mail needs Node 99", "has no packages yet", "kubectl logs --namespace hosted-bridge-system --all-containers job/" + brokenMail + "-1-3", "It is tried again on"},
		notesPage + "/changes?from=" + oldNotes: {
			"From 1.0.0 to 1.1.0", "1 package added, 1 removed, 1 changed, and 1 as before.", "<bdi>esbuild</bdi>", "<bdi>left-pad</bdi>", "Install scripts</span>",
		},
		notesPage + "/reinstall":                       {"Install @acme/notes@1.1.0 again?", "1 bridge uses it.", "calls wait"},
		"/console/programs/" + oldNotes + "/reinstall": {"0 bridges use it.", "makes it again when a bridge has a server of the package"},
	} {
		got := v.open(path)
		for _, want := range says {
			if got.status != http.StatusOK || !strings.Contains(got.body, want) {
				t.Errorf("%s does not say %q: %d %s", path, want, got.status, got.body)
			}
		}
	}
	for path, status := range map[string]int{
		"/console/programs/nothing": http.StatusNotFound, "/console/programs/nothing/lock": http.StatusNotFound, "/console/programs/nothing/reinstall": http.StatusNotFound,
		notesPage + "/changes": http.StatusNotFound, notesPage + "/changes?from=" + brokenMail: http.StatusBadRequest, "/console/programs?state=Broken": http.StatusUnprocessableEntity,
	} {
		if got := v.open(path); got.status != status {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

func TestAReaderOfProgramsSeesNoButton(t *testing.T) {
	w := newAdminWorld(t)
	v := w.with(oauth.RoleAuditor)
	if got := v.open(notesPage); got.status != http.StatusOK || !strings.Contains(got.body, "esbuild") || strings.Contains(got.body, "reinstall") || strings.Contains(got.body, "Install it again") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := v.submit("/console", notesPage+"/reinstall", "version", "1"); got.status != http.StatusNotFound || len(w.programs.deleted) > 0 {
		t.Errorf("%d, deleted %q", got.status, w.programs.deleted)
	}
}

func TestFilesOfProgramsAreForReadersAlone(t *testing.T) {
	w := newAdminWorld(t)
	for _, file := range adminFiles {
		if got := w.visitor().open(file); got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/console/login?next=") {
			t.Errorf("%s without a session: %d", file, got.status)
		}
		if got := w.logged(w.alice).open(file); got.status != http.StatusSeeOther {
			t.Errorf("%s of a user: %d", file, got.status)
		}
		curator := w.with(oauth.RoleCurator)
		if got := curator.open(file); got.status != http.StatusNotFound || got.body != curator.open("/console/nothing").body {
			t.Errorf("%s of a curator: %d", file, got.status)
		}
		got := w.with(oauth.RoleAuditor).open(file)
		if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment;") || got.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(got.header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %v", file, got.status, got.header)
		}
	}
}

func TestAProgramIsInstalledAgainOnceForEachPage(t *testing.T) {
	w := newAdminWorld(t)
	v := w.with(oauth.RoleAdmin)
	const path = notesPage + "/reinstall"
	form := v.open(path).hidden()
	// Somebody else was faster: what is there now is another ProgramBundle.
	w.programs.edit(func(f *fakePrograms) { f.all[0].UID = "2" })
	if got := v.post(path, form); got.status != http.StatusConflict || !strings.Contains(got.body, "made again already") || !strings.Contains(got.body, `name="version" value="2"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := v.post(path, url.Values{"csrf": form["csrf"]}); got.status != http.StatusForbidden || len(w.programs.deleted) > 0 {
		t.Errorf("a form that names none: %d, deleted %q", got.status, w.programs.deleted)
	}
	if got := v.submit(path, path); got.status != http.StatusSeeOther || got.header.Get("Location") != "/console/programs?done=reinstalled" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	if got := v.open("/console/programs?done=reinstalled"); got.status != http.StatusOK || !strings.Contains(got.body, "The program is installed again") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestHostileTextsOfPackagesAreShownAsText(t *testing.T) {
	w := newAdminWorld(t)
	hostile := `</bdi></pre><script>alert(1)</script>"'` + "\u202e\x1b[31m" + strings.Repeat("x", 2000)
	w.programs.edit(func(f *fakePrograms) {
		for digest, r := range f.records {
			r.Packages = append(r.Packages, bundle.Package{Name: hostile, Version: hostile + string(digest), License: hostile, Scripts: true})
			r.Log, r.Engines = hostile, map[string]string{hostile: hostile}
			f.records[digest] = r
		}
		for i := range f.all {
			b := &f.all[i]
			b.Spec.Package, b.Spec.Version, b.Status.Image, b.Status.Conditions[0].Message = hostile, hostile, hostile, hostile
			b.Status.Programs = []v1alpha1.BundledProgram{{Name: hostile, Path: hostile}}
			if b.Status.Conditions[0].Reason != v1alpha1.ReasonReady {
				b.Status.Conditions[0].Reason = hostile
			}
		}
	})
	v := w.administrator()
	for _, path := range []string{"/console/programs", notesPage, mailPage, notesPage + "/changes?from=" + oldNotes, notesPage + "/reinstall"} {
		got := v.open(path)
		got.body = checkScript(t, got.header.Get("X-Request-Id"), got)
		if got.status != http.StatusOK || strings.Contains(got.body, "<script") || strings.ContainsAny(got.body, "\u202e\x1b") {
			t.Errorf("%s shows hostile text as it is: %d %s", path, got.status, got.body)
		}
		// The log is what was asked for. All else is shortened.
		if path != notesPage && strings.Contains(got.body, strings.Repeat("x", 1000)) {
			t.Errorf("%s shows all of a long text: %s", path, got.body)
		}
	}
}

func TestPagesOfLargeProgramsAreBounded(t *testing.T) {
	w := newAdminWorld(t)
	set := func(n int, text string) {
		w.programs.edit(func(f *fakePrograms) {
			f.asked = 0
			for digest, version := range map[bundle.Digest]string{oldDigest: "1", newDigest: "2"} {
				r := f.records[digest]
				r.Log, r.Packages = strings.Repeat(text, 64<<10/len(text)), nil
				for i := range n {
					r.Packages = append(r.Packages, bundle.Package{Name: fmt.Sprintf("%05d-%s", i, strings.Repeat(text, 200)), Version: version + text, License: "MIT", Scripts: true})
				}
				f.records[digest] = r
			}
		})
	}
	v := w.administrator()
	set(615, "a")
	got := v.open(notesPage)
	if rows := strings.Count(got.body, "<bdi>MIT</bdi>"); got.status != http.StatusOK || rows != 615 || strings.Contains(got.body, "more are not shown") || w.programs.asked != 1 {
		t.Errorf("of 615 packages: %d, %d rows, the store was asked %d times", got.status, rows, w.programs.asked)
	}
	set(5000, "\x1b")
	got = v.open(notesPage)
	if rows := strings.Count(got.body, "<bdi>MIT</bdi>"); got.status != http.StatusOK || rows != programs.MaxPackages || !strings.Contains(got.body, "4\u202f000 more are not shown") || len(got.body) > programs.MaxFile {
		t.Errorf("of 5,000 packages: %d, %d rows, %d bytes", got.status, rows, len(got.body))
	}
	if got := v.open(notesPage + "/changes?from=" + oldNotes); got.status != http.StatusOK || !strings.Contains(got.body, "4\u202f500 further changes are not shown") || len(got.body) > programs.MaxFile {
		t.Errorf("changes: %d, %d bytes", got.status, len(got.body))
	}
}

func TestPagesOfProgramsWithoutTheStoreOrTheCluster(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	away := errors.New("10.0.0.1 is away")
	w.programs.edit(func(f *fakePrograms) { f.recordErr = away })
	if got := v.open(notesPage); got.status != http.StatusOK || !strings.Contains(got.body, "The store does not answer") || !strings.Contains(got.body, string(newDigest)) || strings.Contains(got.body, "10.0.0.1") || strings.Contains(got.body, "/lock") {
		t.Errorf("without the store: %d %s", got.status, got.body)
	}
	w.programs.edit(func(f *fakePrograms) { f.deleteErr = away })
	if got := v.submit(notesPage+"/reinstall", notesPage+"/reinstall"); got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "10.0.0.1") {
		t.Errorf("a form: %d %s", got.status, got.body)
	}
	w.programs.edit(func(f *fakePrograms) { f.listErr = away })
	for _, path := range []string{"/console/programs", notesPage} {
		if got := v.open(path); got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "10.0.0.1") {
			t.Errorf("%s without the cluster: %d %s", path, got.status, got.body)
		}
	}
	w.programPages.Programs = management.NewPrograms(management.ProgramOptions{})
	if got := v.open("/console/programs"); got.status != http.StatusOK || !strings.Contains(got.body, "Set bundles.enabled") || strings.Contains(got.body, "<table") {
		t.Errorf("without bundles: %d %s", got.status, got.body)
	}
}

func TestTheCatalogSaysWhichPackagesAreInstalled(t *testing.T) {
	w := newAdminWorld(t)
	w.recipes.entries = nil
	for name, of := range map[string]recipe.Install{
		"notes": {Package: notesPackage, Version: "1.1.0"}, "mail": {Package: "mail", Version: "2.0.0"}, "search": {Package: "search", Version: "1.0.0"}, "other": {Package: "other", Version: "1.0.0"},
	} {
		w.recipes.entries = append(w.recipes.entries, catalog.Entry{Name: name, Accepted: true, Recipe: recipe.Recipe{Install: &of}})
	}
	w.recipes.entries = append(w.recipes.entries, catalog.Entry{Name: "remote", Accepted: true})
	says := []string{
		"<bdi>@acme/notes</bdi>@<bdi>1.1.0</bdi></code> is installed once for all users, on 1 March 2026, 12:00 UTC: 3 packages, digest cdcdcdcdcdcd.",
		"<bdi>mail</bdi>@<bdi>2.0.0</bdi></code> could not be installed (NodeTooOld). <bdi>mail needs Node 99</bdi>", "</code> is being installed.", "</code> is installed when the first user adds it.",
	}
	v := w.with(oauth.RoleCurator)
	if got := v.open("/console/catalog"); got.status != http.StatusOK || strings.Contains(got.body, says[3]) {
		t.Errorf("before it is known: %d %s", got.status, got.body)
	}
	w.installed.Refresh(t.Context())
	got := v.open("/console/catalog")
	for _, want := range says {
		if strings.Count(got.body, want) != 1 {
			t.Errorf("the page does not say %q once: %s", want, got.body)
		}
	}
}

func TestUsersReadWhetherAPackageIsInstalled(t *testing.T) {
	w := newConsoleWorld(t)
	w.self.become(selfservice.Server{Name: "docs", State: selfservice.ServerOff, Reason: selfservice.ReasonOff, Profile: "engineering", Use: v1alpha1.ServerOptional, Recipe: "docs",
		Fix:     &selfservice.Fix{Code: selfservice.FixTurnOn, Text: "Turn the server on."},
		Program: &catalog.Program{Package: "docs", Version: "1.0.0", State: string(bundle.NodeTooOld), Message: "of administrators"},
	})
	w.self.become(selfservice.Server{Name: "search", State: health.Healthy, Program: &catalog.Program{
		Package: "search", Version: "2.0.0", State: v1alpha1.ReasonReady, InstalledAt: new(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)), Packages: 1, Digest: string(newDigest),
	}})
	v := w.logged(w.alice)
	for path, want := range map[string]string{
		"/catalog":        "<bdi>docs</bdi>@<bdi>1.0.0</bdi></code> could not be installed (NodeTooOld).",
		"/servers/search": "is installed once for all users, on 1 March 2026, 00:00 UTC: 1 package, digest cdcdcdcdcdcd.",
	} {
		if got := v.open(path); got.status != http.StatusOK || !strings.Contains(got.body, want) || strings.Contains(got.body, "of administrators") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

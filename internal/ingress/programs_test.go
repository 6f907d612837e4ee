// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/programs"
)

const programsPath, notesPath = "/admin/programs", "/admin/programs/" + newNotes

func TestAdministratorsSeeWhatProgramsContain(t *testing.T) {
	w, _, _ := twoUsers(t)
	w.runNotes("alice", "1.1.0")
	w.runNotes("bob", "1.0.0")
	for path, want := range map[string][]string{
		programsPath:                               {`"matched":4,"failed":1,"total":4`, `"state":"NodeTooOld","message":"mail needs Node 99"`, `"state":"Installing"`, `"bytes":2097152`},
		programsPath + "?search=%40ACME":           {`"matched":2`},
		programsPath + "?state=Failed":             {`"matched":1`, brokenMail},
		programsPath + "?limit=1":                  {`"next":"` + brokenMail + `"`},
		programsPath + "?limit=3&cursor=notes-1-1": {`"programs":[{"name":"` + newNotes},
		notesPath: {
			`{"name":"esbuild","version":"0.2.0","license":"MIT","scripts":true}`, `"usedBy":[{"namespace":"tenants","name":"alice","user":"alice"}],"users":1`,
			`"log":"added 3 packages"`, `"others":[{"name":"` + oldNotes, `"commands":[{"name":"notes"`,
		},
		programsPath + "/" + brokenMail: {`"contents":null,"missing":"The program is not installed`, `"usedBy":[]`},
		notesPath + "/changes?from=" + oldNotes: {
			`"added":[{"name":"esbuild","version":"0.2.0","license":"MIT","scripts":true}]`, `"removed":[{"name":"left-pad"`, `"changed":[{"name":"@acme/notes","from":[{"name":"@acme/notes","version":"1.0.0"`, `"unchanged":1`,
		},
		notesPath + "/lock": {`{"lockfileVersion":3}`},
		notesPath + "/spdx": {`"spdxVersion":"SPDX-2.3"`, `pkg:npm/%40acme/notes@1.1.0`},
	} {
		got := w.do(w.request("GET", path, adminKey, ""))
		if got.status != http.StatusOK || got.header.Get("Cache-Control") != "no-store" || !json.Valid([]byte(got.body)) {
			t.Errorf("%s: %d %v %s", path, got.status, got.header, got.body)
		}
		for _, text := range want {
			if !strings.Contains(got.body, text) {
				t.Errorf("%s lacks %s: %s", path, text, got.body)
			}
		}
	}
	for path, want := range map[string]string{
		programsPath + "?state=Broken":            "state: it must be one of Ready, Installing, Failed",
		programsPath + "?limit=201":               "limit: it must be a number from 1 to 200",
		programsPath + "?package=x":               "the parameters are search, state, cursor and limit",
		notesPath + "/changes?from=" + brokenMail: "another ProgramBundle of the same package",
		notesPath + "/changes?from=&to=x":         "query_invalid",
		programsPath + "/" + brokenMail + "/lock": "program_not_installed",
		programsPath + "/nothing":                 "program_not_found",
		notesPath + "/changes?from=nothing":       "program_not_found",
		programsPath + "/nothing/spdx":            "program_not_found",
	} {
		got := w.do(w.request("GET", path, adminKey, ""))
		if got.status != http.StatusBadRequest && got.status != http.StatusNotFound || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s, want %s", path, got.status, got.body, want)
		}
	}
}

func TestAProgramIsInstalledAgainByAdministratorsAlone(t *testing.T) {
	w, tokens, alice := loginWorld(t)
	const path = notesPath + "/reinstall"
	auditor, curator := tokens.add("auditor", "aude", oauth.AdminPath, withRoles(oauth.RoleAuditor)), tokens.add("curator", "carl", oauth.AdminPath, withRoles(oauth.RoleCurator))
	for key, status := range map[string]int{auditor: http.StatusForbidden, curator: http.StatusForbidden, alice: http.StatusUnauthorized, "": http.StatusUnauthorized} {
		if got := w.do(w.request("POST", path, key, "")); got.status != status {
			t.Errorf("%q: %d %s", key, got.status, got.body)
		}
	}
	for key, status := range map[string]int{auditor: http.StatusOK, curator: http.StatusForbidden, alice: http.StatusUnauthorized, "": http.StatusUnauthorized} {
		for _, read := range []string{programsPath, notesPath, notesPath + "/changes?from=" + oldNotes, notesPath + "/lock", notesPath + "/spdx"} {
			if got := w.do(w.request("GET", read, key, "")); got.status != status {
				t.Errorf("%s with %q: %d %s", read, key, got.status, got.body)
			}
		}
	}
	if len(w.programs.deleted) > 0 {
		t.Fatalf("deleted %q", w.programs.deleted)
	}
	before := len(w.audit.all())
	for _, tt := range []struct {
		path   string
		err    error
		status int
		says   string
		trail  audit.Status
	}{
		{path, nil, http.StatusAccepted, `{"name":"` + newNotes + `"}`, audit.Success},
		{path, programs.ErrGone, http.StatusConflict, "program_changed", ""},
		{path, errors.New("connection reset"), http.StatusServiceUnavailable, "cluster_unavailable", audit.UpstreamError},
		{programsPath + "/nothing/reinstall", nil, http.StatusNotFound, "program_not_found", ""},
	} {
		w.programs.edit(func(f *fakePrograms) { f.deleteErr = tt.err })
		got := w.do(w.request("POST", tt.path, adminKey, ""))
		if got.status != tt.status || !strings.Contains(got.body, tt.says) || strings.Contains(got.body, "reset") {
			t.Errorf("%s with %v: %d %s", tt.path, tt.err, got.status, got.body)
		}
		var trail audit.Status
		if entries := w.audit.all()[before:]; len(entries) == 1 && entries[0].Method == "admin/programs.reinstall" && entries[0].Action == newNotes {
			trail = entries[0].Status
		}
		if before = len(w.audit.all()); trail != tt.trail {
			t.Errorf("%s with %v: the trail has %q", tt.path, tt.err, trail)
		}
	}
	if diff := cmp.Diff([]string{newNotes + " 1"}, w.programs.deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

func TestProgramsWithoutTheirStoreOrTheCluster(t *testing.T) {
	w, _, _ := twoUsers(t)
	away := errors.New("10.0.0.1 is away")
	for name, tt := range map[string]struct {
		change func(*fakePrograms)
		get    int
		says   string
		lock   int
	}{
		"the store is away":            {func(f *fakePrograms) { f.recordErr = away }, http.StatusOK, "The store does not answer", http.StatusServiceUnavailable},
		"the store has another record": {func(f *fakePrograms) { f.records[newDigest] = f.records[oldDigest] }, http.StatusOK, "The store does not answer", http.StatusServiceUnavailable},
		"the store lost it":            {func(f *fakePrograms) { f.records = nil }, http.StatusOK, "made again within two minutes", http.StatusNotFound},
		"the cluster is away":          {func(f *fakePrograms) { f.listErr = away }, http.StatusServiceUnavailable, "cluster_unavailable", http.StatusServiceUnavailable},
	} {
		f := newFakePrograms()
		w.programs.edit(func(of *fakePrograms) { of.records, of.recordErr, of.listErr = f.records, nil, nil; tt.change(of) })
		got, lock := w.do(w.request("GET", notesPath, adminKey, "")), w.do(w.request("GET", notesPath+"/lock", adminKey, ""))
		if got.status != tt.get || !strings.Contains(got.body, tt.says) || lock.status != tt.lock || strings.Contains(got.body+lock.body, "10.0.0.1") {
			t.Errorf("%s: %d %s, lock %d %s", name, got.status, got.body, lock.status, lock.body)
		}
	}
	disabled := newWorldWith(t, defaults(), func(d *Deps) { d.Features[0] = management.NewPrograms(management.ProgramOptions{}).Feature() })
	for _, r := range []*http.Request{disabled.request("GET", programsPath, adminKey, ""), disabled.request("GET", notesPath, adminKey, ""), disabled.request("POST", notesPath+"/reinstall", adminKey, "")} {
		if got := disabled.do(r); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "bundles_disabled") {
			t.Errorf("without bundles, %s: %d %s", r.URL.Path, got.status, got.body)
		}
	}
}

func TestAnswersAboutLargeProgramsAreBounded(t *testing.T) {
	w, _, _ := twoUsers(t)
	many := func(n int, version string) []bundle.Package {
		var all []bundle.Package
		for i := range n {
			all = append(all, bundle.Package{Name: fmt.Sprintf("package-%05d", i), Version: version, License: "MIT"})
		}
		return all
	}
	set := func(n int) {
		w.programs.edit(func(f *fakePrograms) {
			for digest, version := range map[bundle.Digest]string{oldDigest: "1.0.0", newDigest: "2.0.0"} {
				r := f.records[digest]
				r.Packages, r.Log = many(n, version), strings.Repeat("log\n", 16<<10)
				f.records[digest] = r
			}
			f.asked = 0
		})
	}
	w.change(func() {
		for i := range 2 * programs.MaxBridges {
			w.bridges = append(w.bridges, manyth(i))
		}
	})
	for i := range 2 * programs.MaxBridges {
		w.runNotes(manyth(i).Name, "1.1.0")
	}
	// The largest programs that are known have 615 packages, of which nothing is left out.
	set(615)
	var detail programs.Detail
	got := w.do(w.request("GET", notesPath, adminKey, ""))
	if err := json.Unmarshal([]byte(got.body), &detail); err != nil || len(detail.Contents.Packages) != 615 || detail.Contents.More != 0 || len(detail.Contents.Log) != 64<<10 || w.programs.asked != 1 {
		t.Errorf("of 615 packages: %d, the store was asked %d times, %v", got.status, w.programs.asked, err)
	}
	if len(detail.UsedBy) != programs.MaxBridges || detail.Users != 2*programs.MaxBridges {
		t.Errorf("%d of %d bridges are named", len(detail.UsedBy), detail.Users)
	}
	set(20_000)
	detail = programs.Detail{}
	got = w.do(w.request("GET", notesPath, adminKey, ""))
	if err := json.Unmarshal([]byte(got.body), &detail); err != nil || len(detail.Contents.Packages) != programs.MaxPackages || detail.Contents.More != 20_000-programs.MaxPackages || len(got.body) > 512<<10 {
		t.Errorf("of 20,000 packages: %d, %d bytes, %v", got.status, len(got.body), err)
	}
	var changes programs.Changes
	got = w.do(w.request("GET", notesPath+"/changes?from="+oldNotes, adminKey, ""))
	if err := json.Unmarshal([]byte(got.body), &changes); err != nil || 2*len(changes.Changed) != programs.MaxPackages || changes.More != 20_000-len(changes.Changed) {
		t.Errorf("changes of 20,000 packages: %d, %d and %d more, %v", got.status, len(changes.Changed), changes.More, err)
	}
	if got := w.do(w.request("GET", notesPath+"/spdx", adminKey, "")); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "more than 3 MiB") {
		t.Errorf("SPDX of 20,000 packages: %d %.200s", got.status, got.body)
	}
}

func TestAFileOfAProgramIsNoPage(t *testing.T) {
	w, _, _ := twoUsers(t)
	for file, mediaType := range map[string]string{"lock": "application/json", "spdx": "application/spdx+json"} {
		got := w.do(w.request("GET", notesPath+"/"+file, adminKey, ""))
		if got.header.Get("Content-Type") != mediaType || !strings.HasPrefix(got.header.Get("Content-Disposition"), `attachment; filename="`+newNotes) || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", file, got.header)
		}
	}
	var entries []string
	for _, e := range w.audit.all() {
		entries = append(entries, e.Method+" "+e.Action)
	}
	if !slices.Contains(entries, "admin/programs.download "+newNotes) {
		t.Errorf("the trail has %q", entries)
	}
}

func TestAProgramIsUsedByTheBridgesThatRunItAlone(t *testing.T) {
	w, _, _ := twoUsers(t)
	w.runNotes("alice", "1.0.0")
	w.changeBridge("bob", func(b *v1alpha1.HostedBridge) { b.Spec.Servers = []v1alpha1.Server{{Name: "notes"}} })
	if got := w.do(w.request("GET", notesPath, adminKey, "")); !strings.Contains(got.body, `"usedBy":[],"users":0`) {
		t.Errorf("another version is counted: %s", got.body)
	}
}

func TestUsersSeeWhetherAPackageIsInstalledAndNotWhoUsesIt(t *testing.T) {
	w, alice, _ := twoUsers(t)
	w.runNotes("alice", "1.1.0")
	w.runNotes("bob", "1.1.0")
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: "remote"})
		b.Status.Effective = &v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{{Name: "wiki", Profile: "team", Recipe: "wiki", Use: v1alpha1.ServerOptional, Reason: v1alpha1.ReasonServerOff}}}
	})
	program := func(server string) string {
		got := w.do(w.request("GET", "/u/alice/servers/"+server, alice, ""))
		var s struct{ Program json.RawMessage }
		if err := json.Unmarshal([]byte(got.body), &s); err != nil || got.status != http.StatusOK {
			t.Errorf("%s: %d %s", server, got.status, got.body)
		}
		return string(s.Program)
	}
	if got := program("notes"); got != "" {
		t.Errorf("before it is known: %s", got)
	}
	w.installed.Refresh(t.Context())
	for server, want := range map[string]string{
		"notes":  `{"package":"@acme/notes","version":"1.1.0","state":"Ready","installedAt":"2026-03-01T12:00:00Z","packages":3,"digest":"` + string(newDigest) + `"}`,
		"wiki":   `{"package":"wiki","version":"1.0.0"}`,
		"remote": "",
	} {
		if got := program(server); got != want {
			t.Errorf("%s: %s, want %s", server, got, want)
		}
	}
	// While the API server is away, what it said last stands.
	w.programs.edit(func(f *fakePrograms) { f.listErr = errors.New("away") })
	w.installed.Refresh(t.Context())
	if got := program("wiki"); got == "" {
		t.Error("an outage makes known packages unknown")
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package seed

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/seed"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// git runs git as nobody has configured it.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@git.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@git.example",
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// served returns a server that has the archive of each ref, as git packs it.
func served(t *testing.T, repository string) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ref := strings.TrimSuffix(path.Base(r.URL.Path), ".tar.gz")
		c := exec.CommandContext(r.Context(), "git", "-C", repository, "archive", "--format=tar.gz", "--prefix=recipes-"+ref+"/", ref)
		c.Stdout = w
		if err := c.Run(); err != nil {
			t.Errorf("git archive %s: %v", ref, err)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestAnArchiveOfARepositoryIsSeeded(t *testing.T) {
	repository := t.TempDir()
	git(t, repository, "init", "--quiet", "--initial-branch=main")
	commit := func(message string) string {
		git(t, repository, "add", "--all")
		git(t, repository, "commit", "--quiet", "--message="+message)
		return git(t, repository, "rev-parse", "HEAD")
	}
	servers := filepath.Join(repository, "servers")
	put(t, servers, valid("notes", "1.0.0"))
	first := commit("one")
	git(t, repository, "tag", "--annotate", "--message=m", "v1")
	put(t, servers, valid("notes", "1.1.0"), valid("sql", "1.0.0"))
	// A file that is too long for a recipe is broken, and a link is not followed.
	must.Succeed(t, os.WriteFile(filepath.Join(servers, "long.json"), []byte(strings.Repeat("x", 1<<20)), 0o600))
	must.Succeed(t, os.Symlink("/etc/passwd", filepath.Join(servers, "passwd.json")))
	commit("two")
	// A submodule is an empty folder.
	git(t, repository, "update-index", "--add", "--cacheinfo", "160000,"+first+",servers/module")
	git(t, repository, "commit", "--quiet", "--message=module")
	server := served(t, repository)
	place := func(ref string) string { return "archive:" + server.URL + "/archive/" + ref + ".tar.gz#servers" }
	o := seed.Options{Transport: server.Client().Transport}

	r := newReplica(t, testenv.Namespace(t, testenv.Client(t)))
	for _, ref := range []string{"v1", first} {
		report, err := r.seeder(t, place(ref), o).Seed(t.Context(), true)
		if err != nil || report.Counts[catalog.Create] != 1 || len(report.Broken) > 0 {
			t.Errorf("%s: %v, %+v", ref, err, report)
		}
	}
	expectSeeded(t, r.seeder(t, place("v1"), o), map[catalog.ChangeKind]int{catalog.Create: 1})
	newest := r.seeder(t, place("main"), o)
	report := expectSeeded(t, newest, map[catalog.ChangeKind]int{catalog.Create: 1, catalog.Update: 1})
	var broken []string
	for _, b := range report.Broken {
		broken = append(broken, b.File+" "+b.Problems[0].Message)
	}
	if len(broken) != 2 || !strings.HasPrefix(broken[0], "long.json ") || !strings.Contains(broken[0], "262144") ||
		broken[1] != "passwd.json cannot be read: it is a link, and links of an archive are not followed" {
		t.Errorf("broken: %q", broken)
	}
	expectSeeded(t, newest, map[catalog.ChangeKind]int{catalog.None: 2})
}

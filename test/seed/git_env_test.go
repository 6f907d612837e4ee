// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package seed

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
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

// served returns the URL of the repositories below a folder, as git's own
// server has them.
func served(t *testing.T, root string) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(&cgi.Handler{
		Path: filepath.Join(git(t, root, "--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1"},
	})
	t.Cleanup(server.Close)
	return server
}

func TestARepositoryIsSeeded(t *testing.T) {
	root := t.TempDir()
	repository := filepath.Join(root, "recipes")
	must.Succeed(t, os.Mkdir(repository, 0o755))
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
	// What is too long for a recipe is not even fetched, and a link not followed.
	long := filepath.Join(servers, "long.json")
	must.Succeed(t, os.WriteFile(long, []byte(strings.Repeat("x", 1<<20)), 0o600))
	must.Succeed(t, os.Symlink("/etc/passwd", filepath.Join(servers, "passwd.json")))
	commit("two")
	for _, key := range []string{"allowFilter", "allowReachableSHA1InWant"} {
		git(t, repository, "config", "uploadpack."+key, "true")
	}
	server := served(t, root)
	place := "git:" + server.URL + "/recipes/.git"
	o := seed.Options{Transport: server.Client().Transport}

	r := newReplica(t, testenv.Namespace(t, testenv.Client(t)))
	for _, fragment := range []string{"#v1:servers", "#" + first + ":servers"} {
		report, err := r.seeder(t, place+fragment, o).Seed(t.Context(), true)
		if err != nil || report.Counts[catalog.Create] != 1 || len(report.Broken) > 0 {
			t.Errorf("%s: %v, %+v", fragment, err, report)
		}
	}
	expectSeeded(t, r.seeder(t, place+"#v1:servers", o), map[catalog.ChangeKind]int{catalog.Create: 1})
	newest := r.seeder(t, place+"#main:servers", o)
	report := expectSeeded(t, newest, map[catalog.ChangeKind]int{catalog.Create: 1, catalog.Update: 1})
	var broken []string
	for _, b := range report.Broken {
		broken = append(broken, b.File+" "+b.Problems[0].Message)
	}
	want := "long.json cannot be read: it has more than 262144 bytes,passwd.json cannot be read: it is a link, and links of a repository are not followed"
	if got := strings.Join(broken, ","); got != want {
		t.Errorf("broken: %s", got)
	}
	expectSeeded(t, newest, map[catalog.ChangeKind]int{catalog.None: 2})

	// Without a server's leave to filter, the file comes and is found too long.
	git(t, repository, "config", "uploadpack.allowFilter", "false")
	report = expectSeeded(t, newest, map[catalog.ChangeKind]int{catalog.None: 2})
	if len(report.Broken) != 2 || report.Broken[0].File != "long.json" {
		t.Errorf("%+v", report.Broken)
	}
}

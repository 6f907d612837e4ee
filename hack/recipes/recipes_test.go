// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var day = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func one() recipe.Recipe {
	r := recipe.Recipe{ID: "one", Install: &recipe.Install{Method: "npx", Package: "@maker/one", Version: "1.2.0"}}
	r.Metadata.LastVerified = "2026-11-21"
	r.Metadata.ToolExamples = []recipe.ToolExample{{Name: "find_it"}}
	r.Transports = []recipe.Transport{
		{Type: recipe.StreamableHTTP, URL: "https://one.example/mcp", Headers: jsondoc.Ordered[string]{{Name: "X-Key", Value: "${ONE_KEY}"}}},
		{Type: recipe.Stdio, Command: "npx", Args: []string{"-y", "--package", "@maker/one@1.2.0", "--", "one", "start", "--mode=all", "--key", "${ONE_KEY}"}, Env: jsondoc.Ordered[string]{{Name: "ONE_URL", Value: "x"}}},
	}
	return r
}

func TestWordsAreWhatTheProgramMustKnow(t *testing.T) {
	want := []string{"ONE_URL", "find_it", "key", "mode"}
	if diff := cmp.Diff(want, words(one())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJudge(t *testing.T) {
	for name, tt := range map[string]struct {
		facts *facts
		now   time.Time
		want  []finding
	}{
		"a current package is fine":         {&facts{latest: "1.2.0"}, day, nil},
		"what was not looked up is fine":    {nil, day, nil},
		"one that is newer than the tag is": {&facts{latest: "1.1.9"}, day, nil},
		"a newer version is a note":         {&facts{latest: "1.10.0"}, day, []finding{{false, "1.10.0 is out, the recipe has 1.2.0"}}},
		"a recipe that nobody looked at for long is a note": {
			nil, day.Add(91 * 24 * time.Hour), []finding{{false, "was verified 91 days ago"}},
		},
		"a version that is gone must be mended": {&facts{missing: true}, day, []finding{{true, "npm has no @maker/one@1.2.0"}}},
		"a deprecated one too": {
			&facts{latest: "1.2.0", deprecated: "use two"}, day, []finding{{true, "@maker/one@1.2.0 is deprecated: use two"}},
		},
		"a variable that it does not know too": {
			&facts{latest: "1.2.0", unmentioned: []string{"ONE_URL"}}, day, []finding{{true, "no file of @maker/one@1.2.0 has ONE_URL"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, judge(one(), tt.facts, tt.now), cmp.AllowUnexported(finding{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseView(t *testing.T) {
	failed := errors.New("exit status 1")
	for name, tt := range map[string]struct {
		out    string
		failed error
		want   *facts
	}{
		"a version":          {`{"version": "1.2.0", "dist-tags.latest": "1.3.0"}`, nil, &facts{latest: "1.3.0"}},
		"a deprecated one":   {`{"version": "1.2.0", "deprecated": "use two", "dist-tags.latest": "1.2.0"}`, nil, &facts{latest: "1.2.0", deprecated: "use two"}},
		"no such version":    {`{"error": {"code": "E404", "summary": "No match found for version 9.9.9"}}`, failed, &facts{missing: true}},
		"nothing at all":     {"", nil, &facts{missing: true}},
		"a registry away":    {`{"error": {"code": "ECONNREFUSED", "summary": "connect"}}`, failed, nil},
		"npm ended by force": {"", failed, nil},
		"no JSON":            {"npm ERR", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseView([]byte(tt.out), tt.failed)
			if (err != nil) != (tt.want == nil) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(facts{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// archive returns a tar.gz of files.
func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for name, content := range files {
		must.Succeed(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}))
		must.Value(io.WriteString(w, content))(t)
	}
	must.Succeed(t, errors.Join(w.Close(), zipped.Close()))
	return out.Bytes()
}

func TestAbsentLooksIntoEveryFile(t *testing.T) {
	packed := archive(t, map[string]string{"package/a.js": "process.env.ONE_URL", "package/README.md": "find_it --key"})
	got := must.Value(absent(bytes.NewReader(packed), []string{"ONE_URL", "TWO_URL", "find_it", "key"}))(t)
	if diff := cmp.Diff([]string{"TWO_URL"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := absent(bytes.NewReader(packed[:len(packed)/2]), []string{"TWO_URL"}); err == nil {
		t.Error("half a package is taken for a whole one")
	}
}

// installNPM puts an npm on the PATH that answers as a registry would in which
// the package is deprecated and 1.3.0 the latest.
func installNPM(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	packed := filepath.Join(folder, "packed")
	must.Succeed(t, os.WriteFile(packed, archive(t, map[string]string{"package/a.js": "process.env.ONE_TOKEN"}), 0o600))
	script := `#!/bin/sh
case "$1 $2" in
"view one@1.2.0") echo '{"version": "1.2.0", "deprecated": "use two", "dist-tags.latest": "1.3.0"}' ;;
"pack one@1.2.0") cp ` + packed + ` one-1.2.0.tgz ;;
"install --package-lock-only")
	grep -q '"one":"1.2.0"' package.json || { echo "npm error code ETARGET"; exit 1; }
	printf '{"lockfileVersion":3,"packages":{"node_modules/one":{"version":"1.2.0","license":"MIT"}}}' >package-lock.json ;;
*) echo '{"error": {"code": "E404"}}'; exit 1 ;;
esac
`
	for _, name := range []string{"npm", "node"} {
		must.Succeed(t, os.WriteFile(filepath.Join(folder, name), []byte(script), 0o700))
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestRunPrintsWhatIsToBeDone(t *testing.T) {
	installNPM(t)
	folder := writeRecipes(t)
	var out strings.Builder
	if err := run(t.Context(), []string{"--dir", folder, "--files"}, &out, io.Discard); !errors.Is(err, errFound) {
		t.Fatalf("error %v, want %v", err, errFound)
	}
	want := `one  mend  one@1.2.0 is deprecated: use two
one  note  1.3.0 is out, the recipe has 1.2.0
one  mend  no file of one@1.2.0 has ONE_URL
two  mend  npm has no two@2.0.0
3 recipes: 3 findings to mend; 1 programs are not of npm and were not looked up; 0 of 0 remote servers did not answer
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLocksAreMadeForThoseOfNpmThatHaveNone(t *testing.T) {
	installNPM(t)
	args := []string{"--dir", writeRecipes(t), "--locks", t.TempDir()}
	for _, want := range []string{"1 lock files made, 1 could not be made\n", "0 lock files made, 1 could not be made\n"} {
		var out strings.Builder
		err := run(t.Context(), args, &out, io.Discard)
		if !errors.Is(err, errNoLock) || !strings.HasSuffix(out.String(), want) || !strings.Contains(out.String(), "two  mend  The registry has no version two@2.0.0") {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
	want := "{\"lockfileVersion\":3,\"packages\":{\n\"node_modules/one\":{\"version\":\"1.2.0\"}\n}}\n"
	if got := string(must.Value(os.ReadFile(filepath.Join(args[3], "one.json")))(t)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// writeRecipes writes three recipes into a folder, of which two are of npm.
func writeRecipes(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for id, install := range map[string]string{
		"one": `"npx", "package": "one", "version": "1.2.0"`,
		"two": `"npx", "package": "two", "version": "2.0.0"`,
		"egg": `"uvx", "package": "egg", "version": "2.0.0"`,
	} {
		name, command := id, "npx"
		if id == "egg" {
			command = "uvx"
		}
		content := `{"schemaVersion": 2, "id": "` + id + `", "name": "` + name + `", "description": "d", "repository": "https://h/r",
			"transports": [{"type": "stdio", "command": "` + command + `", "args": ["` + id + `"], "env": {"ONE_TOKEN": "a", "ONE_URL": "b"}}],
			"install": {"method": ` + install + `}, "metadata": {"lastVerified": "2999-01-01"}}`
		must.Succeed(t, os.MkdirAll(filepath.Join(folder, id), 0o755))
		must.Succeed(t, os.WriteFile(filepath.Join(folder, id, "recipe.json"), []byte(content), 0o600))
	}
	return folder
}

func TestRunRefusesWhatIsNoFolderOfRecipes(t *testing.T) {
	for name, args := range map[string][]string{
		"an empty folder":    {"--dir", t.TempDir()},
		"a missing recipe":   {"--dir", t.TempDir(), "--only", "one"},
		"an unknown word":    {"now"},
		"an unknown option":  {"--now"},
		"a folder not there": {"--dir", filepath.Join(t.TempDir(), "none")},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
				t.Error("no error")
			}
		})
	}
}

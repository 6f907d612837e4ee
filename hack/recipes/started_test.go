// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// lists is a program that writes a greeting to stdout, and has a tool in each of two pages.
const lists = `echo "Welcome to $HOME now"
while read -r line; do
	case "$line" in
	*'"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":{}}' ;;
	*cursor*) echo '{"jsonrpc":"2.0","method":"notifications/message"}'; echo '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"b"}]}}' ;;
	*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"}],"nextCursor":"more"}}' ;;
	esac
done
`

// refuses is a program that ends, and says which of its variables it has.
const refuses = `echo "    Error: [14:32:42.964] (32155): TWO_TOKEN is required | ONE_URL is $ONE_URL, MACHINE is ${MACHINE:-unset}, see $HOME/log" >&2
printf '    at main (%s:1:2)\n\nNode.js v22\n' "$0" >&2
exit 3
`

// installPrograms puts an npm on the PATH whose packages have these programs, which node runs by sh.
func installPrograms(t *testing.T, programs map[string]string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range programs {
		must.Succeed(t, os.WriteFile(filepath.Join(folder, name+".js"), []byte(text), 0o600))
	}
	npm := `#!/bin/sh
name=$(sed 2>/dev/null 's/.*"dependencies":{"\([^"]*\)".*/\1/' package.json)
case "$1" in
config) echo "registry=https://registry.example.com" ;;
install) printf '{"lockfileVersion":3,"packages":{"node_modules/%s":{"version":"1.2.0","hasInstallScript":true}}}' "$name" >package-lock.json ;;
ci)
	[ -f "` + folder + `/$name.js" ] || { echo "npm error code E404"; exit 1; }
	mkdir -p "node_modules/$name"
	cp "` + folder + `/$name.js" "node_modules/$name/main.js"
	printf '{"name":"%s","version":"1.2.0","bin":"main.js"}' "$name" >"node_modules/$name/package.json" ;;
esac
`
	must.Succeed(t, os.WriteFile(filepath.Join(folder, "npm"), []byte(npm), 0o700))
	must.Succeed(t, os.WriteFile(filepath.Join(folder, "node"), []byte("#!/bin/sh\n[ \"$1\" = --version ] && exec echo v22.0.0\nexec sh \"$@\"\n"), 0o700))
	must.Succeed(t, os.WriteFile(filepath.Join(folder, "npx"), []byte("#!/bin/sh\nexec sh '"+folder+"/one.js'\n"), 0o700))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestThePageHasWhatProgramsListAndHowTheyRefuse(t *testing.T) {
	installPrograms(t, map[string]string{"one": lists, "two": refuses})
	t.Setenv("MACHINE", "set")
	page := filepath.Join(t.TempDir(), "page.md")
	must.Succeed(t, os.WriteFile(page, []byte("before\n<!-- begin started -->\nold\n<!-- end started -->\nafter\n"), 0o600))
	must.Succeed(t, run(t.Context(), []string{"--dir", writeRecipes(t), "--start", page}, io.Discard, io.Discard))
	got := string(must.Value(os.ReadFile(page))(t))
	got, date, _ := strings.Cut(got, "\nWith Node.js v22.0.0 on ")
	want := `before
<!-- begin started -->
| recipe | package | packages | MB | install scripts, which did not run | without credentials |
| --- | --- | --- | --- | --- | --- |
| one | one@1.2.0 | 1 | 0.0 | one@1.2.0 | 2 tools; stdout has text: Welcome to … now |
| two | two@2.0.0 | 1 | 0.0 | two@1.2.0 | exit 3: Error: TWO_TOKEN is required / ONE_URL is b, MACHINE is unset, see … |
`
	if diff := cmp.Diff(want, got); diff != "" || !strings.HasSuffix(date, ".\n<!-- end started -->\nafter\n") {
		t.Errorf("(-want +got):\n%s%s", diff, date)
	}
}

func TestAPackageThatIsNotInstalledIsARowAndAPageOfSomeRecipesIsNotWritten(t *testing.T) {
	installPrograms(t, nil)
	var out strings.Builder
	must.Succeed(t, run(t.Context(), []string{"--dir", writeRecipes(t), "--start", "none.md", "--only", "one"}, &out, io.Discard))
	if want := "| one | one@1.2.0 | | | | not installed: The registry has no package one@1.2.0"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("%s, want %s", out.String(), want)
	}
	if err := run(t.Context(), []string{"--dir", writeRecipes(t), "--start", "none.md"}, io.Discard, io.Discard); err == nil {
		t.Error("a page that is not there is written")
	}
}

func TestNoProgramStaysWithItsChildrenAfterItsTrial(t *testing.T) {
	home := t.TempDir()
	// Neither it nor its child ends by itself, and it answers nothing.
	p := must.Value(start(home, nil, []string{"sh", "-c", "trap '' TERM; sleep 1000 & echo >ready; wait; sleep 1000"}))(t)
	wait.Until(t, "its start", func() bool { _, err := os.Stat(filepath.Join(home, "ready")); return err == nil })
	if m := must.Value(memoryOf(p.cmd.Process.Pid))(t); m.private <= 0 || m.resident < m.private {
		t.Errorf("it has %+v in memory", m)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("no list in time")
	cancel(late)
	if _, err := p.list(ctx); !errors.Is(err, late) {
		t.Errorf("%v, want %v", err, late)
	}
	p.end()
	wait.Until(t, "the end of its child", func() bool { _, err := memoryOf(p.cmd.Process.Pid); return err != nil })
}

func TestTheMemoryOfAProgramIsThatOfAllItsProcesses(t *testing.T) {
	installPrograms(t, map[string]string{"one": "sleep 1000 >&- 2>&- &\n" + lists})
	page := filepath.Join(t.TempDir(), "page.md")
	must.Succeed(t, os.WriteFile(page, []byte("<!-- begin memory -->\n<!-- end memory -->\n"), 0o600))
	folder := writeRecipes(t)
	must.Succeed(t, errors.Join(os.Mkdir(filepath.Join(folder, measured[0]), 0o700), os.WriteFile(filepath.Join(folder, measured[0], "recipe.json"),
		bytes.ReplaceAll(must.Value(os.ReadFile(filepath.Join(folder, "one", "recipe.json")))(t), []byte(`"id": "one"`), []byte(`"id": "`+measured[0]+`"`)), 0o600)))
	var out strings.Builder
	must.Succeed(t, run(t.Context(), []string{"--dir", folder, "--memory", page, "--settle", "0s"}, &out, io.Discard))
	got := string(must.Value(os.ReadFile(page))(t))
	if !regexp.MustCompile(`\| sum of 1 (\| \d+ ){5}\|\n\nOf the private memory with npx, node takes \d+\.\d\d, and a second one \d+\.\d\d\.\n`).MatchString(got) {
		t.Error(got)
	}
}

func TestEachProgramThatIsMeasuredIsShipped(t *testing.T) {
	recipes := must.Value(read(filepath.Join("..", "..", "config", "recipes"), measured))(t)
	for _, r := range recipes {
		if r.Install == nil || r.Install.Method != "npx" {
			t.Errorf("%s is no program of npm", r.ID)
		}
	}
}

func TestTheLastWordsAreThoseThatSayWhatIsWrong(t *testing.T) {
	for want, log := range map[string]string{
		"Error: no key":        "starting\nfile:///x/y.js:3\n    throw new Error(\n    ^\n\nError: no key\n    at x\n\nNode.js v22.23.3\n",
		"Error: no token":      `{"level":"ERROR","msg":"no token"}` + "\nError details:\n",
		"TOKEN is required":    "\x1b[31mTOKEN is required\x1b[0m\nSee https://example.com\n",
		"Usage: one --key KEY": "Usage: one --key KEY\n",
		"":                     "\n  at main\n}\n",
	} {
		if got := lastWords(log); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestMemoryIsThePrivatePagesOfAProcess(t *testing.T) {
	got := must.Value(parseRollup("00400000-7ff 00:00 0 [rollup]\nRss:  10 kB\nPss:  7 kB\nShared_Clean: 4 kB\nPrivate_Clean:  1 kB\nPrivate_Dirty:  5 kB\n"))(t)
	if want := (memory{private: 6 << 10, resident: 10 << 10}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

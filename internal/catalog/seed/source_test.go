// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// layout makes files below a folder. A content that begins with -> is a link,
// and one that is | a pipe.
func layout(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		target, link := strings.CutPrefix(content, "->")
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, path)
		case content == "|":
			err = syscall.Mkfifo(path, 0o600)
		default:
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// filesIn returns what a source has, as path=content or path!problem.
func filesIn(t *testing.T, s Source) ([]string, error) {
	t.Helper()
	var got []string
	err := s.Each(t.Context(), func(f File) {
		switch {
		case f.Problem != "":
			got = append(got, f.Path+" of "+f.Name+"!")
		default:
			got = append(got, f.Path+" of "+f.Name+"="+string(f.Content))
		}
	})
	return got, err
}

func mustParseSource(t *testing.T, place string, o Options) Source {
	t.Helper()
	return must.Value(ParseSource(place, o))(t)
}

func TestADirectoryHasRecipes(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"in folders, with other things beside them": {
			map[string]string{"notes/recipe.json": "a", "notes/README.md": "x", "sql/server.json": "b", "docs/index.md": "x", "README.md": "x", "Makefile": "x", ".git/recipe.json": "x"},
			[]string{"notes/recipe.json of notes=a", "sql/server.json of sql=b"},
		},
		"as files": {
			map[string]string{"notes.json": "a", "sql.json": "b", "package.lock.json": "x", "x.json/recipe.json": "x"},
			[]string{"notes.json of notes=a", "sql.json of sql=b"},
		},
		"in both forms": {
			map[string]string{"notes.json": "a", "notes/recipe.json": "b", "notes/server.json": "c"},
			[]string{"notes/recipe.json of notes=b", "notes/server.json of notes=c", "notes.json of notes=a"},
		},
		"in a mounted ConfigMap, as it is now": {
			map[string]string{
				"..2026_02/notes.json": "new", "..2026_01/notes.json": "old", "..data": "->..2026_02", "notes.json": "->..data/notes.json",
				"gone.json": "->..data/gone.json",
			},
			[]string{"notes.json of notes=new"},
		},
		"behind links within it": {
			map[string]string{"notes": "->kept/notes", "kept/notes/recipe.json": "a", "sql.json": "->kept/sql", "kept/sql": "b"},
			[]string{"notes/recipe.json of notes=a", "sql.json of sql=b"},
		},
		"behind links out of it, which are not followed": {
			map[string]string{"passwd.json": "->/etc/passwd", "notes/recipe.json": "->../../../../../../etc/passwd", "etc": "->/etc", "good.json": "g"},
			[]string{"etc of etc!", "good.json of good=g", "notes/recipe.json of notes!", "passwd.json of passwd!"},
		},
		"beside what is no file": {
			map[string]string{"pipe.json": "|", "good.json": "g"},
			[]string{"good.json of good=g", "pipe.json of pipe!"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			layout(t, dir, tt.files)
			got := must.Value(filesIn(t, mustParseSource(t, "dir:"+dir, Options{})))(t)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestADirectoryThatIsNotMountedIsAnError(t *testing.T) {
	empty := t.TempDir()
	layout(t, empty, map[string]string{"README.md": "x", "docs/x.md": "x"})
	dangling := t.TempDir()
	layout(t, dangling, map[string]string{"..data": "->..gone", "good.json": "g"})
	for place, want := range map[string]string{
		"dir:" + empty: "there is no recipe in it", "dir:" + filepath.Join(empty, "none"): "no such file",
		"dir:" + filepath.Join(empty, "README.md"): "not a directory", "dir:" + dangling: "..data is a link to nothing",
	} {
		got, err := filesIn(t, mustParseSource(t, place, Options{}))
		if err == nil || !strings.Contains(err.Error(), want) || len(got) > 0 {
			t.Errorf("%s: %q, %v, want %q", place, got, err, want)
		}
	}
}

func TestALongFileIsReadAsFarAsARecipeMayGo(t *testing.T) {
	dir := t.TempDir()
	layout(t, dir, map[string]string{"long.json": strings.Repeat("x", recipe.MaxBytes+100)})
	must.Succeed(t, mustParseSource(t, "dir:"+dir, Options{}).Each(t.Context(), func(f File) {
		if len(f.Content) != recipe.MaxBytes+1 {
			t.Errorf("%d bytes", len(f.Content))
		}
	}))
}

// endless is a tree of any number of files.
type endless struct{ files, size int }

func (e endless) list() ([]node, error) {
	nodes := make([]node, e.files)
	for i := range nodes {
		nodes[i].name = "notes.json"
	}
	return nodes, nil
}

func (e endless) read(string) ([]byte, error) { return make([]byte, e.size), nil }

func TestASourceIsBounded(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx  context.Context
		tree endless
		want string
	}{
		"as many as there may be": {t.Context(), endless{maxFiles, 0}, ""},
		"one more":                {t.Context(), endless{maxFiles + 1, 0}, "more than 20000 recipes"},
		"as much as there may be": {t.Context(), endless{64, 1 << 20}, ""},
		"too much":                {t.Context(), endless{65, 1 << 20}, "more than 67108864 bytes"},
		"nobody waits any more":   {ended, endless{1, 0}, "context canceled"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := each(tt.ctx, tt.tree, func(File) {})
			if got := errorText(err); !strings.Contains(got, tt.want) || (tt.want == "") != (err == nil) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestPlacesOfSources(t *testing.T) {
	const archive, sum = "archive:https://git.example/r.tar.gz", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for place, want := range map[string]string{
		"dir:/recipes": "", "dir:/recipes/": "dir:/recipes", archive: "", archive + "#servers": "", archive + "#servers@" + sum: "", archive + "#@" + sum: "",
		archive + "#/servers/": archive + "#servers", archive + "#": archive, archive + "#/": archive, archive + "?sha=v1&token=x#servers": archive + "?...#servers",
	} {
		if want == "" {
			want = place
		}
		s, err := ParseSource(place, Options{})
		if err != nil {
			t.Errorf("%s: %v", place, err)
		} else if s.String() != want {
			t.Errorf("%s is %s, want %s", place, s, want)
		}
	}
	if s, err := ParseSource("none", Options{}); s != nil || err != nil {
		t.Errorf("none: %v, %v", s, err)
	}
	for _, place := range []string{
		"", "dir", "dir:", "dir:recipes", "none:x", "oci:x", "archive:", "archive:git@git.example:r", "archive:ssh://git.example/r", "archive:http://git.example/r",
		"archive:https://", "archive:file:///etc", archive + "#../..", "archive:https://git.example/%zz",
		archive + "#@", archive + "#@sha256:12", archive + "#@md5:d41d8cd98f00b204e9800998ecf8427e", archive + "#servers@main",
	} {
		if s, err := ParseSource(place, Options{}); err == nil || !strings.Contains(err.Error(), "dir:/path") && !strings.Contains(err.Error(), "leads out") {
			t.Errorf("%q: %v, %v", place, s, err)
		}
	}
	for _, place := range []string{"archive:https://me:hunter2@git.example/r", "archive:https://me:hunter2@git.example/%zz", "git:https://me:hunter2@git.example/r"} {
		if _, err := ParseSource(place, Options{}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a password in the URL: %v", err)
		}
	}
}

func TestAGitRepositoryIsRefusedWithTheFormToWrite(t *testing.T) {
	for _, place := range []string{"git:", "git:https://git.example/r", "git:https://git.example/r#main:servers"} {
		_, err := ParseSource(place, Options{})
		if text := errorText(err); !strings.Contains(text, "git:URL is not supported: write archive:URL") {
			t.Errorf("%s: %q", place, text)
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// commitHeader is the first entry of an archive that git makes of a commit.
var commitHeader = tar.Header{
	Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header",
	PAXRecords: map[string]string{"comment": "25f1a6e1a4d9e8e3b14f7fca0b3f5e0b3a2f1c0d"},
}

// fileIn returns the header of a file. A content that begins with -> is a link, and
// one that is | a pipe. A name that ends in / is a folder, as a submodule is.
func fileIn(name, content string) (tar.Header, string) {
	target, link := strings.CutPrefix(content, "->")
	switch {
	case strings.HasSuffix(name, "/"):
		return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o775}, ""
	case link:
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}, ""
	case content == "|":
		return tar.Header{Typeflag: tar.TypeFifo, Name: name}, ""
	}
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o664}, content
}

// packed returns a .tar.gz archive of names and contents, in turn.
func packed(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := must.Value(gzip.NewWriterLevel(&b, gzip.BestSpeed))(t)
	w := tar.NewWriter(zip)
	header := commitHeader
	must.Succeed(t, w.WriteHeader(&header))
	for i := 0; i < len(files); i += 2 {
		h, content := fileIn(files[i], files[i+1])
		must.Succeed(t, w.WriteHeader(&h))
		must.Value(w.Write([]byte(content)))(t)
	}
	must.Succeed(t, w.Close())
	must.Succeed(t, zip.Close())
	return b.Bytes()
}

// zipped returns bytes in the form of gzip, at a level of compression.
func zipped(t *testing.T, level int, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := must.Value(gzip.NewWriterLevel(&b, level))(t)
	must.Value(w.Write(content))(t)
	must.Succeed(t, w.Close())
	return b.Bytes()
}

// serve returns a server that answers all requests in one way, and the source of
// an archive there.
func serve(t *testing.T, answer http.HandlerFunc) (*httptest.Server, func(after, tokenFile string) Source) {
	t.Helper()
	s := httptest.NewTLSServer(answer)
	t.Cleanup(s.Close)
	return s, func(after, tokenFile string) Source {
		return mustParseSource(t, "archive:"+s.URL+"/archive/main.tar.gz"+after, Options{TokenFile: tokenFile, Transport: s.Client().Transport})
	}
}

// sent returns what a source has whose server sends an archive.
func sent(t *testing.T, archive []byte, after string) ([]string, error) {
	t.Helper()
	_, source := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
	return filesIn(t, source(after, ""))
}

func TestAnArchiveHasRecipes(t *testing.T) {
	all := packed(t,
		"recipes-25f1a6e/", "", "recipes-25f1a6e/README.md", "x", "recipes-25f1a6e/flat.json", "c", "recipes-25f1a6e/folder", "->servers",
		"recipes-25f1a6e/linked.json", "->/etc/passwd", "recipes-25f1a6e/makefile", "x", "recipes-25f1a6e/module/", "", "recipes-25f1a6e/pipe.json", "|",
		"recipes-25f1a6e/deep/down/recipes/git.json", "d", "recipes-25f1a6e/servers-old/notes/recipe.json", "old",
		"recipes-25f1a6e/servers/", "", "recipes-25f1a6e/servers/sql/server.json", "b", "recipes-25f1a6e/servers/sql/recipe.json", "->../../flat.json",
		"recipes-25f1a6e/servers/notes/", "", "recipes-25f1a6e/servers/notes/recipe.json", "a", "recipes-25f1a6e/servers/notes/lib/recipe.json", "x",
		"recipes-25f1a6e/servers/xx.json/", "", "recipes-25f1a6e/servers/yy/recipe.json/", "")
	servers := []string{"notes/recipe.json of notes=a", "sql/recipe.json of sql!", "sql/server.json of sql=b", "yy/recipe.json of yy!"}
	tests := map[string]struct {
		archive []byte
		after   string
		want    []string
	}{
		"at its top":               {all, "", []string{"flat.json of flat=c", "folder of folder!", "linked.json of linked!", "pipe.json of pipe!"}},
		"in a folder":              {all, "#servers", servers},
		"in a folder with slashes": {all, "#/servers/", servers},
		"in a deep folder without entries of its own": {all, "#deep/down/recipes", []string{"git.json of git=d"}},
		"of the configured digest":                    {all, "#servers@" + digest.FromBytes(all).String(), servers},
		"behind a query":                              {all, "?sha=main#servers", servers},
		"of tar, with ./ in front":                    {packed(t, "./", "", "./r/", "", "./r/notes.json", "a"), "", []string{"notes.json of notes=a"}},
		"that is there twice, as it was last":         {packed(t, "r/notes.json", "a", "r/notes.json", "b"), "", []string{"notes.json of notes=b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := must.Value(sent(t, tt.archive, tt.after))(t)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnArchiveThatCannotBeUsedIsAnError(t *testing.T) {
	good := packed(t, "r/notes.json", "a", "r/deep/x/y", "z", "r/link", "->deep", "r/long.json", strings.Repeat("x", 10<<10))
	other := digest.FromString("other").String()
	var many []string
	for i := range maxTotal/recipe.MaxBytes + 1 {
		many = append(many, fmt.Sprintf("r/n-%d.json", i), strings.Repeat("\x00", recipe.MaxBytes))
	}
	tests := map[string]struct {
		archive     []byte
		after, want string
	}{
		"a folder that is missing":    {good, "#nothing", "the archive has no folder nothing"},
		"a folder that is a file":     {good, "#notes.json", "the archive has no folder notes.json"},
		"a folder that is a link":     {good, "#link", "the archive has no folder link"},
		"a folder without recipes":    {good, "#deep", "there is no recipe in it"},
		"nothing in it":               {packed(t), "", "there is no recipe in it"},
		"another digest":              {good, "#@" + other, "has the digest " + digest.FromBytes(good).String()},
		"two folders at the top":      {packed(t, "notes/recipe.json", "a", "sql/recipe.json", "b"), "", `"sql" is at the top of the archive: put everything into one folder`},
		"a file at the top":           {packed(t, "notes.json", "a"), "", `"notes.json" is at the top`},
		"a path out of it":            {packed(t, "r/../../notes.json", "a"), "", "invalid path"},
		"a path from the root":        {packed(t, "/r/notes.json", "a"), "", "invalid path"},
		"a page in its place":         {[]byte("<html>Sign in"), "", "the server sent no .tar.gz archive, but possibly a page for a login"},
		"no bytes":                    {nil, "", "the server sent no .tar.gz archive"},
		"compressed, but no archive":  {zipped(t, gzip.BestSpeed, bytes.Repeat([]byte("x"), 1024)), "", "read the archive"},
		"cut off":                     {good[:len(good)-20], "", "unexpected EOF"},
		"cut off in the checksum":     {good[:len(good)-1], "", "unexpected EOF"},
		"with something after it":     {append(bytes.Clone(good), "x"...), "", "read the archive"},
		"more bytes than may be sent": {zipped(t, gzip.NoCompression, make([]byte, maxTransfer)), "", "the archive has more than 50331648 bytes"},
		"zeros without end in a file": {packed(t, "r/zeros", strings.Repeat("\x00", maxUnpacked)), "", "more than 134217728 bytes when it is unpacked"},
		"zeros without end after it":  {append(bytes.Clone(good), zipped(t, gzip.BestSpeed, make([]byte, maxUnpacked))...), "", "more than 134217728 bytes when it is unpacked"},
		"too many bytes of recipes":   {packed(t, many...), "", "its recipes have more than 67108864 bytes together"},
		"a long name, which is cut":   {packed(t, strings.Repeat("x", 5000), ""), "", `xxx" is at the top`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := sent(t, tt.archive, tt.after)
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(got) > 0 || len(err.Error()) > 2*maxErrorText {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestATokenOpensAnArchive(t *testing.T) {
	const token = "t0ken-t0ken"
	archive := packed(t, "r/notes.json", "a")
	var want string
	_, source := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != want {
			http.Error(w, "not with "+got, http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(archive)
	})
	basic := httptest.NewRequest(http.MethodGet, "/", nil)
	basic.SetBasicAuth("me@example.com", token)
	dir := t.TempDir()
	layout(t, dir, map[string]string{"token": token + "\n", "named": "me@example.com:" + token, "wrong": "wr0ng-wr0ng", "empty": "\n", "half": "deploy:"})
	tests := map[string]struct{ header, file, want string }{
		"alone":             {"Bearer " + token, "token", ""},
		"with its user":     {basic.Header.Get("Authorization"), "named", ""},
		"that is wrong":     {"Bearer " + token, "wrong", "401: it needs a token, or the token does not open the archive"},
		"that is empty":     {"", "empty", "is empty"},
		"a user without it": {"", "half", "is empty"},
		"that is not there": {"", "none", "no such file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want = tt.header
			got, err := filesIn(t, source("", filepath.Join(dir, tt.file)))
			if text := errorText(err); !strings.Contains(text, tt.want) || (tt.want == "") != (err == nil) || (err == nil) != (len(got) == 1) {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			} else if strings.Contains(text, token) || strings.Contains(text, "wr0ng") {
				t.Errorf("the error has a token: %s", text)
			}
		})
	}
	want = "Bearer " + token
	if _, err := filesIn(t, source("", "")); err == nil {
		t.Error("the archive is open without a token")
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "wrong"), []byte(token), 0o600))
	if _, err := filesIn(t, source("", filepath.Join(dir, "wrong"))); err != nil {
		t.Errorf("a token that was replaced: %v", err)
	}
}

func TestATokenStaysWithItsHost(t *testing.T) {
	archive := packed(t, "r/notes.json", "a")
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" {
			t.Errorf("the other host got %v", r.Header)
		}
		_, _ = w.Write(archive)
	}))
	defer other.Close()
	var to string
	s, source := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s has no token", r.URL)
		}
		if r.URL.Path == "/moved" {
			_, _ = w.Write(archive)
			return
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	token := filepath.Join(t.TempDir(), "token")
	must.Succeed(t, os.WriteFile(token, []byte("secret"), 0o600))
	for name, tt := range map[string]struct{ to, want string }{
		"the same host":          {"/moved", ""},
		"another host":           {other.URL + "/recipes/legacy.tar.gz/main?token=TEMPORARY", ""},
		"no TLS":                 {"http://" + s.Listener.Addr().String() + "/moved?token=TEMPORARY", `the server redirects from https to "http"`},
		"a file":                 {"file:///etc/passwd", `the server redirects from https to "file"`},
		"a host that is away":    {"https://127.0.0.1:1/?token=TEMPORARY", "connection refused"},
		"itself, without an end": {"/archive/main.tar.gz?token=TEMPORARY", "the server redirects more than 5 times"},
	} {
		to = tt.to
		got, err := filesIn(t, source("", token))
		if text := errorText(err); !strings.Contains(text, tt.want) || (tt.want == "") != (err == nil) || (err == nil) != (len(got) == 1) || strings.Contains(text, "TEMPORARY") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
		}
	}
}

func TestARedirectTakesTheTokenToNoOtherHost(t *testing.T) {
	const from = "https://git.example.com/r.tar.gz"
	tests := map[string]struct {
		hosts []string
		kept  bool
	}{
		"the same host":                    {[]string{from, "https://git.example.com/moved.tar.gz"}, true},
		"a subdomain":                      {[]string{from, "https://codeload.git.example.com/r.tar.gz"}, false},
		"another port":                     {[]string{from, "https://git.example.com:8443/r.tar.gz"}, false},
		"a host with the same beginning":   {[]string{from, "https://git.example.com.evil.net/r.tar.gz"}, false},
		"the same host, after another one": {[]string{from, "https://evil.net/r.tar.gz", "https://git.example.com/other.tar.gz"}, false},
	}
	for name, tt := range tests {
		var via []*http.Request
		for i, to := range tt.hosts {
			r := httptest.NewRequest(http.MethodGet, to, http.NoBody)
			r.Header.Set("Authorization", "Bearer secret") // As net/http does for a subdomain.
			if i > 0 {
				must.Succeed(t, checkRedirect(r, via))
			}
			via = append(via, r)
		}
		if kept := via[len(via)-1].Header.Get("Authorization") != ""; kept != tt.kept {
			t.Errorf("%s: the token is sent: %t", name, kept)
		}
	}
}

func TestAServerThatFailsIsReportedInShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for status, want := range map[int]string{
		http.StatusNotFound: "404: there is no such archive, or it needs a token", http.StatusForbidden: "403: it needs a token",
		http.StatusBadGateway: "the server answers 502", http.StatusNoContent: "the server answers 204", http.StatusOK: "no .tar.gz archive",
	} {
		_, source := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(long))
		})
		_, err := filesIn(t, source("?private=TEMPORARY", ""))
		if text := errorText(err); !strings.Contains(text, want) || len(text) > maxErrorText || strings.Contains(text, "TEMPORARY") {
			t.Errorf("%d: %.2000s", status, text)
		}
	}
}

func TestAServerThatHangsIsLeft(t *testing.T) {
	archive := packed(t, "r/notes.json", "a")
	for name, begin := range map[string][]byte{"before the archive": nil, "within the archive": archive[:len(archive)/2]} {
		ctx, cancel := context.WithCancel(t.Context())
		_, source := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(begin)
			_ = http.NewResponseController(w).Flush()
			cancel()
			<-r.Context().Done()
		})
		if err := source("", "").Each(ctx, func(File) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server may say that a .tar.gz is a compressed .tar.
func TestACompressedTransferIsTheArchiveItself(t *testing.T) {
	archive := packed(t, "r/notes.json", "a")
	_, source := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("it asks for %q", got)
		}
		w.Header().Set("Content-Encoding", "x-gzip")
		_, _ = w.Write(archive)
	})
	if got := must.Value(filesIn(t, source("", "")))(t); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

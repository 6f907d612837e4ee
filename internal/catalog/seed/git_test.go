// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestARepositoryHasRecipes(t *testing.T) {
	g := newGitServer(t)
	old := g.commit(map[string]string{"notes.json": "old"}, "refs/heads/old", "refs/tags/v1", "refs/heads/both")
	g.refs["refs/tags/annotated"] = g.store(&object.Tag{
		Name: "annotated", Target: old, TargetType: plumbing.CommitObject, Message: "m",
	})
	g.refs["refs/tags/both"] = g.commit(map[string]string{"tag.json": "x"})
	hidden := g.commit(map[string]string{"hidden.json": "h"})
	g.commit(map[string]string{
		"servers/notes/recipe.json": "a", "servers/sql/server.json": "b", "servers/README.md": "x", "flat.json": "c",
		"linked.json": "->/etc/passwd", "folder": "->servers", "servers/sql/recipe.json": "->../../flat.json",
		"module": "@" + old.String(), "deep/down/recipes/git.json": "d",
	}, "refs/heads/main")
	g.capabilities = []capability.Capability{capability.AllowReachableSHA1InWant}
	top := []string{"flat.json of flat=c", "folder of folder!", "linked.json of linked!"}
	oldest := []string{"notes.json of notes=old"}
	for fragment, want := range map[string][]string{
		"": top, "#main": top, "#refs/heads/main": top, "#main:": top,
		"#:servers":           {"notes/recipe.json of notes=a", "sql/recipe.json of sql!", "sql/server.json of sql=b"},
		"#main:servers/":      {"notes/recipe.json of notes=a", "sql/recipe.json of sql!", "sql/server.json of sql=b"},
		"#:deep/down/recipes": {"git.json of git=d"},
		"#old":                oldest, "#v1": oldest, "#annotated": oldest, "#both": oldest, "#" + old.String(): oldest,
		"#" + hidden.String(): {"hidden.json of hidden=h"},
	} {
		got, err := filesIn(t, g.source(t, fragment, ""))
		if err != nil {
			t.Errorf("%s: %v", fragment, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fragment, diff)
		}
	}
	g.capabilities = nil
	for fragment, want := range map[string]string{
		"#nothing":            `no branch and no tag "nothing"`,
		"#main:nothing":       "has no folder nothing",
		"#main:flat.json":     "has no folder flat.json",
		"#" + hidden.String(): "by their branch or tag alone",
		"#main:deep":          "there is no recipe in it",
	} {
		got, err := filesIn(t, g.source(t, fragment, ""))
		if err == nil || !strings.Contains(err.Error(), want) || len(got) > 0 {
			t.Errorf("%s: %q, %v, want %q", fragment, got, err, want)
		}
	}
}

func TestOneCommitIsAskedFor(t *testing.T) {
	g := newGitServer(t)
	g.commit(map[string]string{"notes.json": "a"}, "refs/heads/main")
	g.capabilities = []capability.Capability{capability.Shallow, capability.Filter}
	var asked string
	g.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			b, _ := io.ReadAll(r.Body)
			asked = string(b)
			r.Body = io.NopCloser(bytes.NewReader(b))
		}
		return false
	}
	if got, err := filesIn(t, g.source(t, "", "")); err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	for _, want := range []string{"deepen 1", "filter blob:limit=262145"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the request lacks %q: %q", want, asked)
		}
	}
}

func TestATokenOpensARepository(t *testing.T) {
	const token = "t0ken-t0ken"
	g := newGitServer(t)
	g.commit(map[string]string{"notes.json": "a"}, "refs/heads/main")
	g.token = token
	dir := t.TempDir()
	layout(t, dir, map[string]string{"token": token + "\n", "named": "deploy:" + token, "wrong": "wr0ng-wr0ng", "empty": "\n"})
	tests := map[string]struct{ user, file, want string }{
		"alone":             {defaultUser, "token", ""},
		"with its user":     {"deploy", "named", ""},
		"that is wrong":     {defaultUser, "wrong", "the server wants a token, or does not know this one"},
		"that is empty":     {defaultUser, "empty", "is empty"},
		"that is not there": {defaultUser, "none", "no such file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g.user = tt.user
			got, err := filesIn(t, g.source(t, "", filepath.Join(dir, tt.file)))
			if text := errorText(err); !strings.Contains(text, tt.want) || (tt.want == "") != (err == nil) || (err == nil) != (len(got) == 1) {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			} else if strings.Contains(text, token) || strings.Contains(text, "wr0ng") || strings.Contains(text, "Basic") {
				t.Errorf("the error has a token: %s", text)
			}
		})
	}
	if _, err := filesIn(t, g.source(t, "", "")); err == nil {
		t.Error("the repository is open without a token")
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "wrong"), []byte(token), 0o600))
	g.user = defaultUser
	if _, err := filesIn(t, g.source(t, "", filepath.Join(dir, "wrong"))); err != nil {
		t.Errorf("a token that was replaced: %v", err)
	}
}

func TestAnotherHostIsNotFollowed(t *testing.T) {
	other := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host got %s with the credentials %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	g := newGitServer(t)
	g.commit(map[string]string{"notes.json": "a"}, "refs/heads/main")
	token := filepath.Join(t.TempDir(), "token")
	must.Succeed(t, os.WriteFile(token, []byte("secret"), 0o600))
	for name, to := range map[string]string{
		"another host": other.URL + "/r.git/info/refs?service=git-upload-pack",
		"no TLS":       "http://" + g.Listener.Addr().String() + "/r.git/info/refs?service=git-upload-pack",
	} {
		g.before = func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, to, http.StatusMovedPermanently)
			return true
		}
		for _, file := range []string{token, ""} {
			if got, err := filesIn(t, g.source(t, "", file)); err == nil {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	asked := 0
	g.before = func(w http.ResponseWriter, r *http.Request) bool {
		asked++
		http.Redirect(w, r, "/r.git/info/refs?service=git-upload-pack", http.StatusFound)
		return true
	}
	if got, err := filesIn(t, g.source(t, "", token)); err == nil || !strings.Contains(err.Error(), "more than 5 times") || asked != maxRedirects+1 {
		t.Errorf("redirects in a circle, of which %d were followed: %q, %v", asked-1, got, err)
	}
	moved := func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/r.git") {
			http.Redirect(w, r, strings.Replace(r.URL.String(), "/r.git", "/moved.git", 1), http.StatusMovedPermanently)
			return true
		}
		return false
	}
	g.before = moved
	if got, err := filesIn(t, g.source(t, "", token)); err != nil || len(got) != 1 {
		t.Errorf("a repository that moved on its host: %q, %v", got, err)
	}
}

func TestARedirectKeepsTheSchemeAndTheHost(t *testing.T) {
	for to, followed := range map[string]bool{
		"https://git.example.com/moved.git":      true,
		"http://git.example.com/r.git":           false,
		"https://git.example.com:8443/r.git":     false,
		"https://git.example.com.evil.net/r.git": false,
	} {
		from, next := httptest.NewRequest(http.MethodGet, "https://git.example.com/r.git", nil), httptest.NewRequest(http.MethodGet, to, nil)
		if err := newHTTPClient(nil).CheckRedirect(next, []*http.Request{from}); (err == nil) != followed {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestAServerThatFailsIsToldOfBriefly(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	tests := map[string]struct {
		status int
		want   string
	}{
		"not found": {http.StatusNotFound, "no such repository"}, "forbidden": {http.StatusForbidden, "does not open"},
		"broken": {http.StatusBadGateway, "502"}, "another page": {http.StatusOK, "branches and tags"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := newGitServer(t)
			g.before = func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(tt.status)
				w.Write([]byte(long))
				return true
			}
			_, err := filesIn(t, g.source(t, "", ""))
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 1024 {
				t.Errorf("%.2000v", err)
			}
		})
	}
}

func TestAnEmptyRepositoryIsAnError(t *testing.T) {
	g := newGitServer(t)
	if _, err := filesIn(t, g.source(t, "", "")); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Error(err)
	}
}

func TestAServerThatHangsIsLeft(t *testing.T) {
	g := newGitServer(t)
	g.commit(map[string]string{"notes.json": "a"}, "refs/heads/main")
	ctx, cancel := context.WithCancel(t.Context())
	g.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			return false
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
		return true
	}
	if err := g.source(t, "", "").Each(ctx, func(File) {}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// packed returns a pack of one object, which says that it is of a length.
func packed(t *testing.T, kind plumbing.ObjectType, length uint64, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("PACK")
	_ = binary.Write(&b, binary.BigEndian, []uint32{2, 1})
	first := byte(kind)<<4 | byte(length&0xf)
	length >>= 4
	for length > 0 {
		b.WriteByte(first | 0x80)
		first = byte(length & 0x7f)
		length >>= 7
	}
	b.WriteByte(first)
	if kind == plumbing.REFDeltaObject {
		b.Write(make([]byte, 20))
	}
	w := zlib.NewWriter(&b)
	must.Value(w.Write(content))(t)
	must.Succeed(t, w.Close())
	sum := sha1.Sum(b.Bytes())
	return append(b.Bytes(), sum[:]...)
}

func TestAPackThatGrowsIsRefused(t *testing.T) {
	zeros := make([]byte, 1<<20)
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, 10), maxInflated+1)
	tests := map[string]struct {
		pack []byte
		want string
	}{
		"an object that says how long it is": {packed(t, plumbing.BlobObject, maxInflated+1, zeros), errTooLarge.Error()},
		"one that says too little":           {packed(t, plumbing.BlobObject, 10, zeros), "inflated"},
		"a delta of much":                    {packed(t, plumbing.REFDeltaObject, uint64(len(delta)), delta), errTooLarge.Error()},
		"a delta of nothing":                 {packed(t, plumbing.REFDeltaObject, 0, nil), "a delta that is none"},
		"any number of objects":              {[]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"), "more than 200000 objects"},
		"half a pack":                        {packed(t, plumbing.BlobObject, 1<<20, zeros)[:30], "read the pack"},
		"no pack":                            {[]byte("PUCK\x00\x00\x00\x02\x00\x00\x00\x01"), "read the pack"},
		"more than may be sent":              {make([]byte, maxTransfer+1), "the server sends more than"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := newGitServer(t)
			g.commit(map[string]string{"notes.json": "a"}, "refs/heads/main")
			g.pack = tt.pack
			got, err := filesIn(t, g.source(t, "", ""))
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(got) > 0 {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/revlist"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// gitServer is a repository that is served over HTTPS.
type gitServer struct {
	*httptest.Server

	t       *testing.T
	objects *memory.Storage
	refs    map[string]plumbing.Hash
	head    plumbing.Hash
	// capabilities are those that the server says it has.
	capabilities []capability.Capability
	// user and token are asked for if there is a token.
	user, token string
	// pack is sent instead of the objects, if there is one.
	pack []byte
	// before is called for each request, and answers it if it returns true.
	before func(w http.ResponseWriter, r *http.Request) bool
}

func newGitServer(t *testing.T) *gitServer {
	t.Helper()
	g := &gitServer{t: t, objects: memory.NewStorage(), refs: map[string]plumbing.Hash{}}
	g.Server = httptest.NewTLSServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.Close)
	return g
}

// source returns the source of a part of the repository.
func (g *gitServer) source(t *testing.T, fragment, tokenFile string) Source {
	t.Helper()
	transport := g.Client().Transport
	return mustParseSource(t, "git:"+g.URL+"/r.git"+fragment, Options{TokenFile: tokenFile, Transport: transport})
}

func (g *gitServer) store(o object.Object) plumbing.Hash {
	g.t.Helper()
	e := g.objects.NewEncodedObject()
	must.Succeed(g.t, o.Encode(e))
	return g.keep(e)
}

func (g *gitServer) keep(e plumbing.EncodedObject) plumbing.Hash {
	g.t.Helper()
	return must.Value(g.objects.SetEncodedObject(e))(g.t)
}

func (g *gitServer) blob(content string) plumbing.Hash {
	g.t.Helper()
	e := g.objects.NewEncodedObject()
	e.SetType(plumbing.BlobObject)
	w, err := e.Writer()
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	return g.keep(e)
}

// tree keeps files as layout does; a content that begins with @ is a submodule.
func (g *gitServer) tree(files map[string]string) plumbing.Hash {
	g.t.Helper()
	tree, folders := &object.Tree{}, map[string]map[string]string{}
	for path, content := range files {
		name, rest, below := strings.Cut(path, "/")
		if below {
			if folders[name] == nil {
				folders[name] = map[string]string{}
			}
			folders[name][rest] = content
			continue
		}
		entry := object.TreeEntry{Name: name, Mode: filemode.Regular}
		switch target, link := strings.CutPrefix(content, "->"); {
		case link:
			entry.Mode, entry.Hash = filemode.Symlink, g.blob(target)
		case strings.HasPrefix(content, "@"):
			entry.Mode, entry.Hash = filemode.Submodule, plumbing.NewHash(content[1:])
		default:
			entry.Hash = g.blob(content)
		}
		tree.Entries = append(tree.Entries, entry)
	}
	for name, below := range folders {
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: g.tree(below)})
	}
	slices.SortFunc(tree.Entries, func(a, b object.TreeEntry) int { return cmp.Compare(sortKey(a), sortKey(b)) })
	return g.store(tree)
}

func sortKey(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

// commit keeps a commit of files and names it by refs.
func (g *gitServer) commit(files map[string]string, refs ...string) plumbing.Hash {
	g.t.Helper()
	who := object.Signature{Name: "a", Email: "a@git.example", When: time.Unix(0, 0).UTC()}
	hash := g.store(&object.Commit{Author: who, Committer: who, Message: "m", TreeHash: g.tree(files)})
	for _, ref := range refs {
		g.refs[ref] = hash
	}
	g.head = hash
	return hash
}

func (g *gitServer) serve(w http.ResponseWriter, r *http.Request) {
	if g.before != nil && g.before(w, r) {
		return
	}
	if user, token, _ := r.BasicAuth(); g.token != "" && (user != g.user || token != g.token) {
		http.Error(w, "not with "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/info/refs") {
		g.advertise(w)
		return
	}
	body, _ := io.ReadAll(r.Body)
	want := regexp.MustCompile(`want ([0-9a-f]{40})`).FindSubmatch(body)
	if want == nil {
		http.Error(w, "nothing is wanted", http.StatusBadRequest)
		return
	}
	if strings.Contains(string(body), "deepen") {
		fmt.Fprintf(w, "0034shallow %s0000", want[1])
	}
	io.WriteString(w, "0008NAK\n")
	if g.pack != nil {
		w.Write(g.pack)
		return
	}
	hashes, err := revlist.Objects(g.objects, []plumbing.Hash{plumbing.NewHash(string(want[1]))}, nil)
	if err == nil {
		_, err = packfile.NewEncoder(w, g.objects, false).Encode(hashes, 10)
	}
	if err != nil {
		g.t.Error(err)
	}
}

func (g *gitServer) advertise(w http.ResponseWriter) {
	a := packp.NewAdvRefs()
	a.Prefix = [][]byte{[]byte("# service=git-upload-pack"), nil}
	a.References = g.refs
	if !g.head.IsZero() {
		a.Head = &g.head
	}
	for _, c := range g.capabilities {
		if err := a.Capabilities.Set(c); err != nil {
			g.t.Error(err)
		}
	}
	var b bytes.Buffer
	if err := a.Encode(&b); err != nil {
		g.t.Error(err)
	}
	w.Write(b.Bytes())
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// gitTimeout is how long fetching a commit may take.
const gitTimeout = 2 * time.Minute

// defaultUser is the user beside a token: GitHub requires this one, and others
// accept any.
const defaultUser = "x-access-token"

// repository is a folder of a git repository. One commit is fetched into
// memory; there is no work tree, so no hook runs, no link is created, and
// submodules are ignored.
type repository struct {
	url, ref, dir string
	options       Options
}

// String implements Source.
func (r *repository) String() string {
	s := "git:" + r.url
	if r.ref != "" || r.dir != "." {
		s += "#" + r.ref
	}
	if r.dir != "." {
		s += ":" + r.dir
	}
	return s
}

// Each implements Source.
func (r *repository) Each(ctx context.Context, f func(File)) error {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	session, err := r.connect()
	if err != nil {
		return err
	}
	advertised, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return fmt.Errorf("ask for branches and tags: %w", plain(ctx, err))
	}
	hash, err := want(r.ref, advertised)
	if err != nil {
		return err
	}
	objects, err := fetch(ctx, session, advertised, hash)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", hash, plain(ctx, err))
	}
	top, err := treeOf(objects, hash, r.dir)
	if err != nil {
		return err
	}
	return each(ctx, gitTree{top, objects}, f)
}

func (r *repository) connect() (transport.UploadPackSession, error) {
	endpoint, err := transport.NewEndpoint(r.url)
	if err != nil {
		return nil, fmt.Errorf("read the repository's URL: %w", err)
	}
	auth, err := r.auth()
	if err != nil {
		return nil, err
	}
	return githttp.NewClient(newHTTPClient(r.options.Transport)).NewUploadPackSession(endpoint, auth)
}

// auth returns nil if there is no token.
func (r *repository) auth() (transport.AuthMethod, error) {
	if r.options.TokenFile == "" {
		return nil, nil //nolint:nilnil // A public repository needs none.
	}
	b, err := os.ReadFile(r.options.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("read the token of the recipes' repository: %w", err)
	}
	user, token, ok := strings.Cut(strings.TrimSpace(string(b)), ":")
	if !ok {
		user, token = defaultUser, user
	}
	if token == "" {
		return nil, fmt.Errorf("the token of the recipes' repository, %s, is empty", r.options.TokenFile)
	}
	return &githttp.BasicAuth{Username: user, Password: token}, nil
}

// plain replaces errors that repeat what the server wrote, of any length, and
// those that do not say that the time ran out.
func plain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for known, text := range map[error]string{
		transport.ErrAuthenticationRequired: "the server wants a token, or does not know this one",
		transport.ErrAuthorizationFailed:    "the token does not open the repository",
		transport.ErrRepositoryNotFound:     "the server has no such repository, or does not show it without a token",
		transport.ErrEmptyRemoteRepository:  "the repository is empty",
	} {
		if errors.Is(err, known) {
			return errors.New(text)
		}
	}
	return err
}

// want returns the object of a branch, a tag or a commit; an empty ref means
// the default branch. A branch comes before a tag of the same name.
func want(ref string, a *packp.AdvRefs) (plumbing.Hash, error) {
	if ref == "" {
		if a.Head == nil {
			return plumbing.ZeroHash, errors.New("the repository has no default branch: name a branch, a tag or a commit")
		}
		return *a.Head, nil
	}
	for _, prefix := range []string{"refs/heads/", "refs/tags/", ""} {
		if hash, ok := a.References[prefix+ref]; ok {
			return hash, nil
		}
	}
	if !plumbing.IsHash(ref) {
		return plumbing.ZeroHash, fmt.Errorf("the repository has no branch and no tag %.100q", ref)
	}
	hash := plumbing.NewHash(ref)
	for _, tip := range a.References {
		if tip == hash {
			return hash, nil
		}
	}
	if !a.Capabilities.Supports(capability.AllowReachableSHA1InWant) && !a.Capabilities.Supports(capability.AllowTipSHA1InWant) {
		return plumbing.ZeroHash, errors.New("the server gives commits by their branch or tag alone: name one")
	}
	return hash, nil
}

// maxPeeled is how many tags of tags are followed.
const maxPeeled = 5

// treeOf returns a folder of the commit, which an object is or is a tag of.
func treeOf(objects storer.EncodedObjectStorer, hash plumbing.Hash, dir string) (*object.Tree, error) {
	for range maxPeeled {
		tag, err := object.GetTag(objects, hash)
		if err != nil {
			break
		}
		hash = tag.Target
	}
	commit, err := object.GetCommit(objects, hash)
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", hash, err)
	}
	top, err := commit.Tree()
	if err != nil {
		return nil, fmt.Errorf("read the files of commit %s: %w", hash, err)
	}
	if dir == "." {
		return top, nil
	}
	folder, err := top.Tree(dir)
	if err != nil {
		return nil, fmt.Errorf("commit %s has no folder %s", hash, dir)
	}
	return folder, nil
}

// gitTree are the files of a commit's folder.
type gitTree struct {
	top     *object.Tree
	objects storer.EncodedObjectStorer
}

func (t gitTree) list() ([]node, error) {
	nodes := make([]node, 0, len(t.top.Entries))
	for _, e := range t.top.Entries {
		n := node{name: e.Name, folder: e.Mode == filemode.Dir}
		if e.Mode == filemode.Symlink {
			n.err = errLink
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

var errLink = errors.New("it is a link, and links of a repository are not followed")

func (t gitTree) read(path string) ([]byte, error) {
	e, err := t.top.FindEntry(path)
	switch {
	case errors.Is(err, object.ErrEntryNotFound), errors.Is(err, object.ErrDirectoryNotFound):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, err
	case e.Mode == filemode.Symlink:
		return nil, errLink
	case !e.Mode.IsFile():
		return nil, errors.New("it is not a file")
	}
	blob, err := object.GetBlob(t.objects, e.Hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		// The server was asked to leave such files out.
		return nil, fmt.Errorf("it has more than %d bytes", recipe.MaxBytes)
	}
	if err != nil {
		return nil, err
	}
	content, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(io.LimitReader(content, recipe.MaxBytes+1))
}

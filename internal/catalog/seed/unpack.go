// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

const (
	// maxTransfer is how many bytes an archive may have. One of ten thousand
	// recipes has some ten MiB.
	maxTransfer = 48 << 20
	// maxUnpacked is how many bytes it may have when it is unpacked: a few
	// compressed bytes can be any number of zeros. Only recipes stay in memory.
	maxUnpacked = 128 << 20
)

// unpack reads the whole archive, so that one that was cut off is an error.
func (a *archive) unpack(packed io.Reader) (archiveTree, error) {
	sum := digest.SHA256.Digester()
	packed = io.TeeReader(&bounded{packed, maxTransfer, fmt.Errorf("the archive has more than %d bytes", maxTransfer)}, sum.Hash())
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("the server sent no .tar.gz archive, but possibly a page for a login: %w", err)
	}
	unpacked := &bounded{unzipped, maxUnpacked, fmt.Errorf("the archive has more than %d bytes when it is unpacked", maxUnpacked)}
	files, err := a.files(tar.NewReader(unpacked))
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, unpacked); err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	if got := sum.Digest(); a.digest != "" && got != a.digest {
		return nil, fmt.Errorf("the archive has the digest %s, and not the configured one", got)
	}
	return files, nil
}

// files keeps what may be a recipe.
func (a *archive) files(t *tar.Reader) (archiveTree, error) {
	files, left := archiveTree{}, budget{files: maxFiles, bytes: maxTotal}
	top, there := "", a.dir == "."
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the archive: %w", err)
		}
		path, err := a.inside(h, &top)
		if err != nil {
			return nil, err
		}
		there = there || path != ""
		if !mayBeRecipe(path) {
			continue
		}
		if err := files.add(path, h, t, &left); err != nil {
			return nil, err
		}
	}
	if !there {
		return nil, fmt.Errorf("the archive has no folder %s", a.dir)
	}
	return files, nil
}

// inside returns an entry's path inside the folder of recipes, "." for the folder
// itself and "" for what is elsewhere. The archive has one folder at its top, whose
// name does not matter: servers put the name and the commit of a repository there.
func (a *archive) inside(h *tar.Header, top *string) (string, error) {
	name := strings.TrimSuffix(strings.TrimPrefix(h.Name, "./"), "/")
	if h.Typeflag == tar.TypeXGlobalHeader || name == "" || name == "." {
		return "", nil // git writes the commit's id into a global header.
	}
	first, rest, below := strings.Cut(name, "/")
	*top = cmp.Or(*top, first)
	switch {
	case !fs.ValidPath(name):
		return "", fmt.Errorf("the archive has an entry with the invalid path %.100q", name)
	case first != *top || !below && h.Typeflag != tar.TypeDir:
		return "", fmt.Errorf("%.100q is at the top of the archive: put everything into one folder, as tar czf recipes.tar.gz recipes does", first)
	}
	return a.below(rest, h.Typeflag), nil
}

// below returns a path of the archive's folder as a path below the folder of recipes.
func (a *archive) below(path string, kind byte) string {
	if a.dir == "." {
		return cmp.Or(path, ".")
	}
	if path == a.dir && kind == tar.TypeDir {
		return "."
	}
	inside, _ := strings.CutPrefix(path, a.dir+"/")
	if inside == path {
		return ""
	}
	return inside
}

// mayBeRecipe reports whether a path is that of a recipe, or of a folder or a link
// at the place of one.
func mayBeRecipe(path string) bool {
	first, file, below := strings.Cut(path, "/")
	return names.MatchString(strings.TrimSuffix(first, ".json")) && (!below || slices.Contains(inFolder, file))
}

// archiveTree are the entries of an archive by their paths.
type archiveTree map[string]archiveEntry

type archiveEntry struct {
	folder  bool
	content []byte
	err     error
}

var (
	errLink  = errors.New("it is a link, and links of an archive are not followed")
	errOther = errors.New("it is not a file")
)

// add keeps an entry. A file may come without its folder.
func (t archiveTree) add(path string, h *tar.Header, content io.Reader, left *budget) error {
	var e archiveEntry
	switch h.Typeflag {
	case tar.TypeDir:
		e.folder = true
	case tar.TypeSymlink, tar.TypeLink:
		e.err = errLink
	case tar.TypeReg:
		if !strings.HasSuffix(path, ".json") {
			return nil
		}
		b, err := io.ReadAll(io.LimitReader(content, recipe.MaxBytes+1))
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if err := left.take(File{Content: b}); err != nil {
			return err
		}
		e.content = b
	default:
		e.err = errOther
	}
	t[path] = e
	folder, _, below := strings.Cut(path, "/")
	if _, there := t[folder]; below && !there {
		t[folder] = archiveEntry{folder: true}
	}
	return nil
}

func (t archiveTree) list() ([]node, error) {
	var nodes []node
	for path, e := range t {
		if !strings.Contains(path, "/") {
			nodes = append(nodes, node{name: path, folder: e.folder, err: e.err})
		}
	}
	slices.SortFunc(nodes, func(a, b node) int { return cmp.Compare(a.name, b.name) })
	return nodes, nil
}

func (t archiveTree) read(path string) ([]byte, error) {
	switch e, there := t[path]; {
	case !there:
		return nil, fs.ErrNotExist
	case e.folder:
		return nil, errOther
	default:
		return e.content, e.err
	}
}

// bounded fails with err when more bytes are read than are left.
type bounded struct {
	r    io.Reader
	left int64
	err  error
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.err
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

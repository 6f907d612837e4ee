// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"
)

// window is how far back a compressed bundle refers, in bytes. A reader keeps so much
// in memory, so that the pod of a bridge has room for it.
const window = 4 << 20

// Limits bound a bundle. Zero means the most that any bundle may have.
type Limits struct {
	// Bytes is the size of the tar.
	Bytes int64
	// Files is how many entries there are.
	Files int
}

// Result is what Pack made.
type Result struct {
	Digest Digest
	// Size is that of the tar, in bytes.
	Size  int64
	Files int
}

// notPacked are the files of a tree that name the registry it is from, or the folder it
// was made in, so that equal packages have equal bundles.
var notPacked = map[string]bool{"package-lock.json": true, "node_modules/.package-lock.json": true, pythonLock: true}

// Pack writes the tree at dir as a bundle. It follows no link. The error is a
// *Failure when the tree is at fault.
func Pack(dir string, w io.Writer, limits Limits) (Result, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Result{}, fmt.Errorf("open the tree: %w", err)
	}
	defer func() { _ = root.Close() }() // Its files are closed by themselves.
	compressor, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return Result{}, fmt.Errorf("compress: %w", err)
	}
	p := newPacker(root, compressor, limits)
	if err := p.walk(); err != nil {
		return Result{}, errors.Join(err, compressor.Close())
	}
	if err := errors.Join(p.tar.Close(), compressor.Close()); err != nil {
		return Result{}, fmt.Errorf("write the bundle: %w", err)
	}
	return Result{Digest: digestOf(p.hash), Size: p.size, Files: p.files}, nil
}

// packer writes one bundle.
type packer struct {
	root   *os.Root
	tar    *tar.Writer
	out    io.Writer
	hash   hash.Hash
	limits Limits
	size   int64
	files  int
}

func newPacker(root *os.Root, out io.Writer, limits Limits) *packer {
	p := &packer{root: root, out: out, hash: sha256.New(), limits: limits}
	if p.limits.Files <= 0 || p.limits.Files > MaxFiles {
		p.limits.Files = MaxFiles
	}
	p.tar = tar.NewWriter(p)
	return p
}

// Write implements io.Writer for the tar.
func (p *packer) Write(b []byte) (int, error) {
	p.size += int64(len(b))
	if p.limits.Bytes > 0 && p.size > p.limits.Bytes {
		return 0, failure(TooLarge, "the installed package has more than %d bytes", p.limits.Bytes)
	}
	p.hash.Write(b)
	return p.out.Write(b)
}

// walk adds what is in the tree. It follows no link, and visits the names of a directory in
// their order, each before what is in it.
func (p *packer) walk() error {
	return fs.WalkDir(p.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read the tree: %w", err)
		}
		if name == "." || notPacked[name] {
			return nil
		}
		if p.files++; p.files > p.limits.Files {
			return failure(TooLarge, "the installed package has more than %d files", p.limits.Files)
		}
		if !goodPath(name) {
			return failure(BadTree, "the installed package has a file whose path is too long or no plain text: %.200q", name)
		}
		if err := p.add(name, d.Type()); err != nil {
			return fmt.Errorf("pack %q: %w", name, err)
		}
		return nil
	})
}

// add adds one entry.
func (p *packer) add(name string, kind fs.FileMode) error {
	header := tar.Header{Name: name, Mode: 0o755}
	switch kind {
	case fs.ModeDir:
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
	case fs.ModeSymlink:
		target, err := p.root.Readlink(name)
		if err != nil {
			return err
		}
		if !goodTarget(name, target) {
			return failure(BadTree, "the installed package has a link that leads outside: %.200q to %.200q", name, target)
		}
		header.Typeflag, header.Linkname = tar.TypeSymlink, target
	case 0:
		return p.addFile(&header)
	default:
		return failure(BadTree, "the installed package has %.200q, which is neither a file, a directory nor a link", name)
	}
	return p.tar.WriteHeader(&header)
}

func (p *packer) addFile(header *tar.Header) error {
	file, err := p.root.Open(header.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return failure(BadTree, "%.200q has changed while it was read", header.Name)
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if info.Mode()&0o111 == 0 {
		header.Mode = 0o644
	}
	if err := p.tar.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(p.tar, file)
	return err
}

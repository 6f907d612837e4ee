// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// ErrBundle is what the errors of Unpack and Verify wrap when the bytes are at fault, and
// not the disk or the connection.
var ErrBundle = errors.New("bad bundle")

// Unpack reads a bundle of that digest, whose tar has size bytes, and puts its tree
// at dir, in place of the earlier one. Until everything has been compared with the
// digest, the tree is at dir with ".new" at the end, which the next Unpack removes.
// Files cannot be written; directories can, so that their owner can remove the tree.
func Unpack(ctx context.Context, r io.Reader, dir string, want Digest, size int64) error {
	fresh := dir + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("remove what an earlier process left: %w", err)
	}
	if err := unpackInto(ctx, r, fresh, want, size); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the former bundle: %w", err)
	}
	return os.Rename(fresh, dir)
}

func unpackInto(ctx context.Context, r io.Reader, dir string, want Digest, size int64) error {
	content, err := newContent(ctx, r, size)
	if err != nil {
		return err
	}
	defer content.close()
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // Another user runs the program.
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // Its files are closed by themselves.
	u := unpacker{root: root, buffer: make([]byte, 32<<10), left: size}
	if err := u.entries(tar.NewReader(content)); err != nil {
		return content.explain(err)
	}
	return content.verify(want)
}

// unpacker writes the entries of one bundle.
type unpacker struct {
	root   *os.Root
	buffer []byte
	// left is how many bytes files may still have.
	left  int64
	files int
	// last is the path of the entry before, and directories are those that it is in,
	// itself included if it is one.
	last        string
	directories []string
}

// entries writes all entries. Each path follows the one before it in the order of
// comparePaths, so that none is there twice, and is in a directory of the bundle, so that
// none goes through a link.
func (u *unpacker) entries(t *tar.Reader) error {
	for {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBundle, err)
		}
		if err := u.check(header); err != nil {
			return fmt.Errorf("%w: entry %.200q: %w", ErrBundle, header.Name, err)
		}
		if err := u.write(header, t); err != nil {
			return fmt.Errorf("unpack %.200q: %w", header.Name, err)
		}
	}
}

// check says what is wrong with an entry.
func (u *unpacker) check(header *tar.Header) error {
	if header.Typeflag == tar.TypeDir {
		header.Name = strings.TrimSuffix(header.Name, "/")
	}
	for key := range header.PAXRecords {
		// The others tell of files with holes, whose size is no bound, or of owners and times.
		if key != "path" && key != "linkpath" {
			return errors.New("it has attributes that no bundle has")
		}
	}
	u.files++
	u.left -= header.Size
	switch {
	case u.files > MaxFiles:
		return fmt.Errorf("there are more than %d entries", MaxFiles)
	case u.left < 0:
		return errors.New("the files are larger than the bundle")
	case !goodPath(header.Name):
		return errors.New("its path is not a relative one without dots")
	case header.Typeflag == tar.TypeSymlink && !goodTarget(header.Name, header.Linkname):
		return errors.New("its link leads outside")
	}
	return u.enter(header.Name)
}

// enter goes on from the entry before to that with this path.
func (u *unpacker) enter(name string) error {
	if comparePaths(u.last, name) >= 0 {
		return errors.New("it is there twice, or not in the order of paths")
	}
	u.last = name
	parent := path.Dir(name)
	for n := len(u.directories); n > 0 && u.directories[n-1] != parent; n-- {
		u.directories = u.directories[:n-1]
	}
	if len(u.directories) == 0 && parent != "." {
		return errors.New("it is in no directory of the bundle")
	}
	return nil
}

func (u *unpacker) write(header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeDir:
		u.directories = append(u.directories, header.Name)
		return u.root.Mkdir(header.Name, 0o755)
	case tar.TypeSymlink:
		return u.root.Symlink(header.Linkname, header.Name)
	case tar.TypeReg:
		return u.writeFile(header, content)
	}
	return fmt.Errorf("%w: it is neither a file, a directory nor a link", ErrBundle)
}

func (u *unpacker) writeFile(header *tar.Header, content io.Reader) error {
	mode := os.FileMode(0o444)
	if header.Mode&0o111 != 0 {
		mode = 0o555
	}
	file, err := u.root.OpenFile(header.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	// The file has no method of its own for copies, which would have a buffer for each.
	_, err = io.CopyBuffer(struct{ io.Writer }{file}, content, u.buffer)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: it ends in a file", ErrBundle)
	}
	return errors.Join(err, file.Close())
}

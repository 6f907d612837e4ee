// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// compress returns the bytes of a bundle with this tar, its digest and the tar's size.
func compress(t testing.TB, tarball []byte) ([]byte, Digest, int64) {
	t.Helper()
	var b bytes.Buffer
	w := must.Value(zstd.NewWriter(&b, zstd.WithWindowSize(window)))(t)
	_ = must.Value(w.Write(tarball))(t)
	must.Succeed(t, w.Close())
	h := sha256.New()
	h.Write(tarball)
	return b.Bytes(), digestOf(h), int64(len(tarball))
}

// file, link and directory are entries of hostile tars.
func file(name string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}
}

func link(name, target string) tar.Header {
	return tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink, Mode: 0o755}
}

func directory(name string) tar.Header {
	return tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755}
}

func tarOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		must.Succeed(t, w.WriteHeader(&h))
	}
	must.Succeed(t, w.Close())
	return b.Bytes()
}

// TestAHostileBundleIsRefusedAndWritesNothingOutside has bundles whose digests are right: it is
// their form that is refused.
func TestAHostileBundleIsRefusedAndWritesNothingOutside(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		headers []tar.Header
	}{
		{"an absolute path", []tar.Header{file("/tmp/x")}},
		{"a path that climbs", []tar.Header{file("../x")}},
		{"a path that climbs from below", []tar.Header{directory("a"), file("a/../../x")}},
		{"a path with a dot", []tar.Header{file("./x")}},
		{"a path with two slashes", []tar.Header{directory("a"), file("a//x")}},
		{"the root itself", []tar.Header{directory(".")}},
		{"a path with a backslash", []tar.Header{file(`..\x`)}},
		{"a path through a link outside", []tar.Header{link("a", "../"), file("a/x")}},
		{"a path through a link inside", []tar.Header{directory("d"), link("e", "d"), file("e/x")}},
		{"a path through a file", []tar.Header{file("a"), file("a/x")}},
		{"a path whose directory is missing", []tar.Header{file("a/x")}},
		{"a path twice", []tar.Header{file("a"), file("a")}},
		{"a file in place of a link", []tar.Header{link("a", "b"), file("a")}},
		{"a directory in place of a link", []tar.Header{link("a", "b"), directory("a"), file("a/x")}},
		{"paths without order", []tar.Header{file("b"), file("a")}},
		{"a directory left and entered again", []tar.Header{directory("a"), file("b"), file("a/x")}},
		{"a link to an absolute path", []tar.Header{link("a", "/etc/passwd")}},
		{"a link that climbs", []tar.Header{directory("a"), link("a/b", "../../x")}},
		{"a link to what is above", []tar.Header{link("a", "..")}},
		{"a link that climbs from another link", []tar.Header{directory("a"), directory("a/b"), link("a/b/c", "../.."), link("d", "a/b/c/..")}},
		{"a link to nowhere", []tar.Header{link("a", "")}},
		{"a hard link", []tar.Header{file("a"), {Name: "b", Linkname: "a", Typeflag: tar.TypeLink}}},
		{"a device", []tar.Header{{Name: "a", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}}},
		{"a block device", []tar.Header{{Name: "a", Typeflag: tar.TypeBlock, Devmajor: 8}}},
		{"a pipe", []tar.Header{{Name: "a", Typeflag: tar.TypeFifo}}},
		{"attributes", []tar.Header{{Name: "a", Typeflag: tar.TypeReg, PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "x"}}}},
		{"a global header", []tar.Header{{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": "a"}}}},
		{"a path that is too long", []tar.Header{file(strings.Repeat("a", 300))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			expectRefused(t, tarOf(t, test.headers...))
		})
	}
	t.Run("more bytes in files than there are", func(t *testing.T) {
		t.Parallel()
		// A file with a hole of a terabyte, in the form of GNU's tar.
		hole := header("a", 0)
		hole[156] = 'S'
		copy(hole[386:], "00000000000\x0000000000000\x00")
		copy(hole[483:], "\x80\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00")
		sum(hole)
		expectRefused(t, append(hole, make([]byte, 1024)...))
	})
	t.Run("an end in a file", func(t *testing.T) {
		t.Parallel()
		expectRefused(t, append(tarOf(t, file("a"))[:512:512], header("b", 4096)...))
	})
	t.Run("no tar", func(t *testing.T) {
		t.Parallel()
		expectRefused(t, bytes.Repeat([]byte("x"), 2048))
	})
}

// header returns the header of a file of so many bytes, without them.
func header(name string, size int64) []byte {
	var b bytes.Buffer
	_ = tar.NewWriter(&b).WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: size})
	return b.Bytes()
}

// sum writes the checksum of a header of a tar.
func sum(header []byte) {
	copy(header[148:], "        ")
	total := 0
	for _, b := range header {
		total += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", total))
}

// expectRefused fails the test if the tar is unpacked, or leaves anything.
func expectRefused(t *testing.T, tarball []byte) {
	t.Helper()
	parent := t.TempDir()
	content, digest, size := compress(t, tarball)
	err := Unpack(t.Context(), bytes.NewReader(content), filepath.Join(parent, "in", "dir"), digest, size)
	if err == nil {
		t.Fatal("unpacked")
	}
	must.Succeed(t, os.Mkdir(filepath.Join(parent, "in"), 0o755))
	err = Unpack(t.Context(), bytes.NewReader(content), filepath.Join(parent, "in", "dir"), digest, size)
	if !errors.Is(err, ErrBundle) {
		t.Errorf("error %v", err)
	}
	if found := readTree(t, parent); len(found) != 1 {
		t.Errorf("left behind: %v", found)
	}
}

func TestABundleThatDoesNotMatchIsNotThere(t *testing.T) {
	t.Parallel()
	result, content := pack(t, makeTree(t, theTree))
	tarball := must.Value(io.ReadAll(must.Value(zstd.NewReader(bytes.NewReader(content)))(t)))(t)
	trailing, _, _ := compress(t, append(bytes.Clone(tarball), make([]byte, 512)...))
	bomb, _, _ := compress(t, append(bytes.Clone(tarball), make([]byte, 64<<20)...))
	var flipped []byte
	for i := range tarball {
		if tarball[i] == 'c' && string(tarball[i:i+7]) == "console" {
			changed := bytes.Clone(tarball)
			changed[i] = 'C'
			flipped, _, _ = compress(t, changed)
		}
	}
	var wide bytes.Buffer
	w := must.Value(zstd.NewWriter(&wide, zstd.WithWindowSize(64<<20)))(t)
	_ = must.Value(w.Write(tarball))(t)
	must.Succeed(t, w.Flush())
	must.Succeed(t, w.Close())
	for name, test := range map[string]struct {
		content []byte
		digest  Digest
		size    int64
	}{
		"another byte in a file":       {flipped, result.Digest, result.Size},
		"another byte when compressed": {append(bytes.Clone(content[:len(content)-1]), content[len(content)-1]^1), result.Digest, result.Size},
		"bytes after the end":          {trailing, result.Digest, result.Size},
		"many bytes after the end":     {bomb, result.Digest, result.Size},
		"a window that is too large":   {wide.Bytes(), result.Digest, result.Size},
		"a smaller size":               {content, result.Digest, result.Size - 1},
		"a larger size":                {content, result.Digest, result.Size + 1},
		"no size":                      {content, result.Digest, 0},
		"another digest":               {content, "sha256:" + Digest(strings.Repeat("0", 64)), result.Size},
		"half of it":                   {content[:len(content)/2], result.Digest, result.Size},
		"nothing":                      {nil, result.Digest, result.Size},
	} {
		parent := t.TempDir()
		err := Unpack(t.Context(), bytes.NewReader(test.content), filepath.Join(parent, "dir"), test.digest, test.size)
		if !errors.Is(err, ErrBundle) {
			t.Errorf("%s: %v", name, err)
		}
		if found := readTree(t, parent); len(found) != 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// broken ends with an error after some bytes.
type broken struct{ io.Reader }

var errBroken = errors.New("connection reset")

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = errBroken
	}
	return n, err
}

func TestWhatAnEarlierProcessLeftIsReplaced(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	must.Succeed(t, os.MkdirAll(filepath.Join(dir+".new", "a", "b"), 0o755))
	must.Succeed(t, os.MkdirAll(dir, 0o755))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "former"), nil, 0o400))
	result, content := pack(t, makeTree(t, theTree))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Unpack(ctx, bytes.NewReader(content), dir, result.Digest, result.Size); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	err := Unpack(t.Context(), broken{bytes.NewReader(content[:len(content)/2])}, dir, result.Digest, result.Size)
	if !errors.Is(err, errBroken) || errors.Is(err, ErrBundle) {
		t.Errorf("a broken connection: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "former")); err != nil {
		t.Errorf("the former bundle: %v", err)
	}
	must.Succeed(t, Unpack(t.Context(), bytes.NewReader(content), dir, result.Digest, result.Size))
	if _, err := os.Stat(filepath.Join(dir, "former")); err == nil {
		t.Error("the former bundle is still there")
	}
	if _, err := os.Stat(dir + ".new"); err == nil {
		t.Error("what was left is still there")
	}
}

// TestUnpackingTakesLittleMemory is not parallel: it looks at the memory of the process.
func TestUnpackingTakesLittleMemory(t *testing.T) {
	dir := t.TempDir()
	random := rand.NewChaCha8([32]byte{1})
	for i := range 2000 {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%d", i)), nil, 0o600))
	}
	big := must.Value(os.Create(filepath.Join(dir, "big")))(t)
	_ = must.Value(io.CopyN(big, random, 48<<20))(t)
	must.Succeed(t, big.Close())
	path := filepath.Join(t.TempDir(), "bundle")
	out := must.Value(os.Create(path))(t)
	result := must.Value(Pack(dir, out, Limits{}))(t)
	must.Succeed(t, out.Close())

	in := must.Value(os.Open(path))(t)
	defer in.Close()
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	peak := &measured{Reader: in}
	must.Succeed(t, Unpack(t.Context(), peak, filepath.Join(t.TempDir(), "dir"), result.Digest, result.Size))
	if used := int64(peak.most) - int64(before.HeapAlloc); used > 16<<20 {
		t.Errorf("unpacking takes %d MiB", used>>20)
	}
}

// measured looks at the live heap every few MiB.
type measured struct {
	io.Reader
	read, next int
	most       uint64
}

func (m *measured) Read(b []byte) (int, error) {
	n, err := m.Reader.Read(b)
	if m.read += n; m.read >= m.next {
		m.next = m.read + 4<<20
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		m.most = max(m.most, now.HeapAlloc)
	}
	return n, err
}

func FuzzUnpack(f *testing.F) {
	content, digest, size := compress(f, tarOf(f, directory("a"), file("a/b"), link("c", "a/b")))
	f.Add(content)
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := filepath.Join(t.TempDir(), "dir")
		err := Unpack(t.Context(), bytes.NewReader(content), dir, digest, size)
		if _, there := os.Stat(dir); (err == nil) != (there == nil) {
			t.Errorf("error %v, tree %v", err, there)
		}
	})
}

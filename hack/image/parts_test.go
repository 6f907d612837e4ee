// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crypto/sha512"

	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"
)

// tarOf returns a tar of the given headers, each with its name as its content.
func tarOf(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		var content string
		if h.Typeflag == tar.TypeReg {
			content = h.Name
		}
		h.Size = int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// debOf returns a package with the files of a tar.
func debOf(t *testing.T, data []byte) []byte {
	t.Helper()
	file := []byte("!<arch>\n")
	for _, member := range []struct {
		name    string
		content []byte
	}{
		{"debian-binary", []byte("2.0\n")},
		{"control.tar.xz", compress(t, tarOf(t, tar.Header{Name: "./control", Typeflag: tar.TypeReg, Mode: 0o644}))},
		{"data.tar.xz", compress(t, data)},
	} {
		file = fmt.Appendf(file, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", member.name, 0, 0, 0, "100644", len(member.content))
		file = append(file, member.content...)
		if len(member.content)%2 == 1 {
			file = append(file, '\n')
		}
	}
	return file
}

func compress(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := xz.NewWriter(&out)
	if err == nil {
		_, err = w.Write(content)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestPackageIsUnpacked(t *testing.T) {
	file := debOf(t, tarOf(t,
		tar.Header{Name: "./lib/", Typeflag: tar.TypeDir, Mode: 0o755},
		tar.Header{Name: "./lib/x86_64-linux-gnu/libc.so.6", Typeflag: tar.TypeReg, Mode: 0o755},
		tar.Header{Name: "./usr/bin/mount", Typeflag: tar.TypeReg, Mode: 0o4755},
		tar.Header{Name: "./usr/bin/link", Typeflag: tar.TypeSymlink, Linkname: "mount", Mode: 0o777},
		tar.Header{Name: "./usr/bin/hard", Typeflag: tar.TypeLink, Linkname: "./usr/bin/mount"},
		tar.Header{Name: "./usr/share/doc/x/copyright", Typeflag: tar.TypeReg, Mode: 0o644},
		tar.Header{Name: "./usr/share/doc/x/README", Typeflag: tar.TypeReg, Mode: 0o644},
		tar.Header{Name: "./usr/share/man/man1/x.1", Typeflag: tar.TypeReg, Mode: 0o644},
		tar.Header{Name: "./usr/lib/x86_64-linux-gnu/gconv/BIG5.so", Typeflag: tar.TypeReg, Mode: 0o644},
		tar.Header{Name: "../../outside", Typeflag: tar.TypeReg, Mode: 0o644},
	))
	for name, tt := range map[string]struct {
		only []string
		want []string
	}{
		"all of it": {nil, []string{
			"outside", "usr/bin/hard", "usr/bin/link", "usr/bin/mount", "usr/lib/x86_64-linux-gnu/libc.so.6",
			"usr/share/doc/x/copyright", "var/lib/dpkg/status.d/x",
		}},
		"one file and the licence": {[]string{"usr/bin/mount"}, []string{"usr/bin/mount", "usr/share/doc/x/copyright", "var/lib/dpkg/status.d/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := tree{}
			if err := (deb{name: "x"}).unpack(got, file, tt.only); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if mode := got["usr/bin/mount"].mode; mode != 0o755 {
				t.Errorf("the mode of what was setuid is %o", mode)
			}
		})
	}
}

func TestBrokenPackageIsRefused(t *testing.T) {
	whole := debOf(t, tarOf(t))
	for name, file := range map[string][]byte{
		"nothing":           nil,
		"no archive":        []byte("PK\x03\x04 and more"),
		"a cut member":      whole[:len(whole)-20],
		"no data":           whole[:8+60+4],
		"a size of letters": bytes.Replace(whole, []byte("4         `"), []byte("four      `"), 1),
	} {
		t.Run(name, func(t *testing.T) {
			if err := (deb{name: "x"}).unpack(tree{}, file, nil); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestLayerIsTheSameForTheSameFiles(t *testing.T) {
	files := func() tree {
		return tree{"b/c": {content: []byte("c"), mode: 0o644}, "a": {link: "b", mode: 0o777}, "tmp": {folder: true, mode: 0o1777}}
	}
	first, err := files().pack()
	if err != nil {
		t.Fatal(err)
	}
	second, err := files().pack()
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two layers of the same files differ, error %v", err)
	}
	var names []string
	r := tar.NewReader(bytes.NewReader(first))
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(epoch) || header.Uid != 0 {
			t.Errorf("%s: time %s, owner %d", header.Name, header.ModTime, header.Uid)
		}
		names = append(names, fmt.Sprintf("%s %o", header.Name, header.Mode))
	}
	if diff := cmp.Diff([]string{"a 777", "b/ 755", "b/c 644", "tmp/ 1777"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !bytes.HasSuffix(first, make([]byte, 1024)) {
		t.Error("the archive has no end")
	}
}

func TestPackagesAreDownloadedOnce(t *testing.T) {
	content := []byte("a package")
	sum := sha256.Sum256(content)
	var asked int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/pool/x.deb" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	defer server.Close()
	cache := t.TempDir()
	good := deb{"x", hex.EncodeToString(sum[:]), server.URL + "/pool/x.deb"}
	for range 2 {
		if got, err := good.download(t.Context(), cache); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%q: %v", got, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	for name, tt := range map[string]struct {
		deb  deb
		want string
	}{
		"another file":          {deb{"x", strings.Repeat("0", 64), server.URL + "/pool/x.deb"}, "is not the file that debian.lock names"},
		"a version of the past": {deb{"x", strings.Repeat("0", 64), server.URL + "/pool/old.deb"}, "run hack/image/debian.lock.sh"},
	} {
		if _, err := tt.deb.download(t.Context(), cache); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryPartIsLockedForEveryArchitecture(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]bool{}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, p := range []part{debianBase, nodePart, serversPart, pythonPart, postgresPart} {
			sum, err := p.fingerprint(root, arch)
			if err != nil {
				t.Errorf("%s, %s: %v", p.name, arch, err)
			}
			sums[sum] = true
		}
	}
	if len(sums) != 10 {
		t.Errorf("10 layers have %d fingerprints", len(sums))
	}
	if _, err := locked("", "amd64", []string{"libc6"}); err == nil || !strings.Contains(err.Error(), "libc6 for amd64") {
		t.Errorf("a package that is not locked: %v", err)
	}
}

func TestNodeIsTheOneOfTheTests(t *testing.T) {
	read := func(file string) (p struct {
		Optional map[string]string `json:"optionalDependencies"`
	}) {
		t.Helper()
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	if diff := cmp.Diff(read("../../test/e2e/package.json").Optional, read("npm/node/package.json").Optional); diff != "" {
		t.Errorf("(-tests +image):\n%s", diff)
	}
}

func TestLockFilesNameNoRegistry(t *testing.T) {
	files, err := filepath.Glob("npm/*/package-lock.json")
	if err != nil || len(files) != 2 {
		t.Fatalf("lock files %q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || bytes.Contains(text, []byte(`"resolved"`)) || !bytes.Contains(text, []byte(`"integrity"`)) {
			t.Errorf("%s: addresses or no sums, error %v: run npm install in its folder, whose .npmrc leaves addresses out", file, err)
		}
	}
}

func TestIntactPackageIsTheOneOfTheLockFile(t *testing.T) {
	content := []byte("a package")
	sum := sha512.Sum512(content)
	want := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	if !intact(content, want) || intact(append(content, 0), want) || intact(content, "") {
		t.Error("the wrong file is intact, or the right one is not")
	}
}

func TestOnlyWhatIsNeededIsBuiltUnasked(t *testing.T) {
	names := func(only []string, all bool) (names []string) {
		picked, err := pick(only, all)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range picked {
			names = append(names, s.name)
		}
		return names
	}
	if got := names(nil, false); slices.Contains(got, "runtime-python") || !slices.Contains(got, "npm-servers") || !slices.Contains(got, "bridge") {
		t.Errorf("unasked: %q", got)
	}
	if diff := cmp.Diff(specNames(), names(nil, true)); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"runtime-python"}, names([]string{"runtime-python"}, false)); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

// TestRuntimeImagesHaveTheShimOfTheBridgesImage has no file of the bridge's image and of theirs
// differ: a bridge refuses to talk to another shim.
func TestRuntimeImagesHaveTheShimOfTheBridgesImage(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	images, err := pick([]string{"bridge", "runtime-node", "runtime-python"}, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"bridgepod": program, "shim": []byte("the shim")} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, more, err := compiled(folder, images[0])
	if err != nil || len(more) != 1 || more[0].path != "shim" {
		t.Fatalf("the bridge's image has %d further programs, error %v", len(more), err)
	}
	for _, s := range images[1:] {
		without, err := sumOfParts(root, "amd64", s)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := s.withPrograms(folder)
		if err != nil {
			t.Fatal(err)
		}
		if with, err := sumOfParts(root, "amd64", whole); err != nil || with == without {
			t.Errorf("%s: another shim is no other image, error %v", s.name, err)
		}
		got, err := whole.parts[len(whole.parts)-1].tree(t.Context(), root, "", "amd64")
		if err != nil {
			t.Fatal(err)
		}
		want := tree{"usr/libexec/hosted-bridge/shim": {mode: 0o755, content: more[0].content}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.name, diff)
		}
	}
}

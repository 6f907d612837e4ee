// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pypiindex is an index of packages of Python for tests, on loopback: the simple
// repository API of PEP 503, with archives that it builds in memory from a table.
package pypiindex

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // for the stand-in.
	"encoding/hex"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// Package is one version of a package. Its name has no characters but lower case letters and digits.
type Package struct {
	Name, Version string
	// Files are the package's, by path.
	Files map[string]string
	// Requires are the packages that it depends on, Scripts its programs: a module and a function,
	// as server:main.
	Requires []string
	Scripts  map[string]string
	// RequiresPython and License are fields of its metadata, empty for none.
	RequiresPython, License string
	// Source publishes the files as an archive that has to be built, and not as a wheel.
	Source bool
}

// Index is a running index.
type Index struct {
	// URL is that of the simple repository API.
	URL string

	mu       sync.Mutex
	archives map[string][]byte
	// links are those of a package's page, by its name.
	links    map[string][]string
	requests []string
}

// Start serves the packages until the test ends.
func Start(t testing.TB, packages ...Package) *Index {
	t.Helper()
	x := &Index{archives: map[string][]byte{}, links: map[string][]string{}}
	server := httptest.NewServer(x)
	t.Cleanup(server.Close)
	x.URL = server.URL + "/simple"
	for _, p := range packages {
		x.Publish(t, p)
	}
	return x
}

// Publish adds a version.
func (x *Index) Publish(t testing.TB, p Package) {
	t.Helper()
	file, archive := p.Name+"-"+p.Version+"-py3-none-any.whl", p.wheel
	if p.Source {
		file, archive = p.Name+"-"+p.Version+".tar.gz", p.source
	}
	content := archive(t)
	sum := sha256.Sum256(content)
	link := fmt.Sprintf("<a href=%q data-requires-python=%q>%s</a>", "/files/"+file+"#sha256="+hex.EncodeToString(sum[:]), html.EscapeString(p.RequiresPython), file)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.archives["/files/"+file] = content
	x.links[p.Name] = append(x.links[p.Name], link)
}

// Requests returns the paths that were asked for.
func (x *Index) Requests() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.requests)
}

// ServeHTTP implements http.Handler.
func (x *Index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.requests = append(x.requests, r.URL.Path)
	links := x.links[strings.Trim(strings.TrimPrefix(r.URL.Path, "/simple"), "/")]
	switch archive := x.archives[r.URL.Path]; {
	case archive != nil:
		_, _ = w.Write(archive)
	case links != nil:
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<!DOCTYPE html><html><body>%s</body></html>", strings.Join(links, "\n"))
	default:
		http.NotFound(w, r)
	}
}

// wheel returns the package as a wheel.
func (p Package) wheel(t testing.TB) []byte {
	t.Helper()
	info := p.Name + "-" + p.Version + ".dist-info/"
	files := maps.Clone(p.Files)
	if files == nil {
		files = map[string]string{}
	}
	metadata := []string{"Metadata-Version: 2.4", "Name: " + p.Name, "Version: " + p.Version}
	if p.License != "" {
		metadata = append(metadata, "License-Expression: "+p.License)
	}
	if p.RequiresPython != "" {
		metadata = append(metadata, "Requires-Python: "+p.RequiresPython)
	}
	for _, required := range p.Requires {
		metadata = append(metadata, "Requires-Dist: "+required)
	}
	files[info+"METADATA"] = strings.Join(metadata, "\n") + "\n"
	files[info+"WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
	if len(p.Scripts) > 0 {
		points := []string{"[console_scripts]"}
		for _, name := range slices.Sorted(maps.Keys(p.Scripts)) {
			points = append(points, name+" = "+p.Scripts[name])
		}
		files[info+"entry_points.txt"] = strings.Join(points, "\n") + "\n"
	}
	files[info+"RECORD"] = ""
	files[info+"RECORD"] = strings.Join(slices.Sorted(maps.Keys(files)), ",,\n") + ",,\n"
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_ = must.Value(must.Value(z.Create(name))(t).Write([]byte(files[name])))(t)
	}
	must.Succeed(t, z.Close())
	return b.Bytes()
}

// source returns the package as an archive of its sources.
func (p Package) source(t testing.TB) []byte {
	t.Helper()
	files := maps.Clone(p.Files)
	files["PKG-INFO"] = "Metadata-Version: 2.1\nName: " + p.Name + "\nVersion: " + p.Version + "\n"
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	w := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		must.Succeed(t, w.WriteHeader(&tar.Header{Name: p.Name + "-" + p.Version + "/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name]))}))
		_ = must.Value(w.Write([]byte(files[name])))(t)
	}
	must.Succeed(t, w.Close())
	must.Succeed(t, compressed.Close())
	return b.Bytes()
}

//go:embed uv.py
var standIn string

// UV returns a PATH that has uv: that of the machine, or else a stand-in, whose comment says what it
// does. The stand-in needs Python 3.11 with pip.
func UV(t testing.TB) string {
	t.Helper()
	path := os.Getenv("PATH")
	if _, err := exec.LookPath("uv"); err == nil {
		return path
	}
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "uv"), []byte(standIn), 0o700))
	return dir + string(os.PathListSeparator) + path
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package npmregistry is a registry of npm packages for tests, on loopback. It serves
// packuments and tarballs that it builds in memory from a table.
package npmregistry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1" // The registry's protocol has it.
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// Package is one version of a package.
type Package struct {
	Name, Version string
	// Files are the package's, by path; package.json is made of the other fields.
	Files map[string]string
	// Dependencies and Scripts are as in package.json. Bin is a string or a map.
	Dependencies, OptionalDependencies, Scripts, Engines map[string]string
	Bin                                                  any
	License                                              string
	// OS and CPU are the systems and processors that the package is for, empty for all.
	OS, CPU []string
}

// Registry is a running registry.
type Registry struct {
	// URL has no path.
	URL string

	mu       sync.Mutex
	packages map[string][]published
	requests []string
}

// published is a version and its tarball.
type published struct {
	manifest map[string]any
	version  string
	tarball  []byte
}

// Start serves the packages until the test ends.
func Start(t testing.TB, packages ...Package) *Registry {
	t.Helper()
	r := &Registry{packages: map[string][]published{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL
	for _, p := range packages {
		r.Publish(t, p)
	}
	return r
}

// Publish adds a version, which is the latest one then.
func (r *Registry) Publish(t testing.TB, p Package) {
	t.Helper()
	manifest := map[string]any{"name": p.Name, "version": p.Version}
	for key, field := range map[string]map[string]string{
		"dependencies": p.Dependencies, "optionalDependencies": p.OptionalDependencies, "scripts": p.Scripts, "engines": p.Engines,
	} {
		if len(field) > 0 {
			manifest[key] = field
		}
	}
	for key, field := range map[string][]string{"os": p.OS, "cpu": p.CPU} {
		if len(field) > 0 {
			manifest[key] = field
		}
	}
	if p.Bin != nil {
		manifest["bin"] = p.Bin
	}
	if p.License != "" {
		manifest["license"] = p.License
	}
	tarball := archive(t, manifest, p.Files)
	sum, old := sha512.Sum512(tarball), sha1.Sum(tarball)
	listed := maps.Clone(manifest)
	listed["dist"] = map[string]string{
		"tarball":   r.URL + "/" + p.Name + "/-/" + path.Base(p.Name) + "-" + p.Version + ".tgz",
		"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		"shasum":    hex.EncodeToString(old[:]),
	}
	if p.Scripts["preinstall"]+p.Scripts["install"]+p.Scripts["postinstall"] != "" {
		listed["hasInstallScript"] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.packages[p.Name] = append(r.packages[p.Name], published{manifest: listed, version: p.Version, tarball: tarball})
}

// Withdraw removes a version.
func (r *Registry) Withdraw(name, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.packages[name] = slices.DeleteFunc(r.packages[name], func(p published) bool { return p.version == version })
}

// Requests returns the paths that were asked for, in their order.
func (r *Registry) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	asked := request.URL.Path // npm writes the slash of a scope as %2f.
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, asked)
	name, file, isTarball := strings.Cut(strings.TrimPrefix(asked, "/"), "/-/")
	versions := r.packages[name]
	if len(versions) == 0 {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":"Not found"}`))
		return
	}
	if !isTarball {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(packument(name, versions))
		return
	}
	for _, p := range versions {
		if file == path.Base(name)+"-"+p.version+".tgz" {
			_, _ = w.Write(p.tarball)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

func packument(name string, versions []published) map[string]any {
	all := map[string]any{}
	for _, p := range versions {
		all[p.version] = p.manifest
	}
	return map[string]any{"name": name, "dist-tags": map[string]string{"latest": versions[len(versions)-1].version}, "versions": all}
}

// archive returns the tarball of a package, whose files are in the folder package.
func archive(t testing.TB, manifest map[string]any, files map[string]string) []byte {
	t.Helper()
	all := maps.Clone(files)
	if all == nil {
		all = map[string]string{}
	}
	all["package.json"] = string(must.Value(json.Marshal(manifest))(t))
	var b bytes.Buffer
	compressor := gzip.NewWriter(&b)
	w := tar.NewWriter(compressor)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		must.Succeed(t, w.WriteHeader(&tar.Header{Name: "package/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(all[name]))}))
		_ = must.Value(w.Write([]byte(all[name])))(t)
	}
	must.Succeed(t, w.Close())
	must.Succeed(t, compressor.Close())
	return b.Bytes()
}

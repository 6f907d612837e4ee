// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// released are the images of a release. The others are for samples and tests.
var released = []string{"operator", "keybroker", "ingress", "bridge", "runtime-node", "runtime-python"}

// architectures are those that a release has an image for.
var architectures = []string{"amd64", "arm64"}

// people are the programs that people run on their own machines.
var people = []string{"bridge", "kubectl-bridge"}

// laptop is a system for which programs are released.
type laptop struct{ system, arch string }

// file returns the name of a program's file.
func (l laptop) file(program string) string {
	name := program + "-" + l.system + "-" + l.arch
	if l.system == "windows" {
		name += ".exe"
	}
	return name
}

var laptops = []laptop{
	{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// semver is the form of a version, without a v: https://semver.org, question
// "Is there a suggested regular expression". What is built of a version is no
// part of the tag of an image, which has no plus.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?$`)

// stamp is what the linker is told of a version.
func stamp(version string) string {
	return "-X github.com/hostedbridge/hostedbridge/internal/version.stamped=" + version
}

// release is one that is being made in a folder.
type release struct {
	root, folder, version, repository string
	// work is where binaries stay until the next release.
	work string
}

// run writes the images, their bills of materials and the programs.
func (r release) run(ctx context.Context, wanted []spec) error {
	if !semver.MatchString(r.version) {
		return fmt.Errorf("--version is %q, and must be such as 1.2.3 or 1.2.3-rc.1, without a v", r.version)
	}
	for _, folder := range append([]string{"images", "sbom"}, people...) {
		if err := os.MkdirAll(filepath.Join(r.folder, folder), 0o755); err != nil {
			return err
		}
	}
	for _, arch := range architectures {
		if err := compile(ctx, target{root: r.root, folder: r.binaries(arch), arch: arch, stamp: stamp(r.version)}, wanted); err != nil {
			return err
		}
	}
	var lines strings.Builder
	whole := newBill("hosted-bridge", r.version, "application")
	for _, s := range wanted {
		digest, err := r.image(ctx, s, whole)
		if err != nil {
			return fmt.Errorf("image %s: %w", s.name, err)
		}
		fmt.Fprintf(&lines, "%s\t%s/%s:%s\t%s\n", s.name, r.repository, s.name, r.version, digest)
	}
	if err := os.WriteFile(filepath.Join(r.folder, "images", indexFile), []byte(lines.String()), 0o644); err != nil {
		return err
	}
	if err := r.programs(ctx, whole); err != nil {
		return err
	}
	return whole.write(filepath.Join(r.folder, "sbom", "hosted-bridge.cdx.json"))
}

func (r release) binaries(arch string) string { return filepath.Join(r.work, "linux-"+arch) }

// image writes the index of one image over all architectures, and what it is
// made of.
func (r release) image(ctx context.Context, s spec, whole *bill) (v1.Hash, error) {
	own := newBill(s.name, r.version, "container")
	var images []v1.Image
	for _, arch := range architectures {
		var image v1.Image
		var err error
		if s.pkg == "" {
			image, err = r.ofParts(ctx, s, arch, own)
		} else {
			image, err = r.ofProgram(s, arch, own)
		}
		if err != nil {
			return v1.Hash{}, fmt.Errorf("%s: %w", arch, err)
		}
		images = append(images, image)
	}
	digest, err := writeLayout(filepath.Join(r.folder, "images", s.name+".oci.tar"), r.repository+"/"+s.name+":"+r.version, images)
	if err != nil {
		return digest, err
	}
	own.hash(digest)
	whole.include(own)
	return digest, own.write(filepath.Join(r.folder, "sbom", s.name+".cdx.json"))
}

func (r release) ofProgram(s spec, arch string, own *bill) (v1.Image, error) {
	program, more, err := compiled(r.binaries(arch), s)
	if err != nil {
		return nil, err
	}
	if err := own.program(program); err != nil {
		return nil, err
	}
	for _, f := range more {
		if err := own.program(f.content); err != nil {
			return nil, err
		}
	}
	shipped, err := data(r.root, s)
	if err != nil {
		return nil, err
	}
	content, err := rootfs(s, program, append(more, shipped...)...)
	if err != nil {
		return nil, err
	}
	return ofContent(s, arch, fingerprint(s, arch, content), content)
}

func (r release) ofParts(ctx context.Context, s spec, arch string, own *bill) (v1.Image, error) {
	s, err := s.withPrograms(r.binaries(arch))
	if err != nil {
		return nil, err
	}
	for _, p := range s.parts {
		if err := own.part(r.root, arch, p); err != nil {
			return nil, err
		}
	}
	sum, err := sumOfParts(r.root, arch, s)
	if err != nil {
		return nil, err
	}
	return ofParts(ctx, r.root, arch, sum, s)
}

// programs builds the programs for people's own machines.
func (r release) programs(ctx context.Context, whole *bill) error {
	own := newBill("programs", r.version, "application")
	for _, program := range people {
		for _, l := range laptops {
			content, err := r.program(ctx, program, l)
			if err != nil {
				return err
			}
			if err := own.program(content); err != nil {
				return err
			}
		}
	}
	whole.include(own)
	return own.write(filepath.Join(r.folder, "sbom", "programs.cdx.json"))
}

// program builds a program for a system, and returns it.
func (r release) program(ctx context.Context, program string, l laptop) ([]byte, error) {
	name := l.file(program)
	file, err := filepath.Abs(filepath.Join(r.folder, program, name))
	if err != nil {
		return nil, err
	}
	cmd := goCommand(ctx, r.root, ".", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w "+stamp(r.version), "-o", file, "./cmd/"+program)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+l.system, "GOARCH="+l.arch, "GOWORK=off")
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build %s: %w", name, err)
	}
	return os.ReadFile(file)
}

// pinned is a file of values that names the images by digest.
func (r release) pinned() error {
	text, err := os.ReadFile(filepath.Join(r.folder, "images", indexFile))
	if err != nil {
		return err
	}
	values := map[string]any{}
	bridge := map[string]any{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			return errors.New("images.tsv is not of this release")
		}
		reference := fields[1] + "@" + fields[2]
		switch name := fields[0]; name {
		case "operator", "keybroker", "ingress":
			values[name] = map[string]any{"image": reference}
		case "bridge":
			bridge["image"] = reference
		case "runtime-node":
			bridge["runtimes"] = map[string]any{"node": reference, "shimImages": []string{reference}}
		}
	}
	values["bridge"] = bridge
	// JSON is YAML.
	encoded, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.folder, "values-digests.yaml"), append(encoded, '\n'), 0o644)
}

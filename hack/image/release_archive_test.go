// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build release

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// made returns the folder of the release that hack/release has made, and its
// version.
func made(t *testing.T) (folder, version string) {
	t.Helper()
	folder, version = os.Getenv("RELEASE"), os.Getenv("RELEASE_VERSION")
	if folder == "" || version == "" {
		t.Fatal("RELEASE and RELEASE_VERSION must say what to look at: make release-dry-run does")
	}
	return folder, version
}

// listed returns the lines of images.tsv by the images' names.
func listed(t *testing.T, folder string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "images", indexFile))
	if err != nil {
		t.Fatal(err)
	}
	images := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		images[fields[0]] = fields[1:]
	}
	return images
}

func TestReleaseHasImagesForEveryArchitecture(t *testing.T) {
	folder, version := made(t)
	images := listed(t, folder)
	archives, err := filepath.Glob(filepath.Join(folder, "images", "*.oci.tar"))
	if err != nil || len(archives) != len(images) || len(images) == 0 {
		t.Fatalf("%d archives of %d images (%v)", len(archives), len(images), err)
	}
	for name, fields := range images {
		digest, configs := checkLayout(t, filepath.Join(folder, "images", name+".oci.tar"))
		if fields[1] != digest.String() || !strings.HasSuffix(fields[0], "/"+name+":"+version) {
			t.Errorf("%s is listed as %v, and is %s", name, fields, digest)
		}
		for arch, config := range configs {
			if config.Config.User == "" || config.Config.User == "0" {
				t.Errorf("%s for %s runs as root", name, arch)
			}
		}
	}
}

func TestReleaseSaysWhatItIsMadeOf(t *testing.T) {
	folder, version := made(t)
	schema := bomSchema(t)
	whole := checkBill(t, schema, filepath.Join(folder, "sbom", "hosted-bridge.cdx.json"))
	for _, name := range append(slices.Collect(maps.Keys(listed(t, folder))), "programs") {
		found := checkBill(t, schema, filepath.Join(folder, "sbom", name+".cdx.json"))
		for _, url := range found {
			if !slices.Contains(whole, url) {
				t.Errorf("%s has %s, which the whole has not", name, url)
			}
		}
	}
	all := checkBill(t, schema, filepath.Join(folder, "sbom", "programs.cdx.json"))
	for _, program := range people {
		file := filepath.Join(folder, program, laptop{runtime.GOOS, runtime.GOARCH}.file(program))
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range info.Deps {
			if !slices.Contains(all, "pkg:golang/"+m.Path+"@"+m.Version) {
				t.Errorf("%s@%s of %s is not listed", m.Path, m.Version, program)
			}
		}
		said, err := exec.CommandContext(t.Context(), file, "--version").Output()
		if err != nil || !strings.Contains(string(said), version) {
			t.Errorf("%s says that it is %q (%v)", program, said, err)
		}
	}
}

func TestReleaseHasEachProgramForEachLaptop(t *testing.T) {
	folder, _ := made(t)
	starts := map[string]string{"linux": "\x7fELF", "darwin": "\xcf\xfa\xed\xfe", "windows": "MZ"}
	for _, program := range people {
		for _, l := range laptops {
			content, err := os.ReadFile(filepath.Join(folder, program, l.file(program)))
			if err != nil || !strings.HasPrefix(string(content), starts[l.system]) {
				t.Errorf("%s is no program of %s (%v)", l.file(program), l.system, err)
			}
		}
	}
}

func TestReleaseChartNamesItsImages(t *testing.T) {
	folder, version := made(t)
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(folder, "hosted-bridge-"+version+".tgz")
	render := func(args ...string) string {
		t.Helper()
		args = append([]string{"template", "hosted-bridge", packed, "--namespace=hosted-bridge-system"}, args...)
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "helm"), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	tags, digests := render(), render("--values="+filepath.Join(folder, "values-digests.yaml"))
	install, err := os.ReadFile(filepath.Join(folder, "manifests", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	images := listed(t, folder)
	for _, name := range []string{"operator", "bridge"} {
		if !strings.Contains(tags, images[name][0]) || !strings.Contains(string(install), images[name][0]) {
			t.Errorf("the chart or install.yaml does not name %s", images[name][0])
		}
		if !strings.Contains(digests, images[name][0]+"@"+images[name][1]) {
			t.Errorf("with values-digests.yaml, %s is not named by its digest", name)
		}
	}
	if strings.Contains(tags, ":dev") || strings.Contains(string(install), ":dev") {
		t.Error("an image of no release is named")
	}
	content, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	about := string(filesOfTar(t, unzipped)["hosted-bridge/Chart.yaml"])
	if !strings.Contains(about, "\nversion: "+version+"\n") || !strings.Contains(about, "appVersion: "+version+"\n") {
		t.Errorf("the chart says\n%s", about)
	}
}

func TestReleaseSumsAreOfEveryFile(t *testing.T) {
	folder, _ := made(t)
	text, err := os.ReadFile(filepath.Join(folder, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	err = filepath.WalkDir(folder, func(file string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == sumsFile {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if sum := sha256.Sum256(content); sums[filepath.ToSlash(name)] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s has another checksum, or none", name)
		}
		delete(sums, filepath.ToSlash(name))
		return err
	})
	if err != nil || len(sums) > 0 {
		t.Errorf("%v are not there (%v)", sums, err)
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/textproto"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	// pythonLock is what uv resolved (PEP 751), in the root of the tree.
	pythonLock = "pylock.toml"
	// maxFiles is the length of a RECORD in bytes: it has a line for each file of a package.
	maxFiles = 16 << 20
)

var (
	// locked matches an archive of pylock.toml as uv writes it: an inline table, the URL or the path first.
	locked = regexp.MustCompile(`(?:url|path) = "([^"\n]+)"[^{}\n]*hashes = \{[^{}\n]*sha256 = "([0-9a-f]{64})"`)
	// script matches a program in a RECORD. uv has paths from the root of the tree, and pip from where
	// packages are in a virtual environment.
	script = regexp.MustCompile(`(?m)^(?:\.\./\.\./)?bin/([^/,"\n]+),`)
	// separators are all equal in a package's name.
	separators = regexp.MustCompile(`[-_.]+`)
)

// FromPyPI reads what uv installed for the package in the folder dir. The error is a *Failure when the
// package is at fault.
func FromPyPI(dir, name string) (Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Tree{}, fmt.Errorf("open the tree: %w", err)
	}
	defer func() { _ = root.Close() }() // Its files are closed by themselves.
	lock, err := readFile(root, pythonLock, maxLock)
	if err != nil {
		return Tree{}, err
	}
	tree := Tree{Lock: string(lock)}
	infos, err := fs.Glob(root.FS(), "*.dist-info")
	if err != nil {
		return tree, err
	}
	own := ""
	for _, info := range infos {
		p, err := readPackage(root, info, lock)
		if err != nil {
			return tree, err
		}
		tree.Packages = append(tree.Packages, p)
		if project(p.Name) == project(name) {
			own = info
		}
	}
	if own == "" {
		return tree, failure(BadTree, "uv installed no %s", name)
	}
	metadata, err := readHeader(root, own+"/METADATA")
	if err != nil {
		return tree, err
	}
	if required := metadata.Get("Requires-Python"); required != "" {
		tree.Engines = map[string]string{"python": required}
	}
	tree.Bins, err = readScripts(root, own)
	return tree, err
}

// readPackage reads one package, which is installed with this folder.
func readPackage(root *os.Root, info string, lock []byte) (Package, error) {
	metadata, err := readHeader(root, info+"/METADATA")
	if err != nil {
		return Package{}, err
	}
	p := Package{Name: metadata.Get("Name"), Version: metadata.Get("Version"), License: licenseOf(metadata)}
	p.Integrity, err = integrity(root, info, p.Name, lock)
	return p, err
}

// project returns a package's name as its registry compares it.
func project(name string) string {
	return separators.ReplaceAllString(strings.ToLower(name), "-")
}

// readHeader reads the fields of METADATA or WHEEL, which have the form of a mail's header. It stops at the
// first line that is not a field.
func readHeader(root *os.Root, name string) (textproto.MIMEHeader, error) {
	text, err := readFile(root, name, maxManifest)
	if err != nil {
		return nil, err
	}
	header, _ := textproto.NewReader(bufio.NewReader(bytes.NewReader(text))).ReadMIMEHeader()
	return header, nil
}

// licenseOf returns the license of a package: an expression of SPDX (PEP 639), or what older packages say.
func licenseOf(metadata textproto.MIMEHeader) string {
	const longest = 100 // Some have the whole text.
	if license := cmp.Or(metadata.Get("License-Expression"), metadata.Get("License")); len(license) <= longest {
		return license
	}
	return ""
}

// integrity returns the hash of the wheel that a package is from, empty for one that was built here. Of
// several wheels it is that with the tags of the installed one.
func integrity(root *os.Root, info, name string, lock []byte) (string, error) {
	wheel, err := readHeader(root, info+"/WHEEL")
	if err != nil {
		return "", err
	}
	tags := slices.Sorted(slices.Values(wheel["Tag"]))
	var of []string
	for _, archive := range locked.FindAllStringSubmatch(string(lock), -1) {
		file, err := url.PathUnescape(path.Base(archive[1]))
		if err != nil || project(strings.Split(file, "-")[0]) != project(name) {
			continue
		}
		if its := wheelTags(file); slices.Equal(its, tags) {
			of = []string{archive[2]}
			break
		} else if its != nil {
			of = append(of, archive[2])
		}
	}
	if len(of) != 1 {
		return "", nil
	}
	sum, err := hex.DecodeString(of[0])
	return "sha256-" + base64.StdEncoding.EncodeToString(sum), err
}

// wheelTags returns the sorted tags in the name of a wheel, such as py3-none-any, nil for another file. Each
// of their three parts may have several, joined by dots (PEP 425).
func wheelTags(file string) (tags []string) {
	parts := strings.Split(strings.TrimSuffix(file, ".whl"), "-")
	if n := len(parts); strings.HasSuffix(file, ".whl") && n >= 5 {
		for python := range strings.SplitSeq(parts[n-3], ".") {
			for abi := range strings.SplitSeq(parts[n-2], ".") {
				for platform := range strings.SplitSeq(parts[n-1], ".") {
					tags = append(tags, python+"-"+abi+"-"+platform)
				}
			}
		}
	}
	slices.Sort(tags)
	return tags
}

// readScripts returns the programs of a package whose files exist.
func readScripts(root *os.Root, info string) (map[string]string, error) {
	record, err := readFile(root, info+"/RECORD", maxFiles)
	if err != nil {
		return nil, err
	}
	bins := map[string]string{}
	for _, found := range script.FindAllSubmatch(record, -1) {
		name := string(found[1])
		file, err := root.Lstat("bin/" + name)
		if err == nil && file.Mode().IsRegular() && goodPath("bin/"+name) {
			bins[name] = "bin/" + name
		}
	}
	return bins, nil
}

// DefaultScript returns the name of the program that uvx starts for the package: that with the name that the
// package was asked for by. It is empty if uvx would start none without its name. The error is a *Failure.
func DefaultScript(name string, bins map[string]string) (string, error) {
	if len(bins) == 0 {
		return "", failure(NoProgram, "%s has no program to start: it installs none into bin. "+
			"Check that it is an MCP server and not a library.", name)
	}
	if _, ok := bins[name]; ok {
		return name, nil
	}
	return "", nil
}

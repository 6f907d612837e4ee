// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // for the lock file.
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ulikunitz/xz"
)

//go:embed debian.lock
var debianLock string

// deb is one package of Debian, as debian.lock has it.
type deb struct {
	name, sha256, url string
}

// locked returns the named packages for an architecture.
func locked(lock, arch string, names []string) ([]deb, error) {
	found := map[string]deb{}
	for line := range strings.Lines(lock) {
		fields := strings.Fields(line)
		if len(fields) == 4 && fields[0] == arch {
			found[fields[1]] = deb{fields[1], fields[2], fields[3]}
		}
	}
	var all []deb
	for _, name := range names {
		d, ok := found[name]
		if !ok {
			return nil, fmt.Errorf("debian.lock has no %s for %s: add it to debian.lock.sh and run that", name, arch)
		}
		all = append(all, d)
	}
	return all, nil
}

// download returns a package's file, from the cache if it is there.
func (d deb) download(ctx context.Context, cache string) ([]byte, error) {
	file := filepath.Join(cache, "debian", d.sha256+".deb")
	if content, err := os.ReadFile(file); err == nil && d.is(content) {
		return content, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("%s is no longer there: Debian has a newer one, so run hack/image/debian.lock.sh >hack/image/debian.lock", d.url)
	}
	// The largest package of the images has 17 MB.
	content, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s answers %s", d.url, response.Status), err)
	}
	if !d.is(content) {
		return nil, fmt.Errorf("%s is not the file that debian.lock names", d.url)
	}
	return content, keep(file, content)
}

func (d deb) is(content []byte) bool {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]) == d.sha256
}

// keep writes a file of the cache, as a whole or not at all.
func keep(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	partial, err := os.CreateTemp(filepath.Dir(file), ".partial-*")
	if err != nil {
		return err
	}
	_, err = partial.Write(content)
	if err := errors.Join(err, partial.Close()); err != nil {
		return errors.Join(err, os.Remove(partial.Name()))
	}
	return os.Rename(partial.Name(), file)
}

// unpack adds a package's files to the tree, and its control file where the
// scanners of images look for packages that no dpkg has installed.
func (d deb) unpack(t tree, file []byte, only []string) error {
	members, err := readAr(file)
	if err != nil {
		return fmt.Errorf("package %s: %w", d.name, err)
	}
	data, err := xz.NewReader(bytes.NewReader(members["data.tar.xz"]))
	if err != nil {
		return fmt.Errorf("package %s: data: %w", d.name, err)
	}
	if err := t.add(data, func(name string) string { return wanted(name, only) }); err != nil {
		return fmt.Errorf("package %s: %w", d.name, err)
	}
	control, err := xz.NewReader(bytes.NewReader(members["control.tar.xz"]))
	if err != nil {
		return fmt.Errorf("package %s: control: %w", d.name, err)
	}
	return t.add(control, func(name string) string {
		if name == "control" {
			return "var/lib/dpkg/status.d/" + d.name
		}
		return ""
	})
}

// unwanted are what a program does not need to run: translations and documents,
// character sets but UTF-8, what only a shell at a terminal uses, and what
// PostgreSQL compiles queries with.
var unwanted = []string{
	"usr/share/bug/*", "usr/share/doc-base/*", "usr/share/info/*", "usr/share/lintian/*", "usr/share/locale/*",
	"usr/share/man/*", "usr/share/menu/*", "usr/share/pixmaps/*", "usr/share/applications/*", "usr/share/binfmts/*",
	"usr/lib/*/gconv/*", "usr/lib/*/perl5/*", "etc/ld.so.conf.d/*", "etc/update-motd.d/*", "etc/default/*",
	"usr/share/zoneinfo/right/*", "usr/share/zoneinfo/posix/*", "usr/lib/*/audit/*", "usr/share/gdb/*", "usr/share/gcc/*",
	"usr/lib/postgresql/*/lib/bitcode/*", "usr/lib/postgresql/*/lib/llvmjit*",
}

// wanted returns the path of a package's file if the image has it. Of a package
// of which only some files are wanted, the licence is too.
func wanted(name string, only []string) string {
	if strings.HasPrefix(name, "usr/share/doc/") {
		if path.Base(name) == "copyright" {
			return name
		}
		return ""
	}
	if len(only) > 0 {
		if slices.Contains(only, name) {
			return name
		}
		return ""
	}
	for _, pattern := range unwanted {
		// A pattern is about a folder's contents, at any depth.
		parts := strings.Split(name, "/")
		n := strings.Count(pattern, "/") + 1
		if len(parts) >= n {
			if ok, _ := path.Match(pattern, strings.Join(parts[:n], "/")); ok {
				return ""
			}
		}
	}
	return name
}

// readAr returns the members of an ar archive, the outer form of a package.
func readAr(file []byte) (map[string][]byte, error) {
	rest, ok := bytes.CutPrefix(file, []byte("!<arch>\n"))
	if !ok {
		return nil, errors.New("no ar archive")
	}
	members := map[string][]byte{}
	const head = 60 // name 16, time 12, owner 6, group 6, mode 8, size 10, end 2.
	for len(rest) >= head {
		name := strings.TrimRight(string(rest[:16]), " /")
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		rest = rest[head:]
		if err != nil || size < 0 || size > len(rest) {
			return nil, fmt.Errorf("member %.16q of the ar archive is broken", name)
		}
		members[name] = rest[:size]
		rest = rest[min(size+size%2, len(rest)):]
	}
	return members, nil
}

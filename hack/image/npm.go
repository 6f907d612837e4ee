// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// npmLock is what is read of a package-lock.json.
type npmLock struct {
	Packages map[string]struct {
		Version   string `json:"version"`
		Integrity string `json:"integrity"`
	} `json:"packages"`
}

// npmPackage returns the file of a package that the lock file in folder names,
// from the cache if it is there. The machine's npm fetches it, from the registry
// that the machine uses.
func npmPackage(ctx context.Context, cache, folder, name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock npmLock
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	locked, ok := lock.Packages["node_modules/"+name]
	if !ok {
		return nil, fmt.Errorf("the lock file in %s has no %s", folder, name)
	}
	sum := sha256.Sum256([]byte(locked.Integrity))
	file := filepath.Join(cache, "npm", hex.EncodeToString(sum[:])+".tgz")
	if content, err := os.ReadFile(file); err == nil && intact(content, locked.Integrity) {
		return content, nil
	}
	content, err := npmPack(ctx, folder, name+"@"+locked.Version)
	if err != nil {
		return nil, err
	}
	if !intact(content, locked.Integrity) {
		return nil, fmt.Errorf("npm's %s is not the one that the lock file names", name)
	}
	return content, keep(file, content)
}

// npmPack returns the file of one version of a package.
func npmPack(ctx context.Context, folder, exact string) ([]byte, error) {
	temporary, err := os.MkdirTemp("", "npm-pack-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	if err := npm(ctx, folder, "pack", exact, "--pack-destination="+temporary); err != nil {
		return nil, err
	}
	packed, err := filepath.Glob(filepath.Join(temporary, "*.tgz"))
	if err != nil || len(packed) != 1 {
		return nil, errors.Join(fmt.Errorf("npm pack %s wrote %d files", exact, len(packed)), err)
	}
	return os.ReadFile(packed[0])
}

// intact reports whether a file is the one of the lock file.
func intact(content []byte, integrity string) bool {
	sum := sha512.Sum512(content)
	return integrity == "sha512-"+base64.StdEncoding.EncodeToString(sum[:])
}

// npm runs the machine's npm in folder.
func npm(ctx context.Context, folder string, args ...string) error {
	cmd := exec.CommandContext(ctx, "npm", append(args, "--loglevel=error", "--ignore-scripts")...)
	cmd.Dir = folder
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("npm %s: %w", args[0], err)
	}
	return nil
}

// addNode adds node, npm and npx as the installer of node lays them out.
func addNode(ctx context.Context, t tree, root, cache, arch string) error {
	folder := filepath.Join(root, "hack", "image", "npm", "node")
	architectures := map[string]string{"amd64": "x64", "arm64": "arm64"}
	for name, place := range map[string]func(file string) string{
		"node-linux-" + architectures[arch]: func(file string) string {
			switch file {
			case "bin/node":
				return "usr/local/bin/node"
			case "LICENSE":
				return "usr/local/share/doc/node/LICENSE"
			}
			return ""
		},
		"npm": func(file string) string {
			for _, unused := range []string{"docs/", "man/"} {
				if strings.HasPrefix(file, unused) {
					return ""
				}
			}
			return "usr/local/lib/node_modules/npm/" + file
		},
	} {
		file, err := npmPackage(ctx, cache, folder, name)
		if err != nil {
			return err
		}
		data, err := gzip.NewReader(bytes.NewReader(file))
		if err != nil {
			return fmt.Errorf("package %s: %w", name, err)
		}
		if err := t.add(data, func(file string) string { return place(strings.TrimPrefix(file, "package/")) }); err != nil {
			return fmt.Errorf("package %s: %w", name, err)
		}
	}
	for _, command := range []string{"npm", "npx"} {
		t["usr/local/bin/"+command] = entry{link: "../lib/node_modules/npm/bin/" + command + "-cli.js", mode: 0o777}
	}
	return nil
}

// addServers adds the servers of npm/servers to /app. They are the same for
// every architecture.
func addServers(ctx context.Context, t tree, root, cache, _ string) error {
	folder := filepath.Join(root, "hack", "image", "npm", "servers")
	installed, err := install(ctx, cache, folder)
	if err != nil {
		return err
	}
	// The list of what is installed names the machine's registry or not, as the
	// version of its npm is.
	return t.addFolder("app/node_modules", installed, func(name string) bool { return name != ".package-lock.json" })
}

// install returns a folder of the cache with the packages of a lock file.
func install(ctx context.Context, cache, folder string) (string, error) {
	hash := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
	}
	target := filepath.Join(cache, "npm-ci", hex.EncodeToString(hash.Sum(nil))[:32])
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(target), ".ci-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temporary)
	if err := os.CopyFS(temporary, os.DirFS(folder)); err != nil {
		return "", err
	}
	if err := npm(ctx, temporary, "ci", "--omit=dev"); err != nil {
		return "", err
	}
	return target, os.Rename(filepath.Join(temporary, "node_modules"), target)
}

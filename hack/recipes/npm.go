// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// maxUnpacked is how much of a package is looked through, in bytes: the largest
// ones carry a program for each platform.
const maxUnpacked = 1 << 30

// view asks npm about one version of a package. The machine's npm asks the
// registry that the machine uses.
func view(ctx context.Context, name, version string) (*facts, error) {
	out, err := runNPM(ctx, "", "view", name+"@"+version, "--json", "version", "deprecated", "dist-tags.latest")
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	return parseView(out, err)
}

// parseView reads what npm view --json printed. That there is no such version
// is said as an error with a code, or as nothing at all.
func parseView(out []byte, failed error) (*facts, error) {
	var said struct {
		Latest     string `json:"dist-tags.latest"`
		Deprecated string `json:"deprecated"`
		Error      struct {
			Code    string `json:"code"`
			Summary string `json:"summary"`
		} `json:"error"`
	}
	if len(bytes.TrimSpace(out)) == 0 && failed == nil {
		return &facts{missing: true}, nil
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, errors.Join(fmt.Errorf("read npm's answer: %w", err), failed)
	}
	switch {
	case said.Error.Code == "E404" || said.Error.Code == "ETARGET":
		return &facts{missing: true}, nil
	case failed != nil || said.Error.Code != "":
		return nil, errors.Join(fmt.Errorf("npm view: %s %s", said.Error.Code, said.Error.Summary), failed)
	}
	return &facts{latest: said.Latest, deprecated: said.Deprecated}, nil
}

// unmentioned returns the words that no file of a package has. The package is
// downloaded and not installed: nothing of it runs.
func unmentioned(ctx context.Context, exact string, words []string) ([]string, error) {
	folder, err := os.MkdirTemp("", "recipes-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if _, err := runNPM(ctx, folder, "pack", exact, "--ignore-scripts"); err != nil {
		return nil, err
	}
	packed, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(packed) != 1 {
		return nil, errors.Join(fmt.Errorf("npm pack %s wrote %d files", exact, len(packed)), err)
	}
	file, err := os.Open(packed[0])
	if err != nil {
		return nil, err
	}
	defer file.Close()
	left, err := absent(file, words)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", exact, err)
	}
	return left, nil
}

// absent returns the words that no file of a tar.gz has.
func absent(packed io.Reader, words []string) ([]string, error) {
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	left := slices.Clone(words)
	files := tar.NewReader(io.LimitReader(unzipped, maxUnpacked))
	for len(left) > 0 {
		if _, err := files.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return nil, err
		}
		left = slices.DeleteFunc(left, func(word string) bool { return bytes.Contains(content, []byte(word)) })
	}
	return left, nil
}

// runNPM runs the machine's npm in a folder and returns what it prints.
func runNPM(ctx context.Context, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "npm", append(args, "--loglevel=silent")...)
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("npm %s: %w", args[0], err)
	}
	return out, nil
}

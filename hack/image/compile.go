// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// findRoot returns the repository's root: the folder, from here upwards, that
// holds hack/image.
func findRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "hack", "image", "go.mod")); err == nil {
			return folder, nil
		}
		if filepath.Dir(folder) == folder {
			return "", errors.New("run this inside the repository: no folder above holds hack/image/go.mod")
		}
		folder = filepath.Dir(folder)
	}
}

// target is where binaries go, and for which machines.
type target struct {
	root, folder, arch string
	// stamp is what the linker is told of a release.
	stamp string
}

// compile builds the binaries of the images into folder. Binaries of one
// module are built by one go command, which shares what they have in common.
// What Go has in its cache costs about a second in all.
func compile(ctx context.Context, t target, wanted []spec) error {
	modules := map[string][]string{}
	var order []string
	for _, s := range wanted {
		for _, pkg := range s.programs() {
			if modules[s.module] == nil {
				order = append(order, s.module)
			}
			if !slices.Contains(modules[s.module], pkg) {
				modules[s.module] = append(modules[s.module], pkg)
			}
		}
	}
	if err := os.MkdirAll(t.folder, 0o755); err != nil {
		return err
	}
	for _, module := range order {
		// -buildvcs=false: an unchanged program is the same binary, whatever
		// else was committed. The trailing separator makes -o a folder.
		args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=" + strings.TrimSpace("-s -w "+t.stamp),
			"-o", t.folder + string(filepath.Separator)}, modules[module]...)
		cmd := goCommand(ctx, t.root, module, args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+t.arch, "GOWORK=off")
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %v: %w", modules[module], err)
		}
	}
	return nil
}

// goCommand returns a go command in a module of the repository.
func goCommand(ctx context.Context, root, module string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(root, module)
	return cmd
}

// compiled returns the compiled program of an image, and the files of its further
// programs.
func compiled(folder string, s spec) (program []byte, more []file, err error) {
	files, err := compiledFiles(folder, s.programs())
	if err != nil {
		return nil, nil, err
	}
	return files[0].content, files[1:], nil
}

// compiledFiles returns the compiled programs of packages, each under its folder's name.
func compiledFiles(folder string, pkgs []string) (files []file, err error) {
	for _, pkg := range pkgs {
		content, err := os.ReadFile(filepath.Join(folder, path.Base(pkg)))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path.Base(pkg), 0o755, content})
	}
	return files, nil
}

// programs are the packages of all programs of an image.
func (s spec) programs() []string {
	if s.pkg == "" {
		return s.more
	}
	return append([]string{s.pkg}, s.more...)
}

// withPrograms returns an image of parts with its further programs, which are compiled in
// folder, as one part more.
func (s spec) withPrograms(folder string) (spec, error) {
	if len(s.more) == 0 {
		return s, nil
	}
	files, err := compiledFiles(folder, s.more)
	if err != nil {
		return spec{}, err
	}
	programs := part{name: "programs", files: tree{}}
	for _, f := range files {
		programs.files[path.Join(programsFolder, f.path)] = entry{mode: f.mode, content: f.content}
	}
	s.parts = append(slices.Clone(s.parts), programs)
	return s, nil
}

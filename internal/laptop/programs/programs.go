// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package programs keeps the packages of npm that bridge add installs on a laptop. Each is a
// folder that is made once by its lock file, and does not change.
package programs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
)

const (
	// usersFile has the configurations that may name a program.
	usersFile = "configurations.json"
	// unfinished begins the names of folders in which npm is at work.
	unfinished = ".new-"
	// digestLength is how much of a lock file's digest a folder's name has, in hexadecimal
	// digits: 128 bits.
	digestLength = 32
)

// Folder has all installed programs.
type Folder struct{ path string }

// Open returns the programs in this data folder, which need not exist.
func Open(data string) Folder { return Folder{path: filepath.Join(data, "programs")} }

// Change calls f while no other process installs or removes programs. What f installs has to be in
// the configuration at its end. Then programs that no configuration names are removed.
func (p Folder) Change(ctx context.Context, configuration string, f func() error) error {
	unlock, err := laptop.LockUntil(ctx, filepath.Join(p.path, usersFile))
	if err != nil {
		return err
	}
	defer unlock()
	if configuration, err = filepath.Abs(configuration); err != nil {
		return fmt.Errorf("find the configuration: %w", err)
	}
	if err := f(); err != nil {
		return err
	}
	return p.removeUnused(configuration)
}

// Lacks reports whether a command starts a program that is no longer installed.
func (p Folder) Lacks(command []string) bool {
	if len(command) < 2 || !strings.HasPrefix(command[1], p.path+string(filepath.Separator)) {
		return false
	}
	_, err := os.Stat(command[1])
	return errors.Is(err, fs.ErrNotExist)
}

// Program is an installed package.
type Program struct {
	bundle.Tree
	// Dir is the folder that the paths of its programs begin in.
	Dir string
}

// Install returns a package in an exact version, and installs it first if it is not there. Its
// dependencies are those of the lock file that this bridge has of it, or else those of the day on
// which it is installed. Change has to be its caller. report is told before npm begins.
func (p Folder) Install(ctx context.Context, name, version string, report func(string)) (Program, error) {
	lock := Lock(FindLock(name, version))
	dir, err := p.find(name, version, lock)
	if err != nil || dir != "" {
		return read(dir, name, err)
	}
	report("installing " + name + "@" + version)
	if lock == nil {
		report("its dependencies are those that the registry names today, and do not change from then on")
		if lock, _, err = Freeze(ctx, name, version); err != nil {
			return Program{}, err
		}
	}
	fresh, err := os.MkdirTemp(p.path, unfinished)
	if err != nil {
		return Program{}, fmt.Errorf("install %s: %w", name, err)
	}
	if err := Clean(ctx, fresh, name, version, lock); err != nil {
		return Program{}, errors.Join(err, os.RemoveAll(fresh))
	}
	dir = p.dirOf(name, version, lock)
	if err := os.Rename(fresh, dir); err != nil {
		return Program{}, errors.Join(fmt.Errorf("install %s: %w", name, err), os.RemoveAll(fresh))
	}
	return read(dir, name, nil)
}

// prefix begins the names of a package's folders.
func prefix(name, version string) string {
	return strings.ReplaceAll(name, "/", "+") + "@" + version + "-"
}

func (p Folder) dirOf(name, version string, lock Lock) string {
	sum := sha256.Sum256(lock)
	return filepath.Join(p.path, prefix(name, version)+hex.EncodeToString(sum[:])[:digestLength])
}

// find returns the folder of an installed package, empty if it is not installed. Without a lock file it
// is the one that was installed first.
func (p Folder) find(name, version string, lock Lock) (string, error) {
	entries, err := os.ReadDir(p.path)
	if err != nil {
		return "", fmt.Errorf("read the installed programs: %w", err)
	}
	wanted := p.dirOf(name, version, lock)
	for _, e := range entries {
		digest, ok := strings.CutPrefix(e.Name(), prefix(name, version))
		if path := filepath.Join(p.path, e.Name()); path == wanted || lock == nil && ok && len(digest) == digestLength {
			return path, nil
		}
	}
	return "", nil
}

func read(dir, name string, err error) (Program, error) {
	if err != nil {
		return Program{}, err
	}
	tree, err := bundle.FromNPM(dir, name)
	return Program{Tree: tree, Dir: dir}, err
}

// File returns the path of a program of the package. An empty name is that of the one that npx would
// start.
func (p Program) File(name, program string) (string, error) {
	if program == "" {
		var err error
		if program, err = bundle.DefaultBin(name, p.Bins); err != nil {
			return "", err
		}
	}
	file := p.Bins[program]
	if file == "" {
		return "", fmt.Errorf("%s has no program %q: its programs are %s; name one in the recipe, as npx -y --package %s@VERSION -- PROGRAM",
			name, program, strings.Join(slices.Sorted(maps.Keys(p.Bins)), ", "), name)
	}
	return filepath.Join(p.Dir, filepath.FromSlash(file)), nil
}

// removeUnused removes each program that no configuration names, among which the given one may be
// new. If one of them cannot be read now, all programs stay.
func (p Folder) removeUnused(configuration string) error {
	texts, err := p.readUsers(configuration)
	if err != nil || texts == nil {
		return err
	}
	entries, err := os.ReadDir(p.path)
	if err != nil {
		return fmt.Errorf("read the installed programs: %w", err)
	}
	for _, e := range entries {
		named := slices.ContainsFunc(texts, func(text []byte) bool { return bytes.Contains(text, []byte(e.Name())) })
		if !e.IsDir() || named {
			continue
		}
		if err := os.RemoveAll(filepath.Join(p.path, e.Name())); err != nil {
			return fmt.Errorf("remove a program that no configuration names: %w", err)
		}
	}
	return nil
}

// readUsers returns the texts of the configurations that were changed so far and still exist, and
// notes the given one with them. It returns nil if one of them cannot be read.
func (p Folder) readUsers(configuration string) ([][]byte, error) {
	users, err := p.users()
	if err != nil {
		return nil, err
	}
	var left []string
	texts, unreadable := [][]byte{}, false
	for _, path := range append(users, configuration) {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || slices.Contains(left, path) {
			continue
		}
		left, texts, unreadable = append(left, path), append(texts, text), unreadable || err != nil
	}
	encoded, err := json.Marshal(left)
	if err != nil {
		return nil, err
	}
	if err := laptop.WriteFile(filepath.Join(p.path, usersFile), encoded); err != nil || unreadable {
		return nil, err
	}
	return texts, nil
}

// users returns the configurations that were changed so far.
func (p Folder) users() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(p.path, usersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	if err == nil {
		err = json.Unmarshal(text, &paths)
	}
	if err != nil {
		return nil, fmt.Errorf("read which configurations name programs: %w", err)
	}
	return paths, nil
}

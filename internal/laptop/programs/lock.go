// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The two files from which npm ci installs.
const (
	manifestFile = "package.json"
	lockFile     = "package-lock.json"
)

// unneeded are the members of a package in a lock file that npm ci installs the same without.
// engines stays for the package itself alone: npm ci refuses a Node.js that is too old for it.
var unneeded = []string{"funding", "license", "deprecated", "dev", "devOptional", "extraneous", "workspaces", "engines"}

// Lock is a package-lock.json with what npm ci needs, and one line for each package.
type Lock []byte

// Freeze asks the registry which packages a package depends on today. It installs none. Where a
// package is at the registry is left out: the registry may be another one on each machine, and
// the checksum says that the package is the same. missing are optional packages that the registry
// does not have, such as those of other systems: the lock file is without them.
func Freeze(ctx context.Context, name, version string) (lock Lock, missing []string, err error) {
	dir, err := os.MkdirTemp("", "hosted-bridge-lock-*")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.WriteFile(filepath.Join(dir, manifestFile), manifest(name, version), 0o600); err != nil {
		return nil, nil, err
	}
	args := append([]string{"install", "--package-lock-only", "--omit-lockfile-registry-resolved"}, common...)
	if _, err := runNPM(ctx, dir, name+"@"+version, args...); err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, nil, fmt.Errorf("npm made no lock file: %w", err)
	}
	return small(text, name)
}

// Clean installs what a lock file says into an existing empty folder.
func Clean(ctx context.Context, dir, name, version string, lock Lock) error {
	if err := os.WriteFile(filepath.Join(dir, manifestFile), manifest(name, version), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, lockFile), lock, 0o600); err != nil {
		return err
	}
	_, err := runNPM(ctx, dir, name+"@"+version, append([]string{"ci", "--engine-strict"}, common...)...)
	return err
}

// manifest returns the package.json of a folder with one package in it.
func manifest(name, version string) []byte {
	return fmt.Appendf(nil, `{"private":true,"dependencies":{%q:%q}}`, name, version)
}

// lockEntry is a package in a lock file.
type lockEntry map[string]json.RawMessage

// small returns the lock file without what npm ci does not need, and the optional packages that
// it lacks.
func small(text []byte, name string) (lock Lock, missing []string, err error) {
	var read struct {
		Version  int                  `json:"lockfileVersion"`
		Packages map[string]lockEntry `json:"packages"`
	}
	if err := json.Unmarshal(text, &read); err != nil || read.Version != 3 {
		return nil, nil, errors.New("npm made no lock file of version 3: install npm 7 or later")
	}
	lines := make([]string, 0, len(read.Packages))
	for _, folder := range slices.Sorted(maps.Keys(read.Packages)) {
		e := read.Packages[folder]
		lacked, err := e.reduce(folder, folder == "node_modules/"+name, read.Packages)
		if err != nil {
			return nil, nil, fmt.Errorf("read the lock file of %s: %w", name, err)
		}
		missing = append(missing, lacked...)
		line, err := oneLine(e)
		if err != nil {
			return nil, nil, err
		}
		lines = append(lines, fmt.Sprintf("%q:%s", folder, line))
	}
	return fmt.Appendf(nil, "{\"lockfileVersion\":3,\"packages\":{\n%s\n}}\n", strings.Join(lines, ",\n")), missing, nil
}

// reduce removes what is not needed, and the optional packages that are in no folder. It returns
// these.
func (e lockEntry) reduce(folder string, itself bool, all map[string]lockEntry) (missing []string, err error) {
	for _, member := range unneeded {
		if member != "engines" || !itself {
			delete(e, member)
		}
	}
	if folder == "" {
		maps.DeleteFunc(e, func(member string, _ json.RawMessage) bool { return member != "dependencies" })
	}
	if e["optionalDependencies"] == nil {
		return nil, nil
	}
	var optional map[string]string
	if err := json.Unmarshal(e["optionalDependencies"], &optional); err != nil {
		return nil, err
	}
	for _, dependency := range slices.Sorted(maps.Keys(optional)) {
		if !installed(all, folder, dependency) {
			delete(optional, dependency)
			missing = append(missing, dependency)
		}
	}
	if len(missing) > 0 {
		e["optionalDependencies"], err = json.Marshal(optional)
	}
	return missing, err
}

// installed reports whether a package in this folder finds a dependency, as Node.js looks for it.
func installed(all map[string]lockEntry, folder, dependency string) bool {
	for {
		if _, there := all[strings.TrimPrefix(folder+"/node_modules/"+dependency, "/")]; there || folder == "" {
			return there
		}
		above, _, inside := strings.CutLast(folder, "/node_modules/")
		if folder = above; !inside {
			folder = ""
		}
	}
}

// oneLine encodes a package. It keeps the signs of ranges of versions as they are.
func oneLine(e lockEntry) (string, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(e)
	return strings.TrimSuffix(line.String(), "\n"), err
}

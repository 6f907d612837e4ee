// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"embed"
	"encoding/json"
	"strings"
)

// lockFiles are the lock files of the packages of npm that the recipes in config/recipes run:
// each dependency in one version, by its checksum. `make check-recipes LOCKS=1` makes them.
//
//go:embed locks/*.json
var lockFiles embed.FS

// LockFileOf returns the name of a package's lock file. Go embeds no file whose name begins with @.
func LockFileOf(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "+") + ".json"
}

// FindLock returns the lock file of a package in this version, nil without one.
func FindLock(name, version string) []byte {
	text, err := lockFiles.ReadFile("locks/" + LockFileOf(name))
	if err != nil || LockedVersion(text, name) != version {
		return nil
	}
	return text
}

// LockedVersion returns the version of the package that a lock file is for.
func LockedVersion(lock []byte, name string) string {
	var read struct {
		Packages map[string]struct {
			Version string `json:"version"`
		} `json:"packages"`
	}
	if json.Unmarshal(lock, &read) != nil {
		return ""
	}
	return read.Packages["node_modules/"+name].Version
}

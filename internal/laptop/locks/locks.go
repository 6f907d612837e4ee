// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package locks has the lock files of the packages of npm that the recipes in config/recipes run:
// each dependency in one version, by its checksum. `make check-recipes LOCKS=1` makes them.
package locks

import (
	"embed"
	"encoding/json"
	"strings"
)

//go:embed *.json
var files embed.FS

// FileOf returns the name of a package's lock file. Go embeds no file whose name begins with @.
func FileOf(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "+") + ".json"
}

// Find returns the lock file of a package in this version, nil if there is none.
func Find(name, version string) []byte {
	text, err := files.ReadFile(FileOf(name))
	if err != nil || Version(text, name) != version {
		return nil
	}
	return text
}

// Version returns the version of the package that a lock file is for.
func Version(lock []byte, name string) string {
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

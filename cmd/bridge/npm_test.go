// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fakeNPM does of npm what bridge add needs, without a registry: each package exists, and has the
// programs other and that with its own name. It appends its arguments to the file NPM_LOG. A package whose name begins with
// native has an install script, and npm fails for one that begins with broken after it has
// installed half of it.
func fakeNPM() {
	if path := os.Getenv("NPM_LOG"); path != "" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		check(err)
		_, err = fmt.Fprintln(f, os.Args[1])
		check(err)
		check(f.Close())
	}
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	text, err := os.ReadFile("package.json")
	check(err)
	check(json.Unmarshal(text, &manifest))
	for name, version := range manifest.Dependencies {
		if os.Args[1] == "install" {
			check(os.WriteFile("package-lock.json", fmt.Appendf(nil, `{"lockfileVersion":3,"packages":{"node_modules/%s":{"version":%q,"hasInstallScript":%t}}}`,
				name, version, strings.HasPrefix(name, "native")), 0o600))
			continue
		}
		folder := filepath.Join("node_modules", name)
		check(os.MkdirAll(folder, 0o700))
		check(os.WriteFile(filepath.Join(folder, "main.js"), nil, 0o600))
		if strings.HasPrefix(name, "broken") {
			fmt.Println("npm error code EINTEGRITY")
			os.Exit(1)
		}
		check(os.WriteFile(filepath.Join(folder, "other.js"), nil, 0o600))
		bin := `{"name":%q,"version":%q,"bin":{%q:"main.js","other":"./other.js"}}`
		_, unscoped := filepath.Split(name)
		check(os.WriteFile(filepath.Join(folder, "package.json"), fmt.Appendf(nil, bin, name, version, unscoped), 0o600))
	}
}

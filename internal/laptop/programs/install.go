// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Architectures are the processors that Install installs for, by the name that npm has for each.
var Architectures = map[string]string{"amd64": "x64", "arm64": "arm64"}

// Install installs a package with the dependencies of today into an existing empty folder, as the
// Job of an installation does in the runtime image: packages of other systems than Linux
// with glibc on this architecture are left out. Which Node.js is on this machine has no effect.
func Install(ctx context.Context, dir, name, version, architecture string) (log string, err error) {
	cpu := Architectures[architecture]
	wanted := name + "@" + version
	args := append([]string{"install", "--os=linux", "--libc=glibc", "--cpu=" + cpu}, common...)
	if log, err = runNPM(ctx, dir, wanted, append(args, wanted)...); err != nil {
		return "", err
	}
	return log, checkSystem(dir, cpu)
}

// checkSystem returns an error if npm installed a package of another system, as versions do that do
// not know the options of Install.
func checkSystem(dir, cpu string) error {
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if err != nil {
		return fmt.Errorf("read what npm installed: %w", err)
	}
	var read struct {
		Packages map[string]struct {
			OS   names `json:"os"`
			CPU  names `json:"cpu"`
			Libc names `json:"libc"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("read what npm installed: %w", err)
	}
	for folder, p := range read.Packages {
		if !p.OS.include("linux") || !p.CPU.include(cpu) || !p.Libc.include("glibc") {
			return fmt.Errorf("this npm has installed %s, which is not for linux on %s with glibc: install a later npm, with: npm install --global npm", folder, cpu)
		}
	}
	return nil
}

// names are the systems of a package: those for which it is, or with a ! those for which it is not.
type names []string

// UnmarshalJSON accepts one name in place of a list, as npm does.
func (n *names) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*n = names{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(n))
}

func (n names) include(system string) bool {
	excluding := slices.ContainsFunc(n, func(name string) bool { return len(name) > 0 && name[0] == '!' })
	return len(n) == 0 || slices.Contains(n, system) || slices.Contains(n, "any") || excluding && !slices.Contains(n, "!"+system)
}

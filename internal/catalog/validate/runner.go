// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

var (
	// registered are the forms of package names in the installers' registries.
	// Other sources that installers accept, such as the URL of a repository or
	// of an archive, may change any day.
	registered = map[string]*regexp.Regexp{"npx": npmName, "npm": npmName, "uvx": recipe.PythonPackage, "pip": recipe.PythonPackage}
	npmName    = regexp.MustCompile(`^(@[A-Za-z0-9_~][A-Za-z0-9._~-]*/)?[A-Za-z0-9_~][A-Za-z0-9._~-]*$`)

	// program is how a package names one of its programs.
	program = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	// others are programs, and packages of that name, that run any command that
	// they are given: interpreters, installers, and launchers of other
	// programs.
	others = regexp.MustCompile(`^(` + strings.Join([]string{
		`node|nodejs|npm|npx|pnpm|pnpx|yarn|yarnpkg|bun|bunx|deno|corepack|tsx|ts-node|jiti|zx`,
		`uv|uvx|pip|pipx|(c?python|pypy|graalpy|pyodide|ipython)w?[0-9.]*t?|py|poetry|pdm|hatch|conda|mamba`,
		`perl|ruby|gem|bundle|bundler|php|lua|luajit|tclsh|wish|expect|java|dotnet|go|cargo|osascript`,
		`wscript|cscript|mshta|rundll32|regsvr32|docker|podman|git|ssh|socat|nc|ncat|netcat|curl|wget|make`,
		`nohup|timeout|setsid|nice|ionice|stdbuf|chroot|unshare|doas|su|busybox|awk|gawk|find|parallel`,
	}, "|") + `)[0-9.]*$`)
)

// checkPlatforms refuses commands that run another program than install says on one of
// these operating systems.
func (p *collector) checkPlatforms(systems []string, i recipe.Install, t recipe.Transport) {
	for _, system := range systems {
		platform := i.Platforms[system]
		if platform.Command != "" || len(platform.Args) > 0 {
			p.checkProgram("install.platforms."+system, i, recipe.Over(platform, t))
		}
	}
}

func (p *collector) checkProgram(field string, i recipe.Install, t recipe.Transport) {
	switch i.Method {
	case "npx", "uvx":
		p.checkFetchedProgram(field, i, t)
		return
	}
	expected := i.Package
	if i.Method == "docker" {
		expected = i.Image
	}
	name, version := recipe.Runs(i, t)
	if name != expected {
		p.addOtherProgram(field+".args", name, expected)
	}
	p.checkVersion(field+".args", i, version)
}

// checkFetchedProgram checks a command of an installer that fetches a package
// whenever it is started.
func (p *collector) checkFetchedProgram(field string, i recipe.Install, t recipe.Transport) {
	if strings.TrimSuffix(t.Command, ".cmd") != i.Method && !isShell(t.Command) {
		p.add(field+".command", catalog.CodeDrift, "must be %s, which install.method says", i.Method)
	}
	f, err := recipe.Fetches(i.Method, t.Args)
	if err != nil {
		if !isShell(t.Command) {
			p.add(field+".args", catalog.CodeDrift, "%v", err)
		}
		return
	}
	name, version := f.Version()
	if !recipe.IsNameOf(i, name) {
		p.addOtherProgram(field+".args", name, i.Package)
	}
	p.checkVersion(field+".args", i, version)
	switch {
	case runsOthers(name), f.Program == "" && runsOthers(name[strings.LastIndexByte(name, '/')+1:]):
		p.add(field+".args", catalog.CodeDrift, "run %.64q, which runs whatever it is given and is no server", name)
	case f.Program != "" && (!program.MatchString(f.Program) || runsOthers(f.Program)):
		p.add(field+".args", catalog.CodeDrift, "run %.64q, which is not a program of the package alone", f.Program)
	}
}

// runsOthers reports whether a program, or its package, runs any command that
// it is given. A Python package's extras do not matter.
func runsOthers(name string) bool {
	name, _, _ = strings.Cut(strings.ToLower(name), "[")
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ending)
	}
	return others.MatchString(name) || slices.Contains(shells, name)
}

func (p *collector) addOtherProgram(field, name, expected string) {
	p.add(field, catalog.CodeDrift, "run %.128q, but install says %.128q", name, expected)
}

func (p *collector) checkVersion(field string, i recipe.Install, version string) {
	if version != "" && version != i.Version {
		p.add(field, catalog.CodeDrift, "run version %.64q, but install.version is %.64q", version, i.Version)
	}
}

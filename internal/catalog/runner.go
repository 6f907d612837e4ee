// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

var (
	// registered are the names under which the installers' registries have
	// packages. All else that they take, such as the URL of a repository or of an
	// archive, is whatever is there on that day.
	registered = map[string]*regexp.Regexp{"npx": npmName, "npm": npmName, "uvx": pypiName, "pip": pypiName}
	npmName    = regexp.MustCompile(`^(@[A-Za-z0-9_~][A-Za-z0-9._~-]*/)?[A-Za-z0-9_~][A-Za-z0-9._~-]*$`)
	pypiName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._-]+(,[A-Za-z0-9._-]+)*\])?$`)

	// steering are the variables by which installers take packages from elsewhere,
	// and by which interpreters and loaders run what no package has.
	steering = regexp.MustCompile(`(?i)^(npm_config_.*|uv_.*|pip_.*|node_options|node_path|python(path|home|startup|inspect|userbase)|ld_.*|dyld_.*|bash_env|path)$`)

	// program is how a package names one of its programs; others run whatever they
	// are given.
	program = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	others  = regexp.MustCompile(`^(node|nodejs|npm|npx|pnpm|yarn|bun|bunx|deno|corepack|tsx|ts-node|uv|uvx|pip[0-9.]*|pipx|python[0-9.]*|pypy[0-9.]*|perl|ruby|docker|podman|git|curl|wget|make|nohup|timeout|busybox|awk|find)(\.(cmd|exe))?$`)
)

// installed refuses commands that run another program than install says, on any
// operating system.
func (p *problems) installed(field string, i recipe.Install, t recipe.Transport) {
	p.runs(field, i, t)
	for _, system := range slices.Sorted(maps.Keys(i.Platforms)) {
		platform := i.Platforms[system]
		if platform.Command != "" || len(platform.Args) > 0 {
			p.runs("install.platforms."+system, i, platform.Over(t))
		}
	}
}

func (p *problems) runs(field string, i recipe.Install, t recipe.Transport) {
	switch i.Method {
	case "npx", "uvx":
		p.fetches(field, i, t)
		return
	}
	expected := i.Package
	if i.Method == "docker" {
		expected = i.Image
	}
	name, version := i.Runs(t)
	p.drift(field+".args", i, name, version, expected)
}

// fetches is runs of the installers that fetch a package whenever it is started.
func (p *problems) fetches(field string, i recipe.Install, t recipe.Transport) {
	if strings.TrimSuffix(t.Command, ".cmd") != i.Method && !isShell(t.Command) {
		p.add(field+".command", CodeDrift, "must be %s, which install.method says", i.Method)
	}
	f, err := recipe.Fetches(i.Method, t.Args)
	if err != nil {
		if !isShell(t.Command) {
			p.add(field+".args", CodeDrift, "%v", err)
		}
		return
	}
	name, version := f.Version()
	p.drift(field+".args", i, name, version, i.Package)
	if f.Program != "" && (!program.MatchString(f.Program) || others.MatchString(strings.ToLower(f.Program)) || isShell(f.Program)) {
		p.add(field+".args", CodeDrift, "run %.64q, which is not a program of the package alone", f.Program)
	}
}

func (p *problems) drift(field string, i recipe.Install, name, version, expected string) {
	if name != expected {
		p.add(field, CodeDrift, "run %.128q, but install says %.128q", name, expected)
	}
	if version != "" && version != i.Version {
		p.add(field, CodeDrift, "run version %.64q, but install.version is %.64q", version, i.Version)
	}
}

// steered refuses variables that decide what runs.
func (p *problems) steered(field string, t recipe.Transport) {
	for _, e := range t.Env {
		if steering.MatchString(e.Name) {
			p.add(field+".env."+e.Name, CodeDrift, "decides where packages come from, or what runs beside them: install alone may say that")
		}
	}
}

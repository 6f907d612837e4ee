// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// oldAfter is after how long somebody should look at a recipe again: the age at
// which the catalog begins to warn.
const oldAfter = 90 * 24 * time.Hour

// facts are what a registry says of one version of a package.
type facts struct {
	// missing means that the registry has no such package or version.
	missing bool
	// latest is the version that people get who name none.
	latest string
	// deprecated is what its maker says, empty where it is not deprecated.
	deprecated string
	// unmentioned are the words of the recipe that no file of the package has.
	unmentioned []string
}

// finding is something to do about a recipe.
type finding struct {
	// wrong is that the recipe does not work, or soon will not.
	wrong bool
	text  string
}

func (f finding) kind() string {
	if f.wrong {
		return "mend"
	}
	return "note"
}

// judge returns what is to be done about a recipe. Facts are nil for a package
// that was not looked up.
func judge(r recipe.Recipe, f *facts, now time.Time) []finding {
	var found []finding
	add := func(wrong bool, format string, args ...any) {
		found = append(found, finding{wrong, fmt.Sprintf(format, args...)})
	}
	verified, err := time.Parse(time.DateOnly, r.Metadata.LastVerified)
	if err != nil {
		add(false, "metadata.lastVerified is not a date")
	} else if age := now.Sub(verified); age > oldAfter {
		add(false, "was verified %d days ago", int(age.Hours()/24))
	}
	if f == nil {
		return found
	}
	named := r.Install.Package + "@" + r.Install.Version
	if f.missing {
		add(true, "npm has no %s", named)
		return found
	}
	if f.deprecated != "" {
		add(true, "%s is deprecated: %s", named, f.deprecated)
	}
	if catalog.CompareVersions(f.latest, r.Install.Version) > 0 {
		add(false, "%s is out, the recipe has %s", f.latest, r.Install.Version)
	}
	for _, word := range f.unmentioned {
		add(true, "no file of %s has %s", named, word)
	}
	return found
}

// words are what a package must mention if the recipe is right: the variables
// and the options that its programs are started with, and the tools that it is
// said to have.
func words(r recipe.Recipe) []string {
	var all []string
	for _, t := range r.Transports {
		if t.Type != recipe.Stdio {
			continue
		}
		for _, e := range t.Env {
			all = append(all, e.Name)
		}
		all = append(all, serverOptions(t.Args, r.Install.Package)...)
	}
	for _, tool := range r.Metadata.ToolExamples {
		all = append(all, tool.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// serverOptions are the options after the package's name: those before it are
// the installer's. Programs declare an option without its hyphens.
func serverOptions(args []string, name string) []string {
	at := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, name) })
	var options []string
	for _, a := range args[at+1:] {
		option, _, _ := strings.Cut(a, "=")
		if option = strings.TrimPrefix(option, "--"); strings.HasPrefix(a, "--") && option != "" {
			options = append(options, option)
		}
	}
	return options
}

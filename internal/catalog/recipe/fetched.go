// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Fetched is what npx or uvx fetches and starts.
type Fetched struct {
	// Package is the package's name in the arguments.
	Package string
	// Program is which of its programs is started, empty for the default one.
	Program string
	// Python says that uvx is to run it with a certain version of Python.
	Python bool
	// Args are the arguments of the program.
	Args []string
}

var (
	// naming are the options before the package.
	naming = map[string][]string{"npx": {"-p", "--package"}, "uvx": {"--from"}}
	// silent are options that do not affect what runs.
	silent = map[string][]string{"npx": {"-y", "--yes", "-q", "--quiet"}, "uvx": {"-q", "--quiet"}}
	// pythons are uvx's options for the version of Python, and pythonVersion
	// matches a version: a path would be another program.
	pythons       = []string{"-p", "--python"}
	pythonVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,2}$`)
)

// Fetches returns what the arguments of npx or uvx fetch and start. Before the
// program it accepts only the few options that do not affect that: others add
// packages, or fetch them from elsewhere.
func Fetches(method string, args []string) (Fetched, error) {
	var f Fetched
	for len(args) > 0 {
		word, next := args[0], ""
		if len(args) > 1 {
			next = args[1]
		}
		named, words := allowed(method, word, next)
		switch {
		case words > 0 && (named == "" || f.Package == ""):
			f = f.note(method, word, named)
			args = args[words:]
		case word == "--" && next != "" && next[0] != '-':
			return f.start(next, args[2:]), nil
		case strings.HasPrefix(word, "-"):
			option, _, _ := strings.Cut(word, "=")
			return Fetched{}, fmt.Errorf("%.40q may not stand before the program: only %s may, once, with the package%s", option, strings.Join(naming[method], " or "), besides(method))
		default:
			return f.start(word, args[1:]), nil
		}
	}
	return Fetched{}, errors.New("name no program")
}

// allowed returns how many words an option takes that may stand before the
// program, zero for all others, and the package if it names one.
func allowed(method, word, next string) (named string, words int) {
	if slices.Contains(silent[method], word) {
		return "", 1
	}
	option, value, joined := strings.Cut(word, "=")
	words = 1
	switch {
	case !joined:
		value, words = next, 2
	case !strings.HasPrefix(option, "--"):
		return "", 0 // Short options are not joined to what they name in the same way everywhere.
	}
	switch {
	case isPython(method, option, value):
		return "", words
	case slices.Contains(naming[method], option) && value != "":
		return value, words
	}
	return "", 0
}

// isPython reports whether an option of uvx names a version of Python.
func isPython(method, option, value string) bool {
	return method == "uvx" && slices.Contains(pythons, option) && pythonVersion.MatchString(value)
}

// note notes an option that is allowed, and the package if it names one.
func (f Fetched) note(method, option, named string) Fetched {
	f.Package += named
	f.Python = f.Python || named == "" && !slices.Contains(silent[method], option)
	return f
}

// start notes the first word that is not an option, which is the package unless an
// option names it, and what follows it.
func (f Fetched) start(word string, args []string) Fetched {
	f.Args = args
	if f.Package == "" {
		f.Package = word
	} else {
		f.Program = word
	}
	return f
}

func besides(method string) string {
	if method == "npx" {
		return ", and -y and --quiet"
	}
	return ", and --quiet, and --python with a version such as 3.12"
}

// Version splits the package from the version that the arguments give it.
func (f Fetched) Version() (name, version string) { return splitPackage(f.Package) }

// exactVersion matches one version of npm.
var exactVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// IsExactVersion reports whether a text is one version of npm, and no range or tag.
func IsExactVersion(text string) bool { return exactVersion.MatchString(text) }

// PythonPackage is how a package of Python's registry is named, with its extras.
var PythonPackage = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._-]+(,[A-Za-z0-9._-]+)*\])?$`)

// separators are all equal in a Python package's name.
var separators = regexp.MustCompile(`[-_.]+`)

// IsNameOf reports whether a name is that of the installed package. Python ignores
// case, and does not distinguish hyphens, underscores and dots; extras are
// parts of the same package.
func IsNameOf(i Install, name string) bool {
	if name == i.Package {
		return true
	}
	if i.Method != "uvx" && i.Method != "pip" || !PythonPackage.MatchString(name) {
		return false
	}
	return project(name) == project(i.Package)
}

// project returns a Python package's name as its registry compares it, without
// extras.
func project(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return separators.ReplaceAllString(strings.ToLower(name), "-")
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// command returns the command that starts a program. Whatever a recipe wants
// installed, built or downloaded first is a step for a person: nothing of a
// recipe is run but its server.
func (w *converter) command(i Install, t Transport) ([]string, error) {
	command := append([]string{t.Command}, t.Args...)
	switch i.Method {
	case "npx", "uvx":
		return w.runner(i, command), nil
	case "npm":
		w.step("npm install --global " + reference(i, "@"))
	case "pip":
		w.step("pip install " + reference(i, "=="))
	case "go":
		w.step("go install " + reference(i, "@"))
	case "binary":
		if i.Binary != "" && i.Binary != t.Command {
			w.out.Steps = append(w.out.Steps, fmt.Sprintf("download %s, check it and put it on the PATH as %s", i.Binary, t.Command))
		}
	case "git":
		return command, w.checkout(i)
	case "docker":
		return w.container(i, command)
	}
	return command, nil
}

func (w *converter) step(command string) { w.out.Steps = append(w.out.Steps, "run: "+command) }

// reference returns a package with its version.
func reference(i Install, separator string) string {
	if i.Version == "" || i.Version == "latest" && separator == "==" {
		return i.Package
	}
	return i.Package + separator + i.Version
}

// checkout refuses a program that must be built and was not: the effect of a
// build command cannot be known beforehand.
func (w *converter) checkout(i Install) error {
	if w.choice.Dir == "" {
		return fmt.Errorf("the program is built from source, which a person must do: clone %s, read and run its build command (%s), and give the folder", i.Repository, i.BuildCommand)
	}
	return nil
}

// runners are the options of npx and uvx that consume the next word, besides
// those that name the package.
var runners = map[string][]string{
	"npx": {"-c", "--call", "-w", "--workspace"},
	"uvx": {"--with", "-p", "--python", "--index", "--index-url", "--default-index"},
}

// runner returns the command of a package that is fetched when it starts.
// install and the arguments both name a version, and both are signed. The
// version in the arguments counts, since other clients run that; without one
// there, the package is pinned to install's version.
func (w *converter) runner(i Install, command []string) []string {
	if name := strings.TrimSuffix(command[0], ".cmd"); name != i.Method {
		w.warn("install.method is %s, but the command is %s", i.Method, command[0])
		return command
	}
	args := slices.Clone(command[1:])
	if i.Method == "npx" && !slices.Contains(args, "-y") && !slices.Contains(args, "--yes") {
		// Without it npx asks, and nobody would answer.
		args = slices.Insert(args, 0, "-y")
	}
	if at, from := packageAt(i.Method, args); at < 0 {
		w.warn("the arguments name no package")
	} else {
		args[at] = args[at][:from] + w.pin(i, args[at][from:])
	}
	return append(command[:1:1], args...)
}

// pin returns the package in the arguments with its version.
func (w *converter) pin(i Install, word string) string {
	name, version := splitPackage(word)
	exact := i.Version != "" && i.Version != "latest"
	switch {
	case !IsNameOf(i, name):
		w.warn("install.package is %s, but the arguments run %s", i.Package, name)
	case version == "" && exact:
		return name + "@" + i.Version
	case version != "" && exact && version != i.Version:
		w.warn("install.version is %s, but the arguments run %s, which is kept", i.Version, version)
	}
	if version == "" || version == "latest" {
		w.warn("%s runs in whatever version is the newest then", name)
	}
	return word
}

// packageAt returns the index of the word with the package, -1 if there is
// none, and where in the word it begins: after the option in --package=notes.
func packageAt(method string, args []string) (at, from int) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if !strings.HasPrefix(word, "-") {
			return i, 0
		}
		option, _, assigned := strings.Cut(word, "=")
		switch {
		case slices.Contains(naming[method], option) && assigned:
			return i, len(option) + len("=")
		case slices.Contains(naming[method], option):
			return nextAfter(args, i), 0
		case slices.Contains(runners[method], word):
			i++
		}
	}
	return -1, 0
}

func nextAfter(args []string, i int) int {
	if i+1 < len(args) {
		return i + 1
	}
	return -1
}

// splitPackage splits a package from its version. The @ of a scope does not
// begin a version.
func splitPackage(word string) (name, version string) {
	if at := strings.LastIndex(word, "=="); at > 0 {
		return word[:at], word[at+2:]
	}
	if at := strings.LastIndexByte(word, '@'); at > 0 {
		return word[:at], word[at+1:]
	}
	return word, ""
}

// Runs returns the package or the image that a transport's command runs, and
// its version as the command names it, empty if only the installer knows.
func Runs(i Install, t Transport) (name, version string) {
	switch i.Method {
	case "npx", "uvx":
		if at, from := packageAt(i.Method, t.Args); at >= 0 {
			return splitPackage(t.Args[at][from:])
		}
	case "docker":
		if len(t.Args) > 0 && t.Args[0] == "run" {
			image, _ := runOf(t.Args[1:])
			return image, ""
		}
	}
	return i.Package, ""
}

// harmless are the options of docker run that a recipe may use, and whether
// they take a value. All others are refused: many give a container more than
// its own files and an outward network, and some give it the machine.
var harmless = map[string]bool{
	"-i": false, "--interactive": false, "-t": false, "--tty": false, "--rm": false, "--init": false, "--read-only": false,
	"-e": true, "--env": true, "--name": true, "-u": true, "--user": true, "-w": true, "--workdir": true,
	"-m": true, "--memory": true, "--cpus": true, "--pids-limit": true, "--platform": true, "--pull": true,
	"--cap-drop": true, "--tmpfs": true, "-l": true, "--label": true, "--entrypoint": true,
}

// container returns the command of a container image, and refuses options that
// would give it access to the machine.
func (w *converter) container(i Install, command []string) ([]string, error) {
	if command[0] != "docker" || len(command) < 2 || command[1] != "run" {
		return nil, errors.New("install.method is docker, but the command is not docker run")
	}
	image, refused := runOf(command[2:])
	if refused != "" {
		return nil, fmt.Errorf("docker run %.40q may give the container more of the machine than its own files: add the server by hand if that is wanted", refused)
	}
	if image == "" {
		return nil, errors.New("docker run names no image")
	}
	if image != i.Image {
		w.warn("install.image is %s, but the arguments run %s", i.Image, image)
	}
	if !strings.Contains(image, "@sha256:") {
		w.warn("the image %s is named by a tag, which may come to mean another", image)
	}
	return command, nil
}

// runOf returns the image in the arguments of docker run, and the first option
// before it that is not harmless.
func runOf(args []string) (image, refused string) {
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			return args[i], refused
		}
		option, _, assigned := strings.Cut(args[i], "=")
		valued, ok := harmless[option]
		if !ok && args[i] != "-it" && refused == "" {
			refused = option
		}
		if valued && !assigned {
			i++
		}
	}
	return "", refused
}

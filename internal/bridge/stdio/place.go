// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// place describes where a program runs: the environment it gets besides its launch, and how it
// ends.
type place struct {
	// basics are the variables that every program gets.
	basics []string
	// folder is the parent of the programs' folders.
	folder string
	// alone says that all other descendants of this process belong to the one program, as in a
	// separate container.
	alone bool
	// installed is where npx installs programs; empty if it is not for this process to remove.
	installed string
	grace     grace
}

// folderVariable contains the folder of the program's files. It also marks leftover processes of
// the program, which inherit it.
const folderVariable = "HOSTED_BRIDGE_RUN_DIR"

// authoritiesFile is the file, in the program's home, of the certificate authorities that Node.js
// trusts besides its own.
const authoritiesFile = "authorities.pem"

// container returns the place of a program in its own container. Its home and caches are in the
// folder for temporary files, the only writable folder there. They survive the program, so that
// the next run finds the downloads of the previous one.
func container(p Post) (place, error) {
	if p.Files != "" {
		if err := sweep(p.Files); err != nil {
			return place{}, err
		}
	}
	tmp := os.TempDir()
	home := filepath.Join(tmp, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return place{}, fmt.Errorf("make the programs' home: %w", err)
	}
	basics := slices.Clone(p.Env)
	if p.Authorities != "" {
		file := filepath.Join(home, authoritiesFile)
		if err := os.WriteFile(file, []byte(p.Authorities), 0o600); err != nil {
			return place{}, fmt.Errorf("write the certificate authorities: %s", bare(err))
		}
		basics = append(basics, "NODE_EXTRA_CA_CERTS="+file)
	}
	return place{
		basics: append(basics,
			"PATH="+own("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
			"LANG="+own("LANG", "C.UTF-8"),
			"USER="+own("USER", "nonroot"),
			"HOME="+home,
			"TMPDIR="+tmp,
			"XDG_CACHE_HOME="+filepath.Join(home, ".cache"),
			"XDG_CONFIG_HOME="+filepath.Join(home, ".config"),
			"XDG_DATA_HOME="+filepath.Join(home, ".local", "share"),
			"XDG_STATE_HOME="+filepath.Join(home, ".local", "state"),
			"npm_config_cache="+filepath.Join(home, ".npm"),
			"UV_CACHE_DIR="+filepath.Join(home, ".cache", "uv"),
		),
		folder:    cmp.Or(p.Files, tmp),
		alone:     true,
		installed: filepath.Join(home, ".npm", "_npx"),
		grace:     grace{bridgeGrace, stdinGrace, termGrace},
	}, nil
}

// The variables of a person that programs on their machine also get: they name folders, and none
// can hold a secret.
var (
	personal        = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ"}
	personalWindows = []string{
		"PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "TEMP", "TMP", "USERNAME", "USERPROFILE",
		"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROCESSOR_ARCHITECTURE",
	}
)

// desk returns the place of a program on a person's own machine.
func desk() place {
	names := personal
	if runtime.GOOS == "windows" {
		names = personalWindows
	}
	p := place{folder: os.TempDir(), grace: grace{stdin: stdinGrace, term: termGrace}}
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			p.basics = append(p.basics, name+"="+value)
		}
	}
	// If the system has a private folder in memory, files with secrets belong there.
	if runtimeDir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtimeDir) {
		if info, err := os.Stat(runtimeDir); err == nil && info.IsDir() && info.Mode().Perm()&0o077 == 0 { //nolint:gosec // The person's own variable.
			p.folder = runtimeDir
		}
	}
	return p
}

// own returns a variable of this process, or the default.
func own(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// folderPattern matches the names of the programs' folders.
const folderPattern = "hosted-bridge-*"

// sweep removes folders with secrets that are left in files: those of programs that ended together
// with the process that ran them.
func sweep(files string) error {
	left, err := filepath.Glob(filepath.Join(files, folderPattern))
	if err != nil {
		return fmt.Errorf("look for former programs' files: %w", err)
	}
	for _, folder := range left {
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("remove a former program's files: %s", bare(err))
		}
	}
	return nil
}

// lay creates the folder of a program with its files, all readable only by this user.
func (p place) lay(files []File) (folder string, err error) {
	folder, err = os.MkdirTemp(p.folder, folderPattern)
	if err != nil {
		return "", fmt.Errorf("make the program's folder: %w", err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(folder, f.Name), f.Content, 0o600); err != nil {
			_ = os.RemoveAll(folder)
			// The error contains only the file's name, which is not a secret.
			return "", fmt.Errorf("write a file of the program: %w", err)
		}
	}
	return folder, nil
}

// find returns the path of a command, searched in the program's own PATH. If it is not found, reason
// completes a sentence that starts with the program.
func find(command string, env []string, dir string) (path, reason string) {
	if strings.ContainsAny(command, `/\`) {
		path := command
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return command, unfit(path)
	}
	reason = "was not found on PATH: install it where the server runs, or give its full path"
	for _, folder := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(folder) {
			continue // A file in the working directory is not a trusted program.
		}
		for _, suffix := range suffixes(env) {
			path := filepath.Join(folder, command+suffix)
			switch why := unfit(path); why {
			case "":
				return path, ""
			case notThere:
			default:
				reason = why
			}
		}
	}
	return "", reason
}

// notThere is the reason for a path that does not exist.
const notThere = "does not exist at its path: install it where the server runs"

// unfit returns why the file at path cannot be run, or an empty string.
func unfit(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notThere
	case err != nil:
		return "cannot be looked at: check the permissions of its folders"
	case info.IsDir():
		return "is a folder"
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return "is not executable: set its mode with chmod +x"
	}
	return ""
}

// suffixes are the possible suffixes of a command's file name.
func suffixes(env []string) []string {
	if runtime.GOOS != "windows" {
		return []string{""}
	}
	return append([]string{""}, filepath.SplitList(variable(env, "PATHEXT"))...)
}

// variable returns the value of a variable as the program sees it: the last one counts.
func variable(env []string, name string) string {
	for _, s := range slices.Backward(env) {
		if k, v, _ := strings.Cut(s, "="); k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

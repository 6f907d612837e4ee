// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"io"
	"slices"
	"time"
)

const (
	npx = "npx"
	uvx = "uvx"
)

// methods are how packages are installed.
var methods = map[string]struct {
	// failure says why it failed, by its log, tree reads what was installed, and program returns which
	// program is started by default.
	failure func(wanted, log string) *Failure
	tree    func(dir, name string) (Tree, error)
	program func(name string, bins map[string]string) (string, error)
}{
	npx: {InstallFailure, FromNPM, DefaultBin},
	uvx: {UVFailure, FromPyPI, DefaultScript},
}

// IsMethod reports whether packages can be installed in that way.
func IsMethod(method string) bool { return methods[method].tree != nil }

// FailureOf returns why the package of a source was not installed, by the log of the install.
func FailureOf(s Source, log string) *Failure {
	return methods[s.Method].failure(s.Package+"@"+s.Version, log)
}

// Program returns the name of the program that a record's bundle starts by default, empty if there is
// none. The error is a *Failure.
func (r *Record) Program() (string, error) { return methods[r.Method].program(r.Package, r.Bins) }

// RecordOf returns what is known of the tree in the folder dir, which was installed as the source says
// and left the log, before it is packed: without digest and sizes. bin is the name of the
// program to start by default, empty if the package names none. The error is a *Failure when the package is
// at fault.
func RecordOf(dir string, s Source, log string, made time.Time) (r *Record, bin string, err error) {
	tree, err := methods[s.Method].tree(dir, s.Package)
	if err != nil {
		return nil, "", err
	}
	// uv names a version in its normal form, and installs no other one than that of ==.
	asked := func(p Package) bool { return p.Name == s.Package && p.Version == s.Version }
	if s.Method == npx && !slices.ContainsFunc(tree.Packages, asked) {
		return nil, "", failure(VersionNotFound, "npm installed another version than %s@%s: name the exact version.", s.Package, s.Version)
	}
	r = &Record{
		Source: s, Made: made.UTC().Truncate(time.Second),
		Bins: tree.Bins, Engines: tree.Engines, Packages: tree.Packages, Lock: tree.Lock, Log: log,
	}
	if bin, err = r.Program(); err != nil {
		return nil, "", err
	}
	return r, bin, nil
}

// Pack writes the tree at dir as a bundle, from the beginning of w on, and records its digest and
// sizes. The error is a *Failure when the tree is at fault.
func (r *Record) Pack(dir string, w io.WriteSeeker, limits Limits) error {
	result, err := Pack(dir, w, limits)
	if err != nil {
		return err
	}
	r.Digest, r.Size = result.Digest, result.Size
	r.CompressedSize, err = w.Seek(0, io.SeekCurrent)
	return err
}

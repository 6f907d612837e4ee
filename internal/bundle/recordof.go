// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"slices"
	"time"
)

// RecordOf returns what is known of the tree in the folder dir, which npm installed as the source says
// and wrote the log about, before it is packed: without digest and sizes. bin is the name of the
// program to start by default, empty if there is none. The error is a *Failure when the package is
// at fault.
func RecordOf(dir string, s Source, log string, made time.Time) (r *Record, bin string, err error) {
	tree, err := FromNPM(dir, s.Package)
	if err != nil {
		return nil, "", err
	}
	asked := func(p Package) bool { return p.Name == s.Package && p.Version == s.Version }
	if !slices.ContainsFunc(tree.Packages, asked) {
		return nil, "", failure(VersionNotFound, "npm installed another version than %s@%s: name the exact version.", s.Package, s.Version)
	}
	if bin, err = DefaultBin(s.Package, tree.Bins); err != nil {
		return nil, "", err
	}
	return &Record{
		Source: s, Made: made.UTC().Truncate(time.Second),
		Bins: tree.Bins, Engines: tree.Engines, Packages: tree.Packages, Lock: tree.Lock, Log: log,
	}, bin, nil
}

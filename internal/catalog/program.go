// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import "time"

// Program is the package of npm that bridges of this installation start, which is installed once
// for all users.
type Program struct {
	Package string `json:"package"`
	Version string `json:"version"`
	// State is Ready, Installing, or the reason why the package could not be installed. It is empty
	// for one that is installed when the first user adds it.
	State string `json:"state,omitempty"`
	// InstalledAt, Packages and Digest are those of a package that is Ready. Its dependencies stay
	// as they were then.
	InstalledAt *time.Time `json:"installedAt,omitempty"`
	Packages    int32      `json:"packages,omitempty"`
	Digest      string     `json:"digest,omitempty"`
	// Message is for administrators: why the package could not be installed.
	Message string `json:"-"`
}

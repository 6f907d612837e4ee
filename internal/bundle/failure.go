// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import "fmt"

// Code is why there is no bundle. A code never changes its meaning.
type Code string

const (
	// PackageNotFound means that the registry has no package of this name.
	PackageNotFound Code = "PackageNotFound"
	// VersionNotFound means that the registry has no such version of a package, or
	// has it no more.
	VersionNotFound Code = "VersionNotFound"
	// NodeTooOld means that a package needs another version of Node.
	NodeTooOld Code = "NodeTooOld"
	// PythonUnsupported means that a package does not support the version of Python.
	PythonUnsupported Code = "PythonUnsupported"
	// NoWheel means that a package has no wheel for the machine and its Python, so that it would
	// have to be built.
	NoWheel Code = "NoWheel"
	// NoProgram means that the package has no program to start.
	NoProgram Code = "NoProgram"
	// TooLarge means that the tree has more bytes or files than a bundle may have.
	TooLarge Code = "TooLarge"
	// BadTree means that the tree has what a bundle may not have, such as a link
	// that leads outside.
	BadTree Code = "BadTree"
	// RegistryUnreachable means that the registry did not answer, or its
	// certificate is not trusted.
	RegistryUnreachable Code = "RegistryUnreachable"
	// RegistryFailed means that the registry of images did not do what it was asked for.
	RegistryFailed Code = "RegistryFailed"
	// NotInRegistry means that the registry of images does not have the bundle.
	NotInRegistry Code = "NotInRegistry"
	// InstallFailed is anything else that npm or uv ended with.
	InstallFailed Code = "InstallFailed"
)

// Failure is why there is no bundle, for an administrator. Another try of the same
// gives the same, unless something outside has changed.
type Failure struct {
	Code    Code
	Message string
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

func failure(code Code, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programio

import (
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

// unstarted returns the error of a program that ended before it sent a message. Where the program was
// to fetch a package, its last lines say more than its exit code.
func unstarted(ended stdio.ProgramError) *stdio.ProgramError {
	ended.Unstarted = true
	f := bundle.FetchFailure(ended.Program, strings.Join(ended.Said, "\n"))
	if f == nil {
		ended.Reason += " before it sent a message"
		return &ended
	}
	ended.Reason = "could not fetch its package: " + f.Message
	ended.Missing = f.Code == bundle.PackageNotFound || f.Code == bundle.VersionNotFound
	return &ended
}

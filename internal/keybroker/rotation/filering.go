// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
)

// FileRing is a local ring whose files a CSI driver or an administrator writes.
// It does not change them, but says what to change.
type FileRing struct {
	// Loaded returns the ring as its files are now.
	Loaded func(ctx context.Context) (RingState, error)
}

// State implements Ring.
func (f *FileRing) State(ctx context.Context) (RingState, error) { return f.Loaded(ctx) }

// Do implements Ring.
func (f *FileRing) Do(_ context.Context, step Step, state RingState) error {
	version := targetVersion(step, state)
	const again = "Then run this command again."
	switch step {
	case StepAdd:
		return Instruction(fmt.Sprintf("Write the base64 of 32 random bytes (head -c 32 /dev/urandom | base64) into a file %d of the ring and, in the same change, %d into the file %s. %s",
			version, state.Current, currentFile, again))
	case StepSetCurrent:
		return Instruction(fmt.Sprintf("Write %d into the file %s of the ring. %s", version, currentFile, again))
	case StepSetMinimum:
		return Instruction(fmt.Sprintf("Write %d into the file %s of the ring. %s", version, minimumFile, again))
	case stepRetire:
		return Instruction(fmt.Sprintf("Remove from the ring: file %s.", joinVersions(state.retired())))
	default:
		return fmt.Errorf("%s changes nothing", step.describe(state))
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"fmt"
	"strings"
)

// FileRing is a local ring whose files come from elsewhere: a CSI driver, or
// somebody's hands. What is to be changed it only says.
type FileRing struct {
	// Loaded returns the ring as its files are now.
	Loaded func(ctx context.Context) (RingState, error)
}

// State implements Ring.
func (f *FileRing) State(ctx context.Context) (RingState, error) { return f.Loaded(ctx) }

// Do implements Ring.
func (f *FileRing) Do(_ context.Context, step Step, state RingState) error {
	version := target(step, state)
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

// TransitRing is a key of the transit engine of Vault or OpenBao. The keybroker
// may make a version of it and nothing else, see docs/operations/vault.md: the
// rest is for whoever runs the Vault.
type TransitRing struct {
	// Known returns the key's versions as the Vault tells them now.
	Known func(ctx context.Context) (RingState, error)
	// Rotate makes the next version.
	Rotate func(ctx context.Context) error
	// Mount and Key name the key.
	Mount, Key string
}

// State implements Ring.
func (t *TransitRing) State(ctx context.Context) (RingState, error) { return t.Known(ctx) }

// Do implements Ring.
func (t *TransitRing) Do(ctx context.Context, step Step, state RingState) error {
	path := strings.Trim(t.Mount, "/") + "/keys/" + t.Key
	switch step {
	case StepAdd:
		return t.Rotate(ctx)
	case StepSetMinimum:
		return Instruction(fmt.Sprintf("Run: vault write %s/config min_decryption_version=%d min_encryption_version=%d", path, state.Current, state.Current))
	case stepRetire:
		return Instruction(fmt.Sprintf("Run: vault write %s/trim min_available_version=%d", path, state.Minimum))
	default:
		return fmt.Errorf("%s changes nothing", step.describe(state))
	}
}

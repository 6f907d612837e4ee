// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
	"strings"
)

// TransitRing is a key of the transit engine of Vault or OpenBao. The keybroker
// may make a version of it and nothing else, see docs/operations/vault.md: the
// administrator of the Vault does the rest.
type TransitRing struct {
	// Known returns the key's current versions from the Vault.
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

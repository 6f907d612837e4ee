// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"io"
)

// Print writes the report for a person.
func (r *VerificationReport) Print(w io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("%s", r)
	for _, secret := range r.Unreadable {
		line("does not open: %s", secret)
	}
	for _, bridge := range r.SaltMissing {
		line("has secrets and no salt: %s", bridge)
	}
	for _, bridge := range r.NotOwned {
		line("its Secret belongs to something else: %s", bridge)
	}
	for _, secret := range r.Orphans {
		line("its HostedBridge is gone: Secret %s", secret)
	}
	if r.OK() {
		line("everything opens")
	}
}

// Print writes the report for a person.
func (r *RestorationReport) Print(w io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	for _, b := range r.Bridges {
		if b.Reason != "" {
			line("%s %s/%s: %s", b.Outcome, b.Namespace, b.Name, b.Reason)
			continue
		}
		line("%s %s/%s: %d secrets", b.Outcome, b.Namespace, b.Name, b.Secrets)
	}
	line("%d restored, %d unchanged, %d skipped, %d refused",
		r.Count(Restored), r.Count(Unchanged), r.Count(Skipped), r.Count(Refused))
	if r.DryRun {
		line("nothing was written")
	}
}

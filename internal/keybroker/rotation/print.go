// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"io"
)

// Print writes the whole state of a dry run, and what remains of a
// rotation whose progress stands above.
func (r *Report) Print(w io.Writer, dryRun bool) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("%s ring: %s", r.Ring.Provider, r.Ring)
	line("envelopes: %s", r.KeyUsage())
	if dryRun {
		for _, replica := range r.Replicas {
			if replica.Ring == nil {
				line("replica %s: %s", replica.Pod, replica.Problem)
				continue
			}
			line("replica %s: %s", replica.Pod, replica.Ring)
		}
	}
	if len(r.Next) == 0 {
		line("nothing remains to be done")
	}
	for _, next := range r.Next {
		line("next: %s", next)
	}
	if r.Instruction != "" {
		line("%s", r.Instruction)
	}
}

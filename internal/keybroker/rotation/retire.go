// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// refusal is the reason why a step will not be done, however often it is tried.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

// Retire removes the versions that a rotation left behind. It refuses while an
// envelope may need one of them, and waits for replicas that would still use
// them.
func (r *Rotation) Retire(ctx context.Context) (Report, error) {
	done, err := r.runSteps(ctx, func(ctx context.Context, s observation) (Step, string, error) {
		if !s.ring.retirable() {
			return StepComplete, "", unfinished(s)
		}
		usage, err := r.Count(ctx)
		if err != nil {
			return stepRetire, "", err
		}
		if reason := retirementBlocker(s, usage); reason != "" {
			return stepRetire, "", refusal(reason)
		}
		return stepRetire, unreadyReplicas(s), nil
	})
	return r.finish(ctx, done, err, true)
}

// retirable reports whether there are versions to remove. A provider that keeps
// versions for good does not report them.
func (r RingState) retirable() bool {
	return len(r.retired()) > 0 || r.archives() && r.Minimum > 1
}

// unfinished is the error for a ring whose rotation has not reached the point
// where versions can be retired.
func unfinished(s observation) error {
	if step := Decide(s.ring, s.replicas); step > StepAdd {
		return refusal(fmt.Sprintf("the rotation to version %d is not complete, and no version is retired before that", targetVersion(step, s.ring)))
	}
	return nil
}

// retirementBlocker says why no version can be removed.
func retirementBlocker(s observation, usage secretstore.KeyUsage) string {
	n := usage.Needing(s.ring.algorithm(), s.ring.Minimum)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d envelopes have a version below %d or do not say theirs (%s): keybroker verify names those that do not open", n, s.ring.Minimum, usage)
}

// unreadyReplicas says which replicas might still use a retired version.
func unreadyReplicas(s observation) string {
	who := lagging(s.replicas, func(r RingState) bool { return follows(r, s.ring) && r.Minimum >= s.ring.Minimum })
	if who == "" {
		return ""
	}
	return fmt.Sprintf("waiting until every replica has loaded minimum %d: %s", s.ring.Minimum, who)
}

func (r *Rotation) remainingRetirement(s observation, usage secretstore.KeyUsage) []string {
	if !s.ring.retirable() {
		if err := unfinished(s); err != nil {
			return []string{err.Error()}
		}
		return []string{}
	}
	if reason := retirementBlocker(s, usage); reason != "" {
		return []string{reason}
	}
	next := []string{stepRetire.describe(s.ring)}
	if waiting := unreadyReplicas(s); waiting != "" {
		next = append([]string{waiting}, next...)
	}
	return next
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"fmt"
)

// refusal is why something will not be done, however often it is tried.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

// Retire removes the versions that a rotation left behind. It is refused while
// an envelope may need one of them, and waits for replicas that would still
// use them.
func (r *Rotation) Retire(ctx context.Context) (RotationReport, error) {
	done, err := r.loop(ctx, func(ctx context.Context, s seen) (Step, string, error) {
		if !s.ring.retirable() {
			return StepComplete, "", unfinished(s)
		}
		census, err := r.Count(ctx)
		if err != nil {
			return stepRetire, "", err
		}
		if reason := blocked(s, census); reason != "" {
			return stepRetire, "", refusal(reason)
		}
		return stepRetire, unready(s), nil
	})
	return r.finish(ctx, done, err, true)
}

// retirable says whether there are versions to remove. What a provider that
// keeps them for good has of them it does not say.
func (r RingState) retirable() bool {
	return len(r.retired()) > 0 || r.archives() && r.Minimum > 1
}

// unfinished is the error for a ring of which nothing is retired because its
// rotation has not come to that.
func unfinished(s seen) error {
	if step := Decide(s.ring, s.replicas); step > StepAdd {
		return refusal(fmt.Sprintf("the rotation to version %d is not complete, and no version is retired before that", target(step, s.ring)))
	}
	return nil
}

// blocked says why no version can be removed.
func blocked(s seen, census Census) string {
	n := census.needing(s.ring.algorithm(), s.ring.Minimum)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d envelopes have a version below %d or do not say theirs (%s): keybroker verify names those that do not open", n, s.ring.Minimum, census)
}

// unready says which replicas might still use a retired version.
func unready(s seen) string {
	who := lagging(s.replicas, func(r RingState) bool { return follows(r, s.ring) && r.Minimum >= s.ring.Minimum })
	if who == "" {
		return ""
	}
	return fmt.Sprintf("waiting until every replica has loaded minimum %d: %s", s.ring.Minimum, who)
}

func (r *Rotation) remainingRetirement(s seen, census Census) []string {
	if !s.ring.retirable() {
		if err := unfinished(s); err != nil {
			return []string{err.Error()}
		}
		return []string{}
	}
	if reason := blocked(s, census); reason != "" {
		return []string{reason}
	}
	next := []string{stepRetire.describe(s.ring)}
	if waiting := unready(s); waiting != "" {
		next = append([]string{waiting}, next...)
	}
	return next
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// stepRetire removes retired versions. It is no step of a rotation, which never
// removes a key.
const stepRetire = StepComplete + 1

// targetVersion is the version to which a ring is rotated.
func targetVersion(step Step, ring RingState) uint32 {
	if step <= StepAdd {
		return ring.highest() + 1
	}
	return ring.highest()
}

// describe says what a step that changes something does.
func (s Step) describe(ring RingState) string {
	version := targetVersion(s, ring)
	switch s {
	case StepAdd:
		if ring.archives() {
			return fmt.Sprintf("make version %d, with which replicas seal from now on", version)
		}
		return fmt.Sprintf("add version %d, and keep version %d current", version, ring.Current)
	case StepSetCurrent:
		return fmt.Sprintf("make version %d current", version)
	case StepSetMinimum:
		return fmt.Sprintf("raise the minimum to version %d", version)
	case stepRetire:
		if ring.archives() {
			return fmt.Sprintf("remove the versions below %d", ring.Minimum)
		}
		return "remove version " + joinVersions(ring.retired())
	default:
		return s.await(version)
	}
}

// await says what a step that changes nothing waits for.
func (s Step) await(version uint32) string {
	switch s {
	case StepSettle:
		return "wait until every replica has loaded the ring as it is"
	case StepAwaitLoaded:
		return fmt.Sprintf("wait until every replica has loaded version %d", version)
	case StepAwaitCurrent:
		return fmt.Sprintf("wait until every replica seals with version %d", version)
	case StepAwaitRewrapped:
		return fmt.Sprintf("wait until no envelope is under a version before %d", version)
	default:
		return "nothing: the rotation is complete"
	}
}

// waitReason says what a step waits for and which replicas cause it, and is
// empty for a step that changes something.
func waitReason(step Step, s observation) string {
	var wanted func(RingState) bool
	switch step {
	case StepSettle, StepAwaitCurrent:
		wanted = func(r RingState) bool { return follows(r, s.ring) }
	case StepAwaitLoaded:
		wanted = func(r RingState) bool { return loadedVersion(r, s.ring, s.ring.highest()) }
	default:
		return ""
	}
	return "waiting" + step.await(targetVersion(step, s.ring))[len("wait"):] + ": " + lagging(s.replicas, wanted)
}

// rewrapping says what still has to be wrapped again.
func rewrapping(usage secretstore.KeyUsage, ring RingState) string {
	return fmt.Sprintf("waiting until no envelope is under a version before %d: %d of %d left (%s)",
		ring.Current, usage.NotUnder(ring.key()), usage.Total(), usage)
}

// remaining lists what a rotation still has to do, from this step on.
func remaining(step Step, s observation) []string {
	next := []string{}
	if waiting := waitReason(step, s); waiting != "" {
		next = append(next, waiting)
		step++
	}
	ring := s.ring
	if step == StepAdd {
		next = append(next, step.describe(ring))
		ring.Versions = append(append([]uint32{}, ring.Versions...), ring.highest()+1)
		step = StepAwaitLoaded
		if ring.archives() {
			ring.Current, step = ring.highest(), StepAwaitCurrent
		}
	}
	for ; step < StepComplete; step++ {
		next = append(next, step.describe(ring))
	}
	if step == StepComplete && len(next) == 0 {
		return afterwards(ring)
	}
	return append(next, "remove the older versions, when you ask for that: keybroker rotate --retire")
}

// afterwards says what is left to do when a rotation is complete.
func afterwards(ring RingState) []string {
	if !ring.retirable() {
		return []string{}
	}
	return []string{stepRetire.describe(ring) + ", when you ask for that: keybroker rotate --retire"}
}

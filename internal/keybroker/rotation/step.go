// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// RingState describes the versions of a ring: the one that is rotated, or the
// one that a replica has loaded.
type RingState struct {
	Provider string   `json:"provider"`
	Versions []uint32 `json:"versions"`
	Current  uint32   `json:"current"`
	Minimum  uint32   `json:"minimum"`
}

// highest is the newest version; 0 means that the ring has none.
func (r RingState) highest() uint32 {
	if len(r.Versions) == 0 {
		return 0
	}
	return slices.Max(r.Versions)
}

// algorithm is the algorithm that the ring wraps with.
func (r RingState) algorithm() envelope.Algorithm {
	if r.Provider == envelope.AlgorithmTransit.String() {
		return envelope.AlgorithmTransit
	}
	return envelope.AlgorithmLocal
}

// key is the key that the ring wraps under.
func (r RingState) key() envelope.KeyID {
	return envelope.KeyID{Algorithm: r.algorithm(), Version: r.Current}
}

// retired returns the versions that must not open anything any more.
func (r RingState) retired() []uint32 {
	return slices.DeleteFunc(slices.Clone(r.Versions), func(v uint32) bool { return v >= r.Minimum })
}

// older returns the versions below the current one.
func (r RingState) older() []uint32 {
	return slices.DeleteFunc(slices.Clone(r.Versions), func(v uint32) bool { return v >= r.Current })
}

func (r RingState) String() string {
	return fmt.Sprintf("versions %s, current %d, minimum %d", joinVersions(r.Versions), r.Current, r.Minimum)
}

func joinVersions(versions []uint32) string {
	names := make([]string, 0, len(versions))
	for _, version := range versions {
		names = append(names, fmt.Sprint(version))
	}
	return strings.Join(names, ", ")
}

// Replica is a running keybroker, and the ring that it has loaded.
type Replica struct {
	Pod string `json:"pod"`
	// Ring is nil for a replica that did not answer; Problem then says why.
	Ring    *RingState `json:"ring,omitempty"`
	Problem string     `json:"problem,omitempty"`
}

// Step is what a rotation does next.
type Step int

// The steps, in their order.
const (
	// StepSettle waits until every replica has loaded the ring as it is.
	StepSettle Step = iota
	// StepAdd makes a version that does not seal anything yet.
	StepAdd
	// StepAwaitLoaded waits until every replica can open what another one
	// seals with the new version.
	StepAwaitLoaded
	// StepSetCurrent lets the replicas seal with the new version.
	StepSetCurrent
	// StepAwaitCurrent waits until no replica seals with an older version.
	StepAwaitCurrent
	// StepAwaitRewrapped waits until no envelope is under an older version.
	StepAwaitRewrapped
	// StepSetMinimum ends the use of the older versions.
	StepSetMinimum
	// StepComplete is the end: the older versions can be removed.
	StepComplete
)

// Decide returns the next step for a ring. The state of a rotation is in the
// ring and in the envelopes alone, so a rotation can stop at any point and
// continue later. The caller checks whether all envelopes are rewrapped:
// counting them takes longer than everything else, and only that step needs it.
func Decide(ring RingState, replicas []Replica) Step {
	switch {
	case ring.highest() > ring.Current:
		if lagging(replicas, func(r RingState) bool { return loadedVersion(r, ring, ring.highest()) }) != "" {
			return StepAwaitLoaded
		}
		return StepSetCurrent
	case ring.Minimum >= ring.Current && len(ring.retired()) > 0 && !ring.archives():
		return StepComplete
	case len(ring.older()) == 0 || ring.Minimum >= ring.Current:
		// A replica that mounts another ring than this one would not see the
		// new version.
		if lagging(replicas, func(r RingState) bool { return follows(r, ring) }) != "" {
			return StepSettle
		}
		return StepAdd
	case lagging(replicas, func(r RingState) bool { return follows(r, ring) }) != "":
		return StepAwaitCurrent
	}
	return StepAwaitRewrapped
}

// archives reports whether the ring's provider keeps versions that are out of
// use, so that they do not indicate an unfinished rotation.
func (r RingState) archives() bool { return r.algorithm() == envelope.AlgorithmTransit }

func loadedVersion(r, ring RingState, version uint32) bool {
	return r.Provider == ring.Provider && slices.Contains(r.Versions, version)
}

// follows reports whether a replica that has loaded r can open with every
// version of ring that counts, and seals with the current one.
func follows(r, ring RingState) bool {
	return loadedVersion(r, ring, ring.Current) && r.Current == ring.Current
}

// lagging names the replicas that are not as wanted, and also says when there
// is no replica at all: nothing would be rewrapped then.
func lagging(replicas []Replica, wanted func(RingState) bool) string {
	if len(replicas) == 0 {
		return "no keybroker runs"
	}
	var waiting []string
	for _, replica := range replicas {
		switch {
		case replica.Ring == nil:
			waiting = append(waiting, replica.Pod+" ("+replica.Problem+")")
		case !wanted(*replica.Ring):
			waiting = append(waiting, replica.Pod+" ("+replica.Ring.String()+")")
		}
	}
	return strings.Join(waiting, ", ")
}

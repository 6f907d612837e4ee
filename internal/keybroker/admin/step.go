// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// RingState is what a ring says of its versions: the one that is rotated, or
// the one that a replica has loaded.
type RingState struct {
	Provider string   `json:"provider"`
	Versions []uint32 `json:"versions"`
	Current  uint32   `json:"current"`
	Minimum  uint32   `json:"minimum"`
}

// highest is the newest version, 0 where there is none.
func (r RingState) highest() uint32 {
	if len(r.Versions) == 0 {
		return 0
	}
	return slices.Max(r.Versions)
}

// algorithm is that of what the ring wraps.
func (r RingState) algorithm() envelope.Algorithm {
	if r.Provider == envelope.AlgorithmTransit.String() {
		return envelope.AlgorithmTransit
	}
	return envelope.AlgorithmLocal
}

// key is what the ring wraps under.
func (r RingState) key() envelope.KeyID {
	return envelope.KeyID{Algorithm: r.algorithm(), Version: r.Current}
}

// retired returns the versions that may open nothing any more.
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

// Replica is a keybroker that runs, and the ring that it has loaded.
type Replica struct {
	Pod string `json:"pod"`
	// Ring is nil for one that did not answer; Problem then says why.
	Ring    *RingState `json:"ring,omitempty"`
	Problem string     `json:"problem,omitempty"`
}

// Step is what a rotation does next.
type Step int

// The steps, in their order.
const (
	// StepSettle waits until every replica has loaded the ring as it is.
	StepSettle Step = iota
	// StepAdd makes a version, with which nothing is sealed yet.
	StepAdd
	// StepAwaitLoaded waits until every replica can open what another one
	// seals with the new version.
	StepAwaitLoaded
	// StepSetCurrent lets the replicas seal with it.
	StepSetCurrent
	// StepAwaitCurrent waits until none seals with an older one.
	StepAwaitCurrent
	// StepAwaitRewrapped waits until no envelope is under an older one.
	StepAwaitRewrapped
	// StepSetMinimum ends the use of the older ones.
	StepSetMinimum
	// StepComplete is the end: the older versions can be removed.
	StepComplete
)

// Decide says what comes next for a ring. All that a rotation knows is in the
// ring and in what is sealed, so that it can end anywhere and go on. Whether
// all is rewrapped it leaves to the caller: counting envelopes takes longer
// than all else, and is needed for that step alone.
func Decide(ring RingState, replicas []Replica) Step {
	switch {
	case ring.highest() > ring.Current:
		if lagging(replicas, func(r RingState) bool { return hasVersion(r, ring, ring.highest()) }) != "" {
			return StepAwaitLoaded
		}
		return StepSetCurrent
	case ring.Minimum >= ring.Current && len(ring.retired()) > 0 && !ring.archives():
		return StepComplete
	case len(ring.older()) == 0 || ring.Minimum >= ring.Current:
		// Who has another ring than this one would not see the new version.
		if lagging(replicas, func(r RingState) bool { return follows(r, ring) }) != "" {
			return StepSettle
		}
		return StepAdd
	case lagging(replicas, func(r RingState) bool { return follows(r, ring) }) != "":
		return StepAwaitCurrent
	}
	return StepAwaitRewrapped
}

// archives says that the ring's provider keeps versions that are out of use,
// so that they say nothing of a rotation that has not ended.
func (r RingState) archives() bool { return r.algorithm() == envelope.AlgorithmTransit }

func hasVersion(r, ring RingState, version uint32) bool {
	return r.Provider == ring.Provider && slices.Contains(r.Versions, version)
}

// follows says that a replica which has loaded r can open with every version
// of ring that counts, and seals with the current one.
func follows(r, ring RingState) bool {
	return hasVersion(r, ring, ring.Current) && r.Current == ring.Current
}

// lagging names the replicas that are not as wanted, and says so when there is
// none at all: nobody would rewrap anything.
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

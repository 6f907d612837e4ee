// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import "testing"

func local(current, minimum uint32, versions ...uint32) RingState {
	return RingState{"local", versions, current, minimum}
}

func transit(current, minimum uint32, versions ...uint32) RingState {
	return RingState{"transit", versions, current, minimum}
}

// loaded returns replicas with these rings.
func loaded(rings ...RingState) []Replica {
	var replicas []Replica
	for _, ring := range rings {
		replicas = append(replicas, Replica{Pod: "keybroker", Ring: &ring})
	}
	return replicas
}

func TestDecide(t *testing.T) {
	one, pending := local(1, 1, 1), local(1, 1, 1, 2)
	current, raised := local(2, 1, 1, 2), local(2, 2, 1, 2)
	silent := []Replica{{Pod: "a", Ring: &one}, {Pod: "b", Problem: "no answer"}}
	for _, test := range []struct {
		name     string
		ring     RingState
		replicas []Replica
		want     Step
	}{
		{"one version that all have begins a rotation", one, loaded(one, one), StepAdd},
		{"no rotation begins while a replica has another ring", one, loaded(one, local(7, 1, 7)), StepSettle},
		{"none begins while a replica does not answer", one, silent, StepSettle},
		{"none begins where no replica runs", one, nil, StepSettle},
		{"a version that one replica lacks does not become current", pending, loaded(pending, one), StepAwaitLoaded},
		{"nor while a replica does not answer", pending, silent, StepAwaitLoaded},
		{"nor where no replica runs", pending, nil, StepAwaitLoaded},
		{"a version that all have becomes current", pending, loaded(pending, pending), StepSetCurrent},
		{"a replica that still seals with the old one is waited for", current, loaded(current, pending), StepAwaitCurrent},
		{"a replica without any word of it is waited for", current, loaded(current, one), StepAwaitCurrent},
		{"then what is sealed is wrapped anew", current, loaded(current, current), StepAwaitRewrapped},
		{"a raised minimum ends the rotation", raised, loaded(raised, current), StepComplete},
		{"what is left behind keeps another from beginning", local(2, 2, 1, 2), nil, StepComplete},
		{"a ring from which all that was retired is gone begins another", local(2, 2, 2), loaded(local(2, 2, 2)), StepAdd},
		{"a ring without a minimum and one version too", local(2, 1, 2), loaded(local(2, 1, 2)), StepAdd},
		{"versions that somebody added at once are one rotation", local(3, 1, 1, 2, 3), loaded(local(3, 1, 1, 2, 3)), StepAwaitRewrapped},
		{"a replica on another provider is waited for", transit(1, 1, 1), loaded(transit(1, 1, 1), one), StepSettle},
		{"transit with one version begins a rotation", transit(1, 1, 1), loaded(transit(1, 1, 1)), StepAdd},
		{"a transit version that replicas have not seen is waited for", transit(2, 1, 1, 2), loaded(transit(1, 1, 1)), StepAwaitCurrent},
		{"transit then waits for what is sealed", transit(2, 1, 1, 2), loaded(transit(2, 1, 1, 2)), StepAwaitRewrapped},
		{"transit keeps what it has retired, and begins another", transit(2, 2, 1, 2), loaded(transit(2, 2, 2)), StepAdd},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Decide(test.ring, test.replicas); got != test.want {
				t.Errorf("step %d, want %d", got, test.want)
			}
		})
	}
}

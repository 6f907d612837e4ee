// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// elsewhere rotates a ring that is not a Secret, with one replica that follows
// at once and nothing sealed under an older version.
func elsewhere(ring Ring, state *RingState) *Rotation {
	return &Rotation{
		Ring:     ring,
		Replicas: func(context.Context) ([]Replica, error) { return loaded(*state), nil },
		Count:    func(context.Context) (secretstore.KeyUsage, error) { return secretstore.KeyUsage{state.key(): 3}, nil },
		Tell:     func(string) {},
	}
}

func TestForFilesItSaysWhatToWrite(t *testing.T) {
	for _, test := range []struct {
		name   string
		state  RingState
		retire bool
		want   string
	}{
		{"a new version", local(1, 1, 1), false, "into a file 2 of the ring and, in the same change, 1 into the file current."},
		{"current", local(1, 1, 1, 2), false, "Write 2 into the file current of the ring."},
		{"the minimum", local(2, 1, 1, 2), false, "Write 2 into the file minimum of the ring."},
		{"what can go", local(3, 3, 1, 2, 3), true, "Remove from the ring: file 1, 2."},
		{"nothing", local(3, 3, 3), true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			rotation := elsewhere(&FileRing{func(context.Context) (RingState, error) { return test.state, nil }}, &test.state)
			run := rotation.Run
			if test.retire {
				run = rotation.Retire
			}
			report, err := run(t.Context())
			if err != nil || !strings.Contains(report.Instruction, test.want) || (report.Instruction == "") != (test.want == "") {
				t.Errorf("instruction %q, error %v; want %q", report.Instruction, err, test.want)
			}
			if len(report.Done) > 0 {
				t.Errorf("done %v", report.Done)
			}
		})
	}
}

// vault is a transit key.
type vault struct {
	// state is the key's, told what was last said of it, by which replicas go
	// as well.
	state, told RingState
	// rotations counts, fails is what a rotation answers although it took
	// place, and stale is how many times the state from before is told.
	rotations, stale int
	fails            error
}

func (v *vault) known(context.Context) (RingState, error) {
	v.told = v.state
	if v.stale > 0 && v.rotations > 0 {
		v.stale--
		v.told = transit(1, 1, 1)
	}
	return v.told, nil
}

func (v *vault) rotate(context.Context) error {
	v.rotations++
	v.state = transit(v.state.Current+1, v.state.Minimum, append(v.state.Versions, v.state.Current+1)...)
	err := v.fails
	v.fails = nil
	return err
}

func (v *vault) rotation() *Rotation {
	return elsewhere(&TransitRing{Known: v.known, Rotate: v.rotate, Mount: "/transit/", Key: "hosted-bridge"}, &v.told)
}

const raiseTwo = "Run: vault write transit/keys/hosted-bridge/config min_decryption_version=2 min_encryption_version=2"

func TestATransitKeyIsRotatedOnce(t *testing.T) {
	for name, v := range map[string]*vault{
		"it answers":                        {},
		"its answer is lost":                {fails: errors.New("timeout")},
		"it tells of the version later":     {stale: 3},
		"the rotation was ended before now": {rotations: 1, state: transit(2, 1, 1, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if v.state.Current == 0 {
					v.state = transit(1, 1, 1)
				}
				report, err := v.rotation().Run(t.Context())
				if err != nil {
					// What failed is not tried again unasked.
					report, err = v.rotation().Run(t.Context())
				}
				if err != nil || report.Instruction != raiseTwo || v.rotations != 1 {
					t.Errorf("%d rotations, instruction %q, error %v", v.rotations, report.Instruction, err)
				}
			})
		})
	}
}

func TestWithTransitWhatTheRingSealedIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vault{state: transit(2, 1, 1, 2), rotations: 1}
		rotation := v.rotation()
		left := 3
		rotation.Count = func(context.Context) (secretstore.KeyUsage, error) {
			left--
			return secretstore.KeyUsage{{Algorithm: envelope.AlgorithmLocal, Version: 9}: left, v.state.key(): 1}, nil
		}
		if _, err := rotation.Run(t.Context()); err != nil || left > 0 {
			t.Errorf("%d left, error %v", left, err)
		}
	})
}

func TestTransitIsToldToTrim(t *testing.T) {
	v := &vault{state: transit(3, 3, 3)}
	report, err := v.rotation().Retire(t.Context())
	if diff := cmp.Diff("Run: vault write transit/keys/hosted-bridge/trim min_available_version=3", report.Instruction); diff != "" || err != nil {
		t.Errorf("error %v, instruction (-want +got):\n%s", err, diff)
	}
	v = &vault{state: transit(1, 1, 1)}
	if report, err = v.rotation().Retire(t.Context()); err != nil || report.Instruction != "" {
		t.Errorf("with nothing to trim: %q, error %v", report.Instruction, err)
	}
}

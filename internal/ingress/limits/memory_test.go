// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

func TestBodiesAreBoundedByUserAndInAll(t *testing.T) {
	m := NewMemory[string](8, UserShare)
	alice, erin := m.For("alice"), m.For("erin")
	others := []*Reservation{m.For("bob"), m.For("carol"), m.For("dave")}
	for _, step := range []struct {
		name string
		err  error
		want error
	}{
		{"a user's whole share", alice.Reserve(2), nil},
		{"more than the share", alice.Reserve(1), problems.Busy},
		{"the same by another request", m.For("alice").Reserve(1), problems.Busy},
		{"nothing, for a request without a body", alice.Reserve(0), nil},
		{"the second user's", others[0].Reserve(2), nil},
		{"the third user's", others[1].Reserve(2), nil},
		{"the fourth user's", others[2].Reserve(2), nil},
		{"more than there is", erin.Reserve(1), problems.Busy},
	} {
		if !errors.Is(step.err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, step.err, step.want)
		}
	}
	alice.Release()
	if err := erin.Reserve(1); err != nil {
		t.Errorf("after some was given back: %v", err)
	}
	for _, r := range append(others, erin, alice, nil) {
		r.Release()
	}
	if m.held != 0 || len(m.byHolder) != 0 {
		t.Errorf("%d bytes of %v holders are left", m.held, m.byHolder)
	}
}

func TestAnAnswerCountsAsWhatItIs(t *testing.T) {
	m := NewMemory[string](8, UserShare)
	alice := m.For("alice")
	if err := alice.Reserve(1); err != nil {
		t.Fatal(err)
	}
	alice.Set(5)
	if err := m.For("alice").Reserve(1); !errors.Is(err, problems.Busy) || m.Held() != 5 {
		t.Errorf("beside more than the share: %v, %d are held", err, m.Held())
	}
	alice.Release()
	if m.Held() != 0 {
		t.Errorf("%d are left", m.Held())
	}
}

func TestAReservationMovesWholeOrNotAtAll(t *testing.T) {
	strangers, users := NewSourceMemory(64), NewMemory[string](8, UserShare)
	source := netip.MustParseAddr("192.0.2.1")
	r := strangers.For(source)
	if err := r.Reserve(2); err != nil {
		t.Fatal(err)
	}
	full := users.For("alice")
	if err := full.Reserve(1); err != nil {
		t.Fatal(err)
	}
	if err := r.Move(users.For("alice")); !errors.Is(err, problems.Busy) || strangers.Held() != 2 || users.Held() != 1 {
		t.Errorf("to a full share: %v, %d and %d are held", err, strangers.Held(), users.Held())
	}
	full.Release()
	if err := r.Move(users.For("alice")); err != nil || strangers.Held() != 0 || users.Held() != 2 {
		t.Errorf("%v, %d and %d are held", err, strangers.Held(), users.Held())
	}
	r.Release()
	if users.Held() != 0 {
		t.Errorf("%d are left", users.Held())
	}
}

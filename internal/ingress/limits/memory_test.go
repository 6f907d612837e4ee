// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

func TestBodiesAreBoundedByUserAndInAll(t *testing.T) {
	b := NewBodyMemory(8, UserShare)
	for _, step := range []struct {
		name string
		err  error
		want error
	}{
		{"a user's whole share", b.Take("alice", 2), nil},
		{"more than the share", b.Take("alice", 1), problems.Busy},
		{"nothing, for a request without a body", b.Take("alice", 0), nil},
		{"the second user's", b.Take("bob", 2), nil},
		{"the third user's", b.Take("carol", 2), nil},
		{"the fourth user's", b.Take("dave", 2), nil},
		{"more than there is", b.Take("erin", 1), problems.Busy},
	} {
		if !errors.Is(step.err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, step.err, step.want)
		}
	}
	b.Give("alice", 2)
	if err := b.Take("erin", 1); err != nil {
		t.Errorf("after some was given back: %v", err)
	}
	b.Give("bob", 2)
	b.Give("carol", 2)
	b.Give("dave", 2)
	b.Give("erin", 1)
	if b.held != 0 || len(b.byUser) != 0 {
		t.Errorf("%d bytes of %v users are left", b.held, b.byUser)
	}
}

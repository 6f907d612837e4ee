// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

func TestRefusalsUnreadOfAUserAreBounded(t *testing.T) {
	u, now := newUnread(), time.Date(2026, 3, 1, 12, 0, 1, 0, time.UTC)
	count := func(user string) (n int) {
		for range 3 * MaxUnread {
			if u.take(v1alpha1.UserID(user), now) {
				n++
			}
		}
		return n
	}
	if a, b := count("alice"), count("bob"); a != MaxUnread || b != MaxUnread {
		t.Errorf("alice has %d, bob %d", a, b)
	}
	now = now.Add(58 * time.Second)
	if n := count("alice"); n != 0 {
		t.Errorf("%d more in the same minute", n)
	}
	now = now.Add(time.Second)
	if n := count("alice"); n != MaxUnread || len(u.byUser) != 1 {
		t.Errorf("%d in the next minute, of %d users", n, len(u.byUser))
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"sync/atomic"
	"time"
)

// cells is how many sources, users or ids are told apart: 128 KiB each. Two that
// share a cell share its limit.
const cells = 1 << 14

// Rate lets Burst events pass at once and then one in Every, for each cell:
// the generic cell rate algorithm, whose state is one instant.
type Rate struct {
	Burst int64
	Every time.Duration

	cells [cells]atomic.Int64 // Unix nanoseconds until which a cell is used up.
}

// Take counts an event of the cell that h belongs to. What it returns is 0 if
// the event may pass, and else the time until the next one may. Those that may
// not pass do not count, so that the limit is a rate and no ban.
func (r *Rate) Take(h uint64, now time.Time) time.Duration {
	cell := &r.cells[h%cells]
	n := now.UnixNano()
	for {
		used := cell.Load()
		next := max(used, n) + int64(r.Every)
		if wait := next - n - r.Burst*int64(r.Every); wait > 0 {
			return time.Duration(wait)
		}
		if cell.CompareAndSwap(used, next) {
			return 0
		}
	}
}

// RateBurst is for how many seconds' events may come at once.
const RateBurst = 10

// NewRate returns a rate of so many events in a second, on average, and nil, which
// is no limit, for none.
func NewRate(perSecond int) *Rate {
	if perSecond <= 0 {
		return nil
	}
	return &Rate{Burst: RateBurst * int64(perSecond), Every: time.Second / time.Duration(perSecond)}
}

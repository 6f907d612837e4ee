// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import "time"

// Share returns the part of the tier that each of so many replicas may give
// when they do not know of each other: together not more than the whole, but at
// least one each. The burst is not divided: it limits parallel requests, and a
// part of it would refuse a client's first calls.
func (t Tier) Share(replicas int) Tier {
	if replicas <= 1 {
		return t
	}
	n := int32(min(replicas, 1<<15))
	for limit := Minute; limit < Burst; limit++ {
		*t.field(limit) = max(1, *t.field(limit)/n)
	}
	for limit := Calls; limit < Batch; limit++ {
		// A part of four calls that is rounded down is too often none.
		*t.field(limit) = (*t.field(limit) + n - 1) / n
	}
	return t
}

// Shared returns the state from which one of so many replicas continues with
// its share of tier t, when s was the last known state of all of them: it gets
// a part of what was left in each window.
func (s State) Shared(t Tier, replicas int) State {
	part := t.Share(replicas).windows()
	for i, limit := range t.windows() {
		w := &s.Windows[i]
		w.Used = max(0, part[i]-max(0, limit-w.Used)/int64(max(1, replicas)))
	}
	return s
}

// Debt is what one replica has allowed by its share and no other replica knows
// of.
type Debt struct {
	// Windows have the start times that the replica counts by, and only the
	// requests that it allowed itself.
	Windows [windows]Window
}

// Add counts n requests that were allowed at now and have led to the state s.
func (d Debt) Add(s State, n int) Debt {
	for i, w := range s.Windows {
		if d.Windows[i].Start != w.Start {
			d.Windows[i] = Window{Start: w.Start}
		}
		d.Windows[i].Used += int64(n)
	}
	return d
}

// Settle returns s, which is what all replicas know, merged with what one of
// them saw of it before, and what it allowed since. A store that has lost its
// memory knows less than was seen; windows that ended meanwhile are dropped.
func (s State) Settle(seen State, d Debt, now time.Time) State {
	at := now.UnixMicro()
	for i := range s.Windows {
		w, span := &s.Windows[i], Spans[i].Microseconds()
		for _, known := range []Window{seen.Windows[i], {d.Windows[i].Start, 0}} {
			switch {
			case at >= known.Start+span:
			case at >= w.Start+span:
				*w = known
			case w.Start == known.Start:
				w.Used = max(w.Used, known.Used)
			case w.Start > known.Start:
				// The window restarted before its time, and so without what was
				// seen.
				w.Start, w.Used = known.Start, w.Used+known.Used
			}
		}
		if at < d.Windows[i].Start+span {
			w.Used += d.Windows[i].Used
		}
	}
	return s
}

// Join returns the sum of two debts of the same replica. A window that has
// ended counts nothing.
func (d Debt) Join(other Debt) Debt {
	for i, w := range other.Windows {
		switch mine := &d.Windows[i]; {
		case w.Start > mine.Start:
			*mine = w
		case w.Start == mine.Start:
			mine.Used += w.Used
		}
	}
	return d
}

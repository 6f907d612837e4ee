// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"strconv"
	"time"
)

// Left is what remains of the windows and of the burst, in the order of the limits.
type Left [windows + 1]struct {
	Remaining int64
	// Reset is how long it takes until there is more, 0 where nothing is used.
	Reset time.Duration
}

// left returns what remains of a state that is brought to that time.
func (s State) left(t Tier, at int64) Left {
	var l Left
	for i, limit := range t.windows() {
		w := s.Windows[i]
		// A tier may have become smaller than what was used in the larger one.
		l[i].Remaining = max(0, limit-w.Used)
		if w.Used > 0 {
			l[i].Reset = time.Duration(w.Start+Spans[i].Microseconds()-at) * time.Microsecond
		}
	}
	owed, interval := s.Next-at, t.Interval()
	l[windows].Remaining = max(0, int64(t.Burst)-(owed+interval-1)/interval)
	if owed > 0 {
		next := (owed-1)%interval + 1
		if over := owed - int64(t.Burst)*interval; over > 0 {
			next = over
		}
		l[windows].Reset = time.Duration(next) * time.Microsecond
	}
	return l
}

// Of returns limit's number in the tier, and what is left of it and for how
// long. Nothing is left of the limits that Left does not have.
func (l Left) Of(limit Limit, t Tier) (most, remaining int64, reset time.Duration) {
	if i := int(limit - Minute); i >= 0 && i < len(l) {
		remaining, reset = l[i].Remaining, l[i].Reset
	}
	return t.Most(limit), remaining, reset
}

// PolicyField returns the tier as the value of RateLimit-Policy, a list of
// draft-ietf-httpapi-ratelimit-headers-10.
func (t Tier) PolicyField() string {
	b := make([]byte, 0, 192)
	for limit := Minute; limit < Batch; limit++ {
		b = strconv.AppendInt(append(appendItem(b, limit), ";q="...), t.Most(limit), 10)
		if limit > Burst {
			b = append(b, `;qu="concurrent-requests"`...)
			continue
		}
		span := time.Duration(int64(t.Burst)*t.Interval()) * time.Microsecond
		if limit < Burst {
			span = Spans[limit-Minute]
		}
		b = strconv.AppendInt(append(b, ";w="...), seconds(span), 10)
	}
	return string(b)
}

// Field returns what is left as the value of RateLimit, a list of the same
// draft. Times are rounded up, so that a client that waits for one finds it
// over.
func (l Left) Field() string {
	b := make([]byte, 0, 128)
	for i := range l {
		b = strconv.AppendInt(append(appendItem(b, Minute+Limit(i)), ";r="...), l[i].Remaining, 10)
		if l[i].Reset > 0 {
			b = strconv.AppendInt(append(b, ";t="...), seconds(l[i].Reset), 10)
		}
	}
	return string(b)
}

func appendItem(b []byte, limit Limit) []byte {
	if len(b) > 0 {
		b = append(b, ", "...)
	}
	return append(append(append(b, '"'), limit.String()...), '"')
}

// seconds rounds up to whole seconds.
func seconds(d time.Duration) int64 {
	return int64((d + time.Second - 1) / time.Second)
}

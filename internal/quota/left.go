// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"strconv"
	"time"
)

// Left is what remains of the limits minute, hour, day and burst, in that order.
type Left [4]struct {
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
	l[3].Remaining = max(0, int64(t.Burst)-(owed+interval-1)/interval)
	if owed > 0 {
		next := (owed-1)%interval + 1
		if over := owed - int64(t.Burst)*interval; over > 0 {
			next = over
		}
		l[3].Reset = time.Duration(next) * time.Microsecond
	}
	return l
}

// Of returns limit's number in the tier, and what is left of it and for how
// long. Nothing is left of the limits that Left does not have.
func (l Left) Of(limit Limit, t Tier) (most, remaining int64, reset time.Duration) {
	switch limit {
	case Minute, Hour, Day:
		i := limit - Minute
		return t.windows()[i], l[i].Remaining, l[i].Reset
	case Burst:
		return int64(t.Burst), l[3].Remaining, l[3].Reset
	case Calls:
		return int64(t.ConcurrentCalls), 0, 0
	case Streams:
		return int64(t.Streams), 0, 0
	}
	return 0, 0, 0
}

// PolicyField returns the tier as the value of RateLimit-Policy, a list of
// draft-ietf-httpapi-ratelimit-headers-10.
func (t Tier) PolicyField() string {
	b := make([]byte, 0, 192)
	for i, limit := range t.windows() {
		b = appendPolicy(b, Minute+Limit(i), limit)
		b = strconv.AppendInt(append(b, ";w="...), int64(Spans[i]/time.Second), 10)
	}
	b = appendPolicy(b, Burst, int64(t.Burst))
	b = strconv.AppendInt(append(b, ";w="...), seconds(time.Duration(int64(t.Burst)*t.Interval())*time.Microsecond), 10)
	for _, at := range []struct {
		limit Limit
		most  int32
	}{{Calls, t.ConcurrentCalls}, {Streams, t.Streams}} {
		b = append(appendPolicy(b, at.limit, int64(at.most)), `;qu="concurrent-requests"`...)
	}
	return string(b)
}

func appendPolicy(b []byte, limit Limit, most int64) []byte {
	return strconv.AppendInt(append(appendItem(b, limit), ";q="...), most, 10)
}

// Field returns what is left as the value of RateLimit, a list of the same
// draft. Times are rounded up, so that a client that waits for one finds it
// over.
func (l Left) Field() string {
	b := make([]byte, 0, 128)
	for i, limit := range []Limit{Minute, Hour, Day, Burst} {
		b = strconv.AppendInt(append(appendItem(b, limit), ";r="...), l[i].Remaining, 10)
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

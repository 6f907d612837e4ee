// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/hostedbridge/hostedbridge/internal/audit"

// queue is a ring of records, which grows up to maxQueued of them. Whoever adds
// to it holds up the sink: what is in it already is never moved for that.
type queue struct {
	ring  []audit.Record
	first int // where the oldest is
	n     int
}

// minRing is how many records the first ring has room for.
const minRing = 64

func (q *queue) len() int { return q.n }

// at returns the i-th record, the oldest being number 0.
func (q *queue) at(i int) *audit.Record { return &q.ring[(q.first+i)%len(q.ring)] }

// push adds the newest record. There has to be room for it.
func (q *queue) push(r audit.Record) {
	q.grow()
	q.n++
	*q.at(q.n - 1) = r
}

// pushOldest adds a record in front of all others. There has to be room for it.
func (q *queue) pushOldest(r audit.Record) {
	q.grow()
	q.first = (q.first + len(q.ring) - 1) % len(q.ring)
	q.n++
	*q.at(0) = r
}

// pop removes the oldest record.
func (q *queue) pop() audit.Record {
	r := *q.at(0)
	*q.at(0) = audit.Record{} // What it points to is free.
	q.first = (q.first + 1) % len(q.ring)
	q.n--
	return r
}

// full reports whether there is no room.
func (q *queue) full() bool { return q.n == maxQueued }

// grow makes the ring larger when it is full, to twice its size, so that a
// record is moved once on the average.
func (q *queue) grow() {
	if q.n < len(q.ring) {
		return
	}
	larger := make([]audit.Record, min(maxQueued, max(minRing, 2*len(q.ring))))
	for i := range q.n {
		larger[i] = *q.at(i)
	}
	q.ring, q.first = larger, 0
}

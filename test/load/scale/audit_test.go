// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// call is a kind of write, by who did it.
type call struct {
	user, verb, resource string
	failed               bool
}

func (c call) String() string {
	s := c.verb + " " + c.resource
	if c.failed {
		s += " (refused)"
	}
	return s
}

// renewal says whether it is the renewal of a lease, which each leader does for
// as long as it leads, however many tenants there are.
func (c call) renewal() bool { return c.resource == "leases" }

// audit counts what the API server says in its audit log, which it writes here.
type audit struct {
	mu     sync.Mutex
	rest   []byte
	counts map[call]int
}

// Write implements io.Writer.
func (a *audit) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rest = append(a.rest, p...)
	for {
		line, after, whole := bytes.Cut(a.rest, []byte("\n"))
		if !whole {
			a.rest = append(a.rest[:0], line...)
			return len(p), nil
		}
		a.rest = after
		a.count(line)
	}
}

// entry is what is read of an audit event.
type entry struct {
	Verb string
	User struct{ Username string }
	// ObjectRef is what it was about.
	ObjectRef struct{ Resource, Subresource string }
	// ResponseStatus is how it ended.
	ResponseStatus struct{ Code int }
}

func (a *audit) count(line []byte) {
	var e entry
	if json.Unmarshal(line, &e) != nil || e.Verb == "" {
		return // The API server says something else on its standard output.
	}
	c := call{user: e.User.Username[strings.LastIndexByte(e.User.Username, ':')+1:], verb: e.Verb, resource: e.ObjectRef.Resource, failed: e.ResponseStatus.Code >= 300}
	if e.ObjectRef.Subresource != "" {
		c.resource += "/" + e.ObjectRef.Subresource
	}
	a.counts[c]++
}

// writes are counts of writes.
type writes map[call]int

func (a *audit) writes() writes {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.counts)
}

// since returns what has been added to before.
func (a *audit) since(before writes) writes {
	now := a.writes()
	for c, n := range before {
		if now[c] -= n; now[c] == 0 {
			delete(now, c)
		}
	}
	return now
}

// of returns how many writes of a user there are, without renewals.
func (w writes) of(user string) (n int) {
	for c, count := range w {
		if c.user == user && !c.renewal() {
			n += count
		}
	}
	return n
}

// renewals returns how many renewals of leases there are, of anybody.
func (w writes) renewals() (n int) {
	for c, count := range w {
		if c.renewal() {
			n += count
		}
	}
	return n
}

// besides returns how many there are that are no renewals, of anybody.
func (w writes) besides() (n int) {
	for c, count := range w {
		if !c.renewal() {
			n += count
		}
	}
	return n
}

// perTenant says what a user wrote for each of so many tenants.
func (w writes) perTenant(user string, tenants int) string {
	var kinds []call
	for c := range w {
		if c.user == user && !c.renewal() {
			kinds = append(kinds, c)
		}
	}
	slices.SortFunc(kinds, func(a, b call) int { return cmp.Or(cmp.Compare(w[b], w[a]), strings.Compare(a.String(), b.String())) })
	said := make([]string, len(kinds))
	for i, c := range kinds {
		said[i] = fmt.Sprintf("%.2f %s", float64(w[c])/float64(tenants), c)
	}
	return strings.Join(said, ", ")
}

// settle waits until nothing but renewals was written for some seconds, and
// returns when that began.
func (a *audit) settle(t *testing.T, calm, limit time.Duration) time.Time {
	t.Helper()
	last, since := a.writes().besides(), time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); time.Since(since) < calm; {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the test ended")
		}
		if n := a.writes().besides(); n != last {
			last, since = n, time.Now()
		}
		if time.Now().After(deadline) {
			t.Errorf("still writing after %s", limit)
			return since
		}
	}
	return since
}

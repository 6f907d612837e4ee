// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"testing"
	"time"
)

func TestThoseWhoWereAskedForLastAreKept(t *testing.T) {
	const most = 100
	c, now := newCache(most), time.Now()
	kept := func(id string) entry {
		return entry{id: id, site: id, expires: now.Add(time.Minute), removed: now.Add(time.Hour)}
	}
	for i := range most {
		c.put(kept(fmt.Sprint(i)))
	}
	if _, ok := c.get("0", now); !ok {
		t.Error("the first is not kept")
	}
	c.put(kept("new"))
	c.put(entry{id: "new", site: "new", result: result{err: errNotPublic}, expires: now.Add(time.Minute), removed: now.Add(time.Minute)})
	for id, want := range map[string]bool{"0": true, "1": false, "2": true, "new": true} {
		if _, ok := c.get(id, now); ok != want {
			t.Errorf("%s is kept: %v", id, ok)
		}
	}
	if _, ok := c.get("0", now.Add(time.Minute)); !ok {
		t.Error("one is not kept after its end")
	}
	if e, ok := c.get("new", now.Add(time.Minute)); ok {
		t.Errorf("%+v is kept after the last time", e)
	}
	c.remove("2")
	c.remove("2")
	if len(c.byID) != c.order.Len() || len(c.byID) != len(c.perSite) || len(c.byID) != most-2 {
		t.Errorf("%d, %d and %d are kept", len(c.byID), c.order.Len(), len(c.perSite))
	}
}

func TestASiteHasAPartOfTheRoom(t *testing.T) {
	const most = 100
	c, now := newCache(most), time.Now()
	put := func(id, site string) { c.put(entry{id: id, site: site, removed: now.Add(time.Hour)}) }
	put("theirs", "b")
	for i := range most {
		put(fmt.Sprint(i), "a")
	}
	for id, want := range map[string]bool{"theirs": true, fmt.Sprint(most - most/sites - 1): false, fmt.Sprint(most - most/sites): true} {
		if _, ok := c.get(id, now); ok != want {
			t.Errorf("%s is kept: %v", id, ok)
		}
	}
	if c.order.Len() != most/sites+1 || c.perSite["a"] != most/sites {
		t.Errorf("%d are kept, %d of the site", c.order.Len(), c.perSite["a"])
	}
}

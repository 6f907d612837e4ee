// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// holds returns the keys that c has at now, of those given.
func holds(c *resultCache, now time.Time, keys ...string) string {
	var found []string
	for _, key := range keys {
		if _, _, ok := c.Get(key, now); ok {
			found = append(found, key)
		}
	}
	return strings.Join(found, " ")
}

func TestWhatWasUsedLeastRecentlyMakesRoom(t *testing.T) {
	c := newResultCache(2, 1<<20)
	c.Put("a", []byte("1"), start.Add(time.Minute))
	c.Put("b", []byte("2"), start.Add(time.Minute))
	holds(c, start, "a")
	c.Put("c", []byte("3"), start.Add(time.Minute))
	if got := holds(c, start, "a", "b", "c"); got != "a c" {
		t.Errorf("the cache holds %q, want a and c", got)
	}
}

func TestBytesAreBounded(t *testing.T) {
	c := newResultCache(1000, 4096)
	for i := range 100 {
		c.Put(fmt.Sprint(i), make([]byte, 500), start.Add(time.Minute))
		if c.Bytes() > 4096 {
			t.Fatalf("%d bytes in use", c.Bytes())
		}
	}
	if c.Len() != 5 {
		t.Errorf("%d entries of 500 bytes and what they cost, want 5", c.Len())
	}
	c.Put("large", make([]byte, 5000), start.Add(time.Minute))
	if c.Len() != 5 {
		t.Error("a value larger than the cache drove out the others")
	}
	c.Put("99", make([]byte, 5000), start.Add(time.Minute))
	if got := holds(c, start, "99"); got != "" {
		t.Error("a former value stayed under the key of one that is too large")
	}
	c.Drop("")
	if c.Bytes() != 0 || c.Len() != 0 {
		t.Errorf("%d bytes and %d entries in an empty cache", c.Bytes(), c.Len())
	}
}

func TestAValueExpires(t *testing.T) {
	c := newResultCache(10, 1<<20)
	c.Put("a", []byte("1"), start.Add(time.Second))
	if _, expires, ok := c.Get("a", start.Add(999*time.Millisecond)); !ok || !expires.Equal(start.Add(time.Second)) {
		t.Errorf("before its time: found %v until %v", ok, expires)
	}
	if got := holds(c, start.Add(time.Second), "a"); got != "" || c.Bytes() != 0 {
		t.Errorf("after its time the cache holds %q in %d bytes", got, c.Bytes())
	}
}

func TestDropForgetsWhatBelongsTogether(t *testing.T) {
	c := newResultCache(10, 1<<20)
	keys := []string{resultKey("a", "x"), resultKey("a", "y"), resultKey("ab", "x")}
	for _, key := range keys {
		c.Put(key, nil, start.Add(time.Minute))
	}
	c.Drop(resultKey("a"))
	if got := holds(c, start, keys...); got != keys[2] {
		t.Errorf("the cache holds %q, want what is not of a", got)
	}
}

func TestDifferentPartsGiveDifferentKeys(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{"a", "b"}, {"ab"}, {"", "ab"}, {"ab", ""}, {"1:a", "b"}, {"a1:b"}, {"a", "1:b"}, {}} {
		key := resultKey(parts...)
		if other, ok := seen[key]; ok {
			t.Errorf("%q and %q have the same key", parts, other)
		}
		seen[key] = parts
	}
}

func TestEqualArgumentsAreTheSameText(t *testing.T) {
	for name, same := range map[string][]string{
		"names in any order":            {`{"a":1,"b":{"c":2,"d":3}}`, `{ "b": {"d":3, "c":2}, "a": 1 }`},
		"no arguments and an empty set": {``, ` `, `{}`, `{ }`},
	} {
		t.Run(name, func(t *testing.T) {
			want := must.Value(canonicalArguments([]byte(same[0])))(t)
			for _, other := range same[1:] {
				if got, err := canonicalArguments([]byte(other)); err != nil || got != want {
					t.Errorf("%s is %s, %v; %s is %s", other, got, err, same[0], want)
				}
			}
		})
	}
	if got, err := canonicalArguments([]byte(`{"a":1,"a":2}`)); err == nil {
		t.Errorf("a name that stands twice is %s", got)
	}
}

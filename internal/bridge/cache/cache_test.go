// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// holds returns the keys that c has at now, of those given.
func holds(c *Cache, now time.Time, keys ...string) string {
	var found []string
	for _, key := range keys {
		if _, _, ok := c.Get(key, now); ok {
			found = append(found, key)
		}
	}
	return strings.Join(found, " ")
}

func TestWhatWasUsedLeastRecentlyMakesRoom(t *testing.T) {
	c := New(2, 1<<20)
	c.Put("a", []byte("1"), start.Add(time.Minute))
	c.Put("b", []byte("2"), start.Add(time.Minute))
	holds(c, start, "a")
	c.Put("c", []byte("3"), start.Add(time.Minute))
	if got := holds(c, start, "a", "b", "c"); got != "a c" {
		t.Errorf("the cache holds %q, want a and c", got)
	}
}

func TestBytesAreBounded(t *testing.T) {
	c := New(1000, 4096)
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
	c := New(10, 1<<20)
	c.Put("a", []byte("1"), start.Add(time.Second))
	if _, expires, ok := c.Get("a", start.Add(999*time.Millisecond)); !ok || !expires.Equal(start.Add(time.Second)) {
		t.Errorf("before its time: found %v until %v", ok, expires)
	}
	if got := holds(c, start.Add(time.Second), "a"); got != "" || c.Bytes() != 0 {
		t.Errorf("after its time the cache holds %q in %d bytes", got, c.Bytes())
	}
}

func TestDropForgetsWhatBelongsTogether(t *testing.T) {
	c := New(10, 1<<20)
	keys := []string{Key("a", "x"), Key("a", "y"), Key("ab", "x")}
	for _, key := range keys {
		c.Put(key, nil, start.Add(time.Minute))
	}
	c.Drop(Key("a"))
	if got := holds(c, start, keys...); got != keys[2] {
		t.Errorf("the cache holds %q, want what is not of a", got)
	}
}

func TestDifferentPartsGiveDifferentKeys(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{"a", "b"}, {"ab"}, {"", "ab"}, {"ab", ""}, {"1:a", "b"}, {"a1:b"}, {"a", "1:b"}, {}} {
		key := Key(parts...)
		if other, ok := seen[key]; ok {
			t.Errorf("%q and %q have the same key", parts, other)
		}
		seen[key] = parts
	}
}

func TestTheSameValueIsTheSameText(t *testing.T) {
	tests := map[string][]string{
		"names in any order":            {`{"a":1,"b":{"c":2,"d":3}}`, `{ "b": {"d":3, "c":2}, "a": 1 }`},
		"escapes or not":                {`"é\/<"`, `"\u00e9/\u003c"`},
		"numbers written differently":   {`100`, `1e2`, `100.0`, `1.0E+2`, `1000e-1`},
		"small numbers":                 {`0.01`, `1e-2`, `0.010`, `10e-3`},
		"zeros":                         {`0`, `-0`, `0.0`, `0e5`},
		"no arguments and an empty set": {``, ` `, `{}`, `{ }`},
	}
	for name, same := range tests {
		t.Run(name, func(t *testing.T) {
			want, err := Canonical([]byte(same[0]))
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range same[1:] {
				if got, err := Canonical([]byte(other)); err != nil || got != want {
					t.Errorf("%s is %s, %v; %s is %s", other, got, err, same[0], want)
				}
			}
		})
	}
}

func TestDifferentValuesAreDifferentTexts(t *testing.T) {
	seen := map[string]string{}
	for _, v := range []string{
		`1`, `-1`, `10`, `0.1`, `"1"`, `[1]`, `{"1":1}`, `true`, `false`, `null`, `""`, `[]`, `{}`, `[[]]`, `[1,2]`, `[2,1]`,
		`9007199254740993`, `9007199254740992`, `9007199254740993.1`, `1e400`, `1e401`,
		`0.1000000000000000055511151231257827`, `"a,b"`, `["a","b"]`, `{"a":null}`, `{"a":""}`, `[null]`,
	} {
		text, err := Canonical([]byte(v))
		if err != nil {
			t.Errorf("%s: %v", v, err)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s are both %s", v, other, text)
		}
		seen[text] = v
	}
}

func TestWhatCannotBeComparedIsRefused(t *testing.T) {
	tests := map[string]string{
		"no JSON":                      `{`,
		"two values":                   `1 2`,
		"a name that stands twice":     `{"a":1,"a":2}`,
		"the same name with an escape": `{"a":1,"\u0061":2}`,
		"half of a surrogate pair":     `"\ud800"`,
		"bytes that are no text":       "\"\xff\"",
		"a number out of all bounds":   `1e99999999999999999999`,
		"nested without end":           strings.Repeat("[", 100) + strings.Repeat("]", 100),
	}
	for name, v := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := Canonical([]byte(v)); err == nil {
				t.Errorf("%.40s is %.40s", v, got)
			}
		})
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":[1.50,"x",null],"a":true}`, `1e5`, `-0.0`, `"\u00e9"`, `{"a":{"a":{}}}`, `[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		text, err := Canonical(v)
		if err != nil {
			return
		}
		again, err := Canonical([]byte(text))
		if err != nil || again != text {
			t.Errorf("%q is %q, which is %q, %v", v, text, again, err)
		}
	})
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"errors"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestABoxOpensOnlyWithItsKeyPurposeAndWords(t *testing.T) {
	of := func(key byte, purpose string) *Box { return must.Value(Key{key}.Box(purpose))(t) }
	box := of(1, "answers").Seal([]byte("the tools of alice"), "alice tools")
	if bytes.Contains(box, []byte("alice")) {
		t.Error("the box can be read")
	}
	if got, err := of(1, "answers").Open(box, "alice tools"); err != nil || string(got) != "the tools of alice" {
		t.Errorf("%q, %v", got, err)
	}
	changed := bytes.Clone(box)
	changed[len(changed)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another key":     func() ([]byte, error) { return of(2, "answers").Open(box, "alice tools") },
		"another purpose": func() ([]byte, error) { return of(1, "else").Open(box, "alice tools") },
		"other words":     func() ([]byte, error) { return of(1, "answers").Open(box, "bob tools") },
		"a changed box":   func() ([]byte, error) { return of(1, "answers").Open(changed, "alice tools") },
		"a short box":     func() ([]byte, error) { return of(1, "answers").Open(box[:8], "alice tools") },
		"nothing":         func() ([]byte, error) { return of(1, "answers").Open(nil, "alice tools") },
	} {
		if got, err := open(); !errors.Is(err, ErrBox) || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestNoProgramIsRemovedThatAConfigurationMayName holds that a program stays while a configuration
// names it or cannot be read, and after a change that failed.
func TestNoProgramIsRemovedThatAConfigurationMayName(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := Open(data)
	first, second := filepath.Join(data, "first.json"), filepath.Join(data, "second.json")
	used := filepath.Join(data, "programs", "used@1.0.0-0")
	change := func(path, text string, failed error) {
		t.Helper()
		must.Succeed(t, os.MkdirAll(used, 0o700))
		err := p.Change(t.Context(), path, func() error {
			return errors.Join(os.WriteFile(path, []byte(text), 0o600), failed)
		})
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
	}
	expect := func(there bool) {
		t.Helper()
		if _, err := os.Stat(used); (err == nil) != there {
			t.Errorf("there: %v, want %t", err, there)
		}
	}
	change(first, `{"args": ["/programs/used@1.0.0-0/a.js"]}`, nil)
	expect(true)
	change(second, "{}", nil)
	expect(true)
	change(second, "{}", errors.New("the change failed"))
	expect(true)
	must.Succeed(t, os.Remove(first))
	must.Succeed(t, os.Mkdir(first, 0o700)) // It cannot be read.
	change(second, "{}", nil)
	expect(true)
	must.Succeed(t, os.Remove(first))
	change(second, "{}", nil)
	expect(false)
	change(second, "used@1.0.0-0", nil)
	expect(true)
}

func TestWaitingForAnotherChangeCanBeEnded(t *testing.T) {
	t.Parallel()
	p := Open(t.TempDir())
	err := p.Change(t.Context(), "config.json", func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Change(ctx, "config.json", func() error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		return nil
	})
	must.Succeed(t, err)
}

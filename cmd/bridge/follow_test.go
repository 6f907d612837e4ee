// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

func TestAFollowerSeesEachChangeAndEachFailureOnce(t *testing.T) {
	contents := make(chan any)
	seen := make(chan string, 16)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		follower{
			interval: time.Millisecond,
			read: func() ([]byte, error) {
				select {
				case c := <-contents:
					if err, ok := c.(error); ok {
						return nil, err
					}
					return []byte(c.(string)), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			},
			changed: func(b []byte) { seen <- "changed " + string(b) },
			failed: func(err error) {
				if ctx.Err() == nil {
					seen <- "failed " + err.Error()
				}
			},
		}.run(ctx, []byte("a"))
	}()
	for _, c := range []any{"a", "b", "b", errors.New("x"), errors.New("x"), "b", errors.New("y"), "a"} {
		contents <- c
	}
	want := []string{"changed b", "failed x", "failed y", "changed a"}
	for _, w := range want {
		if got := <-seen; got != w {
			t.Errorf("%s, want %s", got, w)
		}
	}
	cancel()
	<-ended
	if len(seen) > 0 {
		t.Errorf("and %s", <-seen)
	}
}

// TestThePodTakesANewConfiguration swaps the file as the kubelet does: by the
// link to the folder that it is in.
func TestThePodTakesANewConfiguration(t *testing.T) {
	folder := t.TempDir()
	put := func(version, content string) {
		if err := os.Mkdir(filepath.Join(folder, version), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, version, "config.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(version, filepath.Join(folder, "next")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(folder, "next"), filepath.Join(folder, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	put("v1", goodConfig)
	log := &buffer{}
	o := Defaults()
	o.ConfigFile, o.KeybrokerCA = filepath.Join(folder, "..data", "config.json"), "pem"
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	p := &process{options: o, log: slog.New(slog.NewJSONHandler(log, nil))}
	ctx, cancel := context.WithCancel(t.Context())
	ended, taken := make(chan struct{}), make(chan mcpserver.Config, 4)
	go func() {
		defer close(ended)
		p.follow(ctx, func(c mcpserver.Config) error { taken <- c; return nil })
	}()
	put("v2", `{"x":1}`)
	waitFor(t, "the log says what is wrong", func() bool { return strings.Contains(log.String(), "unknown field") })
	put("v3", `{"userID":"alice","bridgeUID":"uid-1","mode":"router","servers":[]}`)
	if c := <-taken; c.Mode != mcpserver.Router || len(taken) != 0 {
		t.Errorf("took %+v", c)
	}
	cancel()
	<-ended
}

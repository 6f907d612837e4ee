// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/process"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestThePodTakesANewConfiguration swaps the file as the kubelet does: by the
// link to the folder that it is in.
func TestThePodTakesANewConfiguration(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put := func(version, content string) {
		must.Succeed(t, os.Mkdir(filepath.Join(folder, version), 0o700))
		must.Succeed(t, os.WriteFile(filepath.Join(folder, version, "config.json"), []byte(content), 0o600))
		must.Succeed(t, os.Symlink(version, filepath.Join(folder, "next")))
		must.Succeed(t, os.Rename(filepath.Join(folder, "next"), filepath.Join(folder, "..data")))
	}
	synctest.Test(t, func(t *testing.T) {
		put("v1", goodConfig)
		log := &logtest.Log{}
		o := Defaults()
		o.ConfigFile, o.KeybrokerCA = filepath.Join(folder, "..data", "config.json"), "pem"
		must.Succeed(t, o.Validate())
		p := &pod{options: o, log: slog.New(slog.NewJSONHandler(log, nil))}
		ctx, cancel := context.WithCancel(t.Context())
		ended, taken := make(chan struct{}), make(chan mcpserver.Config, 4)
		go func() {
			defer close(ended)
			p.follow(ctx, func(c mcpserver.Config) error { taken <- c; return nil })
		}()
		put("v2", `{"x":1}`)
		time.Sleep(process.FollowInterval)
		synctest.Wait()
		if !strings.Contains(log.String(), "unknown field") {
			t.Errorf("the log does not say what is wrong: %s", log)
		}
		put("v3", `{"userID":"alice","bridgeUID":"uid-1","mode":"router","servers":[]}`)
		if c := <-taken; c.Mode != mcpserver.Router || len(taken) != 0 {
			t.Errorf("took %+v", c)
		}
		cancel()
		<-ended
	})
}

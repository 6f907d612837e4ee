// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprocess

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
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/setting"
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
		var o Options
		s := setting.New("pod", "")
		o.Declare(s, func(string) string { return "pem" })
		must.Succeed(t, s.Parse([]string{"--config-file=" + filepath.Join(folder, "..data", "config.json")}))
		p := &pod{options: o, log: slog.New(slog.NewJSONHandler(log, nil))}
		ctx, cancel := context.WithCancel(t.Context())
		ended, taken := make(chan struct{}), make(chan bridgeconfig.Config, 4)
		go func() {
			defer close(ended)
			p.follow(ctx, func(c bridgeconfig.Config) error { taken <- c; return nil })
		}()
		put("v2", `{"x":1}`)
		time.Sleep(process.FollowInterval)
		synctest.Wait()
		if !strings.Contains(log.String(), "unknown field") {
			t.Errorf("the log does not say what is wrong: %s", log)
		}
		put("v3", `{"userID":"alice","bridgeUID":"uid-1","mode":"router","servers":[]}`)
		if c := <-taken; c.Mode != bridgeconfig.Router || len(taken) != 0 {
			t.Errorf("took %+v", c)
		}
		cancel()
		<-ended
	})
}

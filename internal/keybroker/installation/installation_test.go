// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// A restore that begins before a rotation and ends after it seals its last
// HostedBridges under the new version.
func TestALongCommandFollowsTheMasterKey(t *testing.T) {
	dir := t.TempDir()
	add := func(name string, first byte) {
		t.Helper()
		content := base64.StdEncoding.EncodeToString(append(make([]byte, 31), first))
		aside := filepath.Join(t.TempDir(), name)
		must.Succeed(t, errors.Join(os.WriteFile(aside, []byte(content), 0o600), os.Rename(aside, filepath.Join(dir, name))))
	}
	add("authority", 9)
	add("1", 1)
	keys, err := masterkey.Open(t.Context(), masterkey.Options{Dir: dir, Interval: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("the work's own")
	err = following(t.Context(), keys, func(ctx context.Context) error {
		changed := keys.Changed()
		add("2", 2)
		<-changed
		if current := keys.Keys().Current(); current.Version != 2 || ctx.Err() != nil {
			t.Errorf("current %s, %v", current, ctx.Err())
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
}

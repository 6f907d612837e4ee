// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const limits = `perMinute: 1, perHour: 2, perDay: 3, burst: 4, auditDays: 5, concurrentCalls: 6, streams: 7`

func TestWithoutAFileTheTiersAreTheDefaults(t *testing.T) {
	f := must.Value(OpenTierFile("", clocktest.New(0), slog.New(slog.DiscardHandler)))(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := f.Run(ctx); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(quota.Defaults(), f.Tiers()); diff != "" {
		t.Error(diff)
	}
}

func TestAFileThatIsWrongAtTheStartIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tiers.yaml")
	for _, content := range []string{"", "tiers: {}"} {
		if content != "" {
			write(t, path, content)
		}
		if _, err := OpenTierFile(path, clocktest.New(0), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestTheTiersFollowTheirFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tiers.yaml")
	write(t, path, "tiers: {a: {"+limits+"}}")
	clock, logs := clocktest.New(0), &bytes.Buffer{}
	f := must.Value(OpenTierFile(path, clock, slog.New(slog.NewTextHandler(logs, nil))))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	w := <-clock.Waits
	for _, test := range []struct {
		name, content string
		tiers, logged string
	}{
		{"as it was", "tiers: {a: {" + limits + "}}", "a", ""},
		{"changed", "tiers: {a: {" + limits + "}, b: {" + limits + "}}", "a b", "the tiers have changed"},
		{"wrong", "tiers: {}", "a b", "tiers is empty"},
		{"wrong as before", "tiers: {}", "a b", ""},
		{"gone", "", "a b", "no such file"},
		{"gone as before", "", "a b", ""},
		{"right again", "tiers: {c: {" + limits + "}}", "c", "the tiers have changed"},
	} {
		if test.content == "" {
			_ = os.Remove(path)
		} else {
			write(t, path, test.content)
		}
		clock.End(w)
		w = <-clock.Waits // It has read the file, and waits again.
		if got := strings.Join(f.Tiers().Names(), " "); got != test.tiers {
			t.Errorf("%s: tiers %s, want %s", test.name, got, test.tiers)
		}
		if got := logs.String(); (test.logged == "") != (got == "") || !strings.Contains(got, test.logged) {
			t.Errorf("%s: logged %q, want %q", test.name, got, test.logged)
		}
		logs.Reset()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
}

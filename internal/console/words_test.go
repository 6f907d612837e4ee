// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

func TestFiguresAndTimesAreWords(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for got, want := range map[string]string{
		count(0): "0", count(999): "999", count(1000): "1,000", count(1234567): "1,234,567",
		within(42): "42 s", within(121): "3 min", within(86389): "24 h",
		Took(0): "< 1 ms", Took(84): "84 ms", Took(1200): "1.2 s",
		ago(now, now.Add(-3*time.Second)): "just now", ago(now, now.Add(-5*time.Minute)): "5 min ago", ago(now, now.Add(-3*time.Hour)): "3 h ago",
		ago(now, now.Add(-50*time.Hour)): "23 November 2026, 10:00 UTC", when((*time.Time)(nil)): "not known",
		sentence("secret A is not set"): "Secret A is not set.", sentence("Over."): "Over.", sentence("a"): "A.",
		app("Mozilla/5.0 (X11)"): "a browser", app("claude-code/2"): "claude-code/2",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := sentence(""); got != "" {
		t.Errorf("nothing became %q", got)
	}
	for _, s := range audit.Statuses() {
		if outcomes[s] == "" {
			t.Errorf("%s has no words", s)
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"testing"
	"time"
)

func TestLifetimes(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"": 0, "90d": 90 * 24 * time.Hour, "12h": 12 * time.Hour, "1s": time.Second, "65535d": 65535 * 24 * time.Hour,
		"0d": -1, "-1d": -1, "1.5d": -1, "65536d": -1, "999ms": -1, "d": -1, "forever": -1, "1h1d": -1, "-2h": -1,
	} {
		got, err := ParseLifetime(s)
		if (err == nil) != (want >= 0) || err == nil && got != want {
			t.Errorf("ParseLifetime(%q) = %v, %v", s, got, err)
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseLifetime reads a duration that may be in days; an empty text is 0.
func ParseLifetime(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	lifetime, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint64
		// 16 bits are 179 years; a Duration holds 292.
		n, err = strconv.ParseUint(days, 10, 16)
		lifetime = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || lifetime < time.Second {
		return 0, fmt.Errorf("%q is not a lifetime such as 90d or 12h", s)
	}
	return lifetime, nil
}

// Expiry returns when a key of that lifetime expires that is made now, zero for no lifetime.
func Expiry(now time.Time, lifetime time.Duration) time.Time {
	if lifetime == 0 {
		return time.Time{}
	}
	return now.Add(lifetime)
}

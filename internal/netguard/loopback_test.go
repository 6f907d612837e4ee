// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard

import "testing"

func TestALoopbackHostIsThisMachineAndNoOther(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.8.9.10": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "128.0.0.1": false, "::2": false,
		"localhost.example.com": false, "127.0.0.1.example.com": false, "localhost.": false, "2130706433": false, "127.1": false, "localhost:80": false, "::1%lo": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

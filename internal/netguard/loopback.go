// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard

import (
	"net/netip"
	"strings"
)

// IsLoopback reports whether a host of a URL, without its port, is this machine: localhost or a
// loopback address. What is sent there needs no TLS. It resolves no names.
func IsLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Zone() == "" && a.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

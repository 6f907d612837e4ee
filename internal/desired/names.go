// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// maxName is what a label's value and a DNS label hold. Objects could have
// longer names, but one limit for all keeps a tenant's objects recognisable
// by the same beginning.
const maxName = 63

// Workload returns the name of the Deployment, of the ServiceAccount and of the
// ConfigMap of the HostedBridge called name.
func Workload(name string) string { return child(name, "-bridge") }

// Envelopes returns the name of the Secret that holds the sealed secrets of
// the HostedBridge called name. The keybroker makes it.
func Envelopes(name string) string { return child(name, "-envelopes") }

// Salt returns the name of the Secret that holds the key derivation salt of
// the HostedBridge called name. The keybroker makes it.
func Salt(name string) string { return child(name, "-salt") }

// Instance returns the value of the instance label of the HostedBridge called
// name.
func Instance(name string) string { return child(name, "") }

// child appends suffix to name and, where that is too long, replaces the end
// of name by a hash of all of it. The hash need not resist an attacker: a
// collision within a namespace is caught when the object turns out to belong
// to another HostedBridge.
func child(name, suffix string) string {
	if len(name)+len(suffix) <= maxName {
		return name + suffix
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	tail := fmt.Sprintf("-%016x%s", h.Sum64(), suffix)
	return strings.TrimRight(name[:maxName-len(tail)], "-.") + tail
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// maxName is what a label's value and a DNS label hold. Objects could have
// longer names, but one limit for all keeps a tenant's objects recognisable
// by the same beginning.
const maxName = 63

// WorkloadName returns the name of the Deployment, of the ServiceAccount and of the
// ConfigMap of the HostedBridge called name.
func WorkloadName(name string) string { return childName(name, "-bridge") }

// ClaimName returns the name of the PersistentVolumeClaim of a server of the
// HostedBridge called name. A server's name has no dot, so that no server of one
// bridge has the claim of a server of another.
func ClaimName(name, server string) string { return server + "." + WorkloadName(name) }

// ClaimServer returns the server whose claim is so called.
func ClaimServer(claim string) string {
	server, _, _ := strings.Cut(claim, ".")
	return server
}

// EnvelopesSecretName returns the name of the Secret that holds the sealed secrets of
// the HostedBridge called name. The keybroker makes it.
func EnvelopesSecretName(name string) string { return childName(name, "-envelopes") }

// SaltSecretName returns the name of the Secret that holds the key derivation salt of
// the HostedBridge called name. The keybroker makes it.
func SaltSecretName(name string) string { return childName(name, "-salt") }

// SharedEnvelopesSecretName returns the name of the Secret that holds the sealed secrets of
// a SharedServer. No name of a HostedBridge's Secret ends like it.
func SharedEnvelopesSecretName(name string) string { return childName(name, ".shared.envelopes") }

// SharedSaltSecretName returns the name of the Secret that holds the key derivation salt of
// a SharedServer.
func SharedSaltSecretName(name string) string { return childName(name, ".shared.salt") }

// InstanceLabelValue returns the value of the instance label of the HostedBridge called
// name.
func InstanceLabelValue(name string) string { return childName(name, "") }

// childName appends suffix to name and, where that is too long, replaces the end
// of name by a hash of all of it. The hash need not resist an attacker: a
// collision within a namespace is caught when the object turns out to belong
// to another HostedBridge.
func childName(name, suffix string) string {
	if len(name)+len(suffix) <= maxName {
		return name + suffix
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	tail := fmt.Sprintf("-%016x%s", h.Sum64(), suffix)
	return strings.TrimRight(name[:maxName-len(tail)], "-.") + tail
}

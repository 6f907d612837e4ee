// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeconfig

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// HeaderLists is the header by which an ingress and a bridge speak of first answers and lists:
// those that the ingress keeps, to give them while the bridge does not run. It never reaches a
// client, and no client's header of the name reaches a bridge.
const HeaderLists = "Hosted-Bridge-Lists"

// The values of HeaderLists in a request.
const (
	// ListsKept says that the ingress keeps answers and may have this one: a bridge whose servers
	// are starting declines the request at once.
	ListsKept = "kept"
	// ListsAwaited says that the ingress does not have this answer: the bridge waits for its servers.
	ListsAwaited = "awaited"
)

// ListsDeclined is the value of HeaderLists in the answer of a bridge that declines.
const ListsDeclined = "declined"

// ofClient marks an answer that is for one client alone.
const ofClient = "client"

// KeptMark is what a bridge says, in the trailer HeaderLists, of an answer that may be kept.
type KeptMark struct {
	// Configuration is the digest of the configuration with which the bridge made the answer.
	Configuration string
	// OfClient says that another client may get another answer: the bridge's one server made it.
	OfClient bool
}

// String returns the value of the trailer, empty for an answer that must not be kept.
func (m KeptMark) String() string {
	if m.OfClient && m.Configuration != "" {
		return m.Configuration + " " + ofClient
	}
	return m.Configuration
}

// ParseKeptMark reads the value of the trailer. It returns false for a value of another form.
func ParseKeptMark(value string) (KeptMark, bool) {
	configuration, rest, _ := strings.Cut(value, " ")
	m := KeptMark{Configuration: configuration, OfClient: rest == ofClient}
	return m, m.Configuration != "" && m.String() == value
}

// Digest identifies the configuration.
func (c Config) Digest() (string, error) {
	encoded, err := c.Encode()
	if err != nil {
		return "", err
	}
	return DigestOf(encoded), nil
}

// DigestOf identifies a configuration that Encode has returned. It need not resist an attacker:
// whoever chooses two configurations with one digest has the second reach their own pod a minute
// later, and lists of the first given for it.
func DigestOf[T []byte | string](encoded T) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(encoded))
	return fmt.Sprintf("%016x", h.Sum64())
}

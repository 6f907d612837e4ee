// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"net/netip"
	"slices"
	"sync"
)

// hashed is how many bytes of a keyed hash an entry has: enough that two of an
// installation's sessions do not meet, 16.
const hashed = 16

// minHashKey is the minimum length of a key, in bytes. There are few addresses:
// an attacker who can guess the key can find them all.
const minHashKey = 16

// Hasher hides sessions and addresses behind keyed hashes (HMAC-SHA-256, cut to
// 16 bytes, in hexadecimal). Replicas with one key give equal hashes.
type Hasher struct {
	// macs are *mac. To make one takes longer than to hash an address with it.
	macs sync.Pool
}

// mac is what one hash takes.
type mac struct {
	hash.Hash
	message []byte
	sum     [sha256.Size]byte
}

// NewHasher returns a hasher, or an error for a key of fewer than 16 bytes.
func NewHasher(key []byte) (*Hasher, error) {
	if len(key) < minHashKey {
		return nil, errors.New("the key of the audit trail's hashes must have 16 bytes or more")
	}
	key = slices.Clone(key)
	return &Hasher{macs: sync.Pool{New: func() any { return &mac{Hash: hmac.New(sha256.New, key)} }}}, nil
}

// Session returns the hash of a session id, empty for none.
func (h *Hasher) Session(id string) string {
	if id == "" {
		return ""
	}
	m := h.mac()
	defer h.macs.Put(m)
	return m.of(append(append(m.message[:0], "session\x00"...), id...))
}

// Address returns the hash of a client's address, empty for none. An IPv4
// address is the same one when it is written as IPv6.
func (h *Hasher) Address(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	m := h.mac()
	defer h.macs.Put(m)
	return m.of(a.Unmap().WithZone("").AppendTo(append(m.message[:0], "address\x00"...)))
}

func (h *Hasher) mac() *mac { return h.macs.Get().(*mac) }

// of returns the hash of message, which is kept to be written over.
func (m *mac) of(message []byte) string {
	m.Reset()
	_, _ = m.Write(message) // A hash takes everything.
	m.message = message[:0]
	if cap(message) > maxMessage {
		m.message = nil
	}
	return hexOf(m.Sum(m.sum[:0])[:hashed])
}

// maxMessage is the largest buffer that is used again, in bytes: most session
// ids have fewer.
const maxMessage = 4 << 10

// EntryID returns the id of the entry of a call that the user's bridge knows
// under this name: the same at whichever replica the bridge tells of it.
func EntryID(userID, call string) string {
	name := append(make([]byte, 0, 2*maxName), userID...)
	sum := sha256.Sum256(append(append(name, 0), call...))
	return hexOf(sum[:hashed])
}

// StepID returns the id of an entry about a step that several processes may note: the same
// for the same parts, so that the index has the step once.
func StepID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hexOf(h.Sum(nil)[:hashed])
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"
)

// hashed is how many bytes of a keyed hash an entry has: enough that two of an
// installation's sessions do not meet, 16.
const hashed = 16

// minHashKey is the least length of a key, in bytes. There are few addresses:
// whoever can guess the key can find them all.
const minHashKey = 16

// Hasher hides sessions and addresses behind keyed hashes (HMAC-SHA-256, cut to
// 16 bytes, in hexadecimal). Replicas with one key give equal hashes.
type Hasher struct{ key []byte }

// NewHasher returns a hasher, or an error for a key of fewer than 16 bytes.
func NewHasher(key []byte) (*Hasher, error) {
	if len(key) < minHashKey {
		return nil, errors.New("the key of the audit trail's hashes must have 16 bytes or more")
	}
	return &Hasher{key: key}, nil
}

// Session returns the hash of a session id, empty for none.
func (h *Hasher) Session(id string) string {
	if id == "" {
		return ""
	}
	return h.sum("session\x00" + id)
}

// Address returns the hash of a client's address, empty for none. An IPv4
// address is the same one when it is written as IPv6.
func (h *Hasher) Address(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return h.sum("address\x00" + a.Unmap().WithZone("").String())
}

func (h *Hasher) sum(message string) string {
	mac := hmac.New(sha256.New, h.key)
	_, _ = mac.Write([]byte(message)) // A hash takes everything.
	return hex.EncodeToString(mac.Sum(nil)[:hashed])
}

// EntryID returns the id of the entry of a call that the user's bridge knows
// under this name: the same at whichever replica the bridge tells of it.
func EntryID(userID, call string) string {
	sum := sha256.Sum256([]byte(userID + "\x00" + call))
	return hex.EncodeToString(sum[:hashed])
}

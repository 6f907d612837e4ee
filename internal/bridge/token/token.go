// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package token signs what a bridge gives to clients to bring back: the ids of
// sessions, which carry what a session is restored from, and the states of
// calls that wait for an answer. A token is authentic, not secret: its holder
// can read it.
//
// The package is pure. Randomness and times are arguments.
package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// ErrInvalid says that a token was not signed by this bridge, or not for this
// purpose. It says no more: who forges one learns nothing.
var ErrInvalid = errors.New("invalid token")

// MaxLength bounds a token, in characters. Common servers and proxies take 8 KiB
// for all headers of a request together, of which a token is one.
const MaxLength = 4096

const (
	// version is that of the format.
	version = 1
	// overhead is what a token has besides its payload: version, purpose and
	// signature.
	overhead = 2 + sha256.Size
)

// purpose separates tokens of one kind from those of another: it is signed too.
type purpose byte

const (
	purposeSession purpose = 1
	purposeState   purpose = 2
)

// encoding is strict, so that a token has one spelling: the ids of sessions are
// compared as text.
var encoding = base64.RawURLEncoding.Strict()

// Keys sign with the first of them and accept all.
type Keys struct {
	keys  [][]byte
	owner string
}

// NewKeys returns the keys of owner, whose tokens nobody else's keys accept even
// if they are equal. At least one key is required, each of 32 bytes or more.
func NewKeys(keys [][]byte, owner string) *Keys {
	copied := make([][]byte, 0, len(keys))
	for _, key := range keys {
		copied = append(copied, append([]byte(nil), key...))
	}
	return &Keys{keys: copied, owner: owner}
}

// seal returns the signed payload as text.
func (k *Keys) seal(p purpose, payload []byte) string {
	signed := make([]byte, 0, len(payload)+overhead)
	signed = append(signed, version, byte(p))
	signed = append(signed, payload...)
	return encoding.EncodeToString(append(signed, k.mac(k.keys[0], signed)...))
}

// open returns the payload of a token that seal made.
func (k *Keys) open(p purpose, text string) ([]byte, error) {
	if len(text) > MaxLength {
		return nil, ErrInvalid
	}
	b, err := encoding.DecodeString(text)
	// The decoder skips line breaks, which no token has.
	if err != nil || len(b) < overhead || encoding.EncodedLen(len(b)) != len(text) {
		return nil, ErrInvalid
	}
	signed, signature := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if signed[0] != version || signed[1] != byte(p) {
		return nil, ErrInvalid
	}
	for _, key := range k.keys {
		if hmac.Equal(k.mac(key, signed), signature) {
			return signed[2:], nil
		}
	}
	return nil, ErrInvalid
}

// mac returns the signature of a message. The owner is signed with its length
// before it, so that no part of the message can pass for it.
func (k *Keys) mac(key, message []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("hosted-bridge token\x00"))
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(k.owner))))
	mac.Write([]byte(k.owner))
	mac.Write(message)
	return mac.Sum(nil)
}

// BridgeID returns the id of a bridge in the lists of those that a request has
// passed: 16 hexadecimal digits of a digest of its UID, which they do not tell.
func BridgeID(uid string) string {
	digest := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(digest[:8])
}

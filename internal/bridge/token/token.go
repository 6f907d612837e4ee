// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package token signs data that clients send back to the bridge: the ids of sessions, which hold
// the data to restore a session, and the states of calls that wait for an answer. A token is
// authentic, not secret: its holder can read it.
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

// ErrInvalid says that a token was not signed by this bridge, or not for this purpose. It gives no
// details, so that an attacker learns nothing.
var ErrInvalid = errors.New("invalid token")

// MaxLength limits the length of a token in characters. A token is one header of a request, and
// common servers and proxies accept 8 KiB for all headers together.
const MaxLength = 4096

const (
	// version is the version of the format.
	version = 1
	// overhead is the size of a token without its payload: version, purpose and signature.
	overhead = 2 + sha256.Size
)

// purpose separates kinds of tokens. It is part of the signature.
type purpose byte

const (
	purposeSession purpose = 1
	purposeState   purpose = 2
)

// encoding is strict, so that each token has only one spelling: ids of sessions are compared as
// text.
var encoding = base64.RawURLEncoding.Strict()

// Keys sign with the first key and verify with all keys.
type Keys struct {
	keys  [][]byte
	owner string
}

// NewKeys returns the keys of owner. Keys of another owner refuse the tokens, even if the key
// bytes are equal. At least one key is required, and each key has at least 32 bytes.
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
	// The decoder skips line breaks, which valid tokens do not have.
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

// mac returns the signature of a message. It covers the owner with its length, so that no part of
// the message can be taken for the owner.
func (k *Keys) mac(key, message []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("hosted-bridge token\x00"))
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(k.owner))))
	mac.Write([]byte(k.owner))
	mac.Write(message)
	return mac.Sum(nil)
}

// BridgeID returns the id of a bridge in lists of hops: 16 hexadecimal digits of a digest of its
// UID, which does not reveal the UID.
func BridgeID(uid string) string {
	digest := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(digest[:8])
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package token

import (
	"crypto/sha256"
	"encoding/binary"
)

// State identifies one round of a call that waits for its client's answers. It is valid only for
// that call, in the process that holds the call.
type State struct {
	// Process is a random number of the process.
	Process Nonce
	// Call is a random number of the call.
	Call Nonce
	// Round counts the questions, so that an answer is accepted only once.
	Round uint32
	// Request identifies the operation: a digest by Digest.
	Request [sha256.Size]byte
}

// stateSize is the size of a state's payload, in bytes.
const stateSize = 2*nonceSize + 4 + sha256.Size

// SignState returns the state as text.
func (k *Keys) SignState(s State) string {
	payload := make([]byte, 0, stateSize)
	payload = append(payload, s.Process[:]...)
	payload = append(payload, s.Call[:]...)
	payload = binary.BigEndian.AppendUint32(payload, s.Round)
	payload = append(payload, s.Request[:]...)
	return k.seal(purposeState, payload)
}

// OpenState returns the state that SignState signed.
func (k *Keys) OpenState(text string) (State, error) {
	payload, err := k.open(purposeState, text)
	if err != nil {
		return State{}, err
	}
	if len(payload) != stateSize {
		return State{}, ErrInvalid
	}
	var s State
	rest := payload[copy(s.Process[:], payload):]
	rest = rest[copy(s.Call[:], rest):]
	s.Round = binary.BigEndian.Uint32(rest)
	copy(s.Request[:], rest[4:])
	return s, nil
}

// Digest returns a digest of the parts. Each part is hashed with its length, so that different
// lists have different digests.
func Digest(parts ...[]byte) [sha256.Size]byte {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import "encoding/binary"

// Purposes keep the two ciphertexts of an envelope from being exchanged.
const (
	purposeWrap = "wrap"
	purposeData = "data"
)

// wrapAAD is what the wrapped data key is bound to. The key version is in it,
// so that a header with another version fails even where both versions' keys
// are the same.
func (u *UserRing) wrapAAD(secret string, version uint32) []byte {
	return appendFields(u.aad(purposeWrap, secret), binary.BigEndian.AppendUint32(nil, version))
}

// dataAAD is what the encrypted secret is bound to. The key version is not in
// it: rotation wraps the data key anew and leaves the data as it is.
func (u *UserRing) dataAAD(secret string) []byte { return u.aad(purposeData, secret) }

func (u *UserRing) aad(purpose, secret string) []byte {
	return appendFields(nil, []byte(magic), []byte{algorithmAESGCM}, []byte(purpose),
		[]byte(u.cluster), []byte(u.userUID), []byte(secret))
}

// appendFields appends each field with its length before it, as 4 bytes, big
// end first. Without the lengths ("ab", "c") and ("a", "bc") would be equal.
func appendFields(b []byte, fields ...[]byte) []byte {
	for _, field := range fields {
		b = binary.BigEndian.AppendUint32(b, uint32(len(field))) //nolint:gosec // Names and UIDs: far below 4 GiB.
		b = append(b, field...)
	}
	return b
}

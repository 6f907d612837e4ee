// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import "encoding/binary"

// Purposes keep one use of a key or of associated data from being taken for
// another. They begin what is derived and what is authenticated.
const (
	purposeUserKey = "hosted-bridge/envelope/v1/user-key"
	purposeWrap    = "hosted-bridge/envelope/v1/wrap"
	purposeData    = "hosted-bridge/envelope/v1/data"
)

// maxField is the most bytes of a cluster's name, a user's UID or a secret's
// name: what Kubernetes allows for a DNS name or a key of a Secret.
const maxField = 253

func bindable(field string) bool { return len(field) >= 1 && len(field) <= maxField }

// wrapAAD is what the wrapped data key is bound to. The key version is in it,
// so that a changed header fails even where two versions had the same key.
func (u *UserRing) wrapAAD(secret string, version uint32) []byte {
	return appendFields(u.aad(purposeWrap, secret), binary.BigEndian.AppendUint32(nil, version))
}

// dataAAD is what the encrypted secret is bound to. The key version is not in
// it: a rotation wraps the data key anew and leaves the data as it is. Nothing
// is lost by that, since the data key opens these data alone and its wrap is
// bound to the version.
func (u *UserRing) dataAAD(secret string) []byte { return u.aad(purposeData, secret) }

func (u *UserRing) aad(purpose, secret string) []byte {
	return appendFields(nil, []byte(purpose), []byte{format}, []byte{algorithm},
		[]byte(u.cluster), []byte(u.userUID), []byte(secret))
}

// appendFields appends each field with its length before it, as 4 bytes, the
// highest first. Without the lengths ("ab", "c") and ("a", "bc") would be
// equal.
func appendFields(b []byte, fields ...[]byte) []byte {
	for _, field := range fields {
		b = binary.BigEndian.AppendUint32(b, uint32(len(field))) //nolint:gosec // At most maxField.
		b = append(b, field...)
	}
	return b
}

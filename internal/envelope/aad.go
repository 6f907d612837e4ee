// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import "encoding/binary"

// Purposes keep one use of a key or of associated data from being confused with
// another. They begin what is derived and what is authenticated.
const (
	purposeUserKey = "hosted-bridge/envelope/v1/user-key"
	purposeWrap    = "hosted-bridge/envelope/v1/wrap"
	purposeData    = "hosted-bridge/envelope/v1/data"
	purposeTransit = "hosted-bridge/transit/v1"
)

// maxField is the most bytes of a cluster's name, a user's UID or a secret's
// name: what Kubernetes allows for a DNS name or a key of a Secret.
const maxField = 253

func bindable(field string) bool { return len(field) >= 1 && len(field) <= maxField }

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

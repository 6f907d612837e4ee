// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import "hash/crc32"

// checksum returns the CRC-32 (IEEE) of body as checksumLength digits of base
// 62, the highest first. A CRC-32 finds every change within four neighbouring
// characters (32 bits), so every mistyped character and every two exchanged
// neighbours. It gives no protection against attackers.
func checksum(body string) string {
	digits := checksumDigits(body)
	return string(digits[:])
}

func checksumDigits(body string) (out [checksumLength]byte) {
	const base = uint32(len(alphabet))
	var room [64]byte // A key has fewer characters.
	sum := crc32.ChecksumIEEE(append(room[:0], body...))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = alphabet[sum%base]
		sum /= base
	}
	return out
}

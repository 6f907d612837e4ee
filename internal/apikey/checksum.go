// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import "hash/crc32"

// checksum returns the CRC-32 (IEEE) of body as checksumLength digits of base
// 62, the highest first. A CRC-32 finds every change within four neighbouring
// characters (32 bits), so every mistyped character and every two exchanged
// neighbours. It is no protection against anybody.
func checksum(body string) string {
	const base = uint32(len(alphabet))
	sum := crc32.ChecksumIEEE([]byte(body))
	var out [checksumLength]byte
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = alphabet[sum%base]
		sum /= base
	}
	return string(out[:])
}

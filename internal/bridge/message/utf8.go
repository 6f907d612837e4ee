// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// ToUTF8 returns JSON of a server with U+FFFD in place of what is not UTF-8, which some clients
// refuse together with the rest of the message. Other JSON is returned as it is.
func ToUTF8(raw json.RawMessage) json.RawMessage {
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

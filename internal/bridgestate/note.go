// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import "strings"

// maxNote is less than the 1024 bytes that the API accepts as an event's note.
const maxNote = 1000

// Note shortens a message to what the API accepts as the note of an event. It
// refuses an event with a longer one.
func Note(message string) string {
	if len(message) <= maxNote {
		return message
	}
	return strings.ToValidUTF8(message[:maxNote], "") + "…"
}

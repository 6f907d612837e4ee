// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import "strings"

// maxNote is less than the 1024 bytes that the API takes as an event's note.
const maxNote = 1000

// Note returns as much of a message as the API takes as the note of an event.
// One that is longer it refuses, and with it the event.
func Note(message string) string {
	if len(message) <= maxNote {
		return message
	}
	return strings.ToValidUTF8(message[:maxNote], "") + "…"
}

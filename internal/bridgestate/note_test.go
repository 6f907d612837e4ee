// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"strings"
	"testing"
)

func TestANoteIsCutWithinWhatTheAPITakes(t *testing.T) {
	if s := Note(strings.Repeat("é", 600)); len(s) > 1024 || !strings.HasSuffix(s, "é…") {
		t.Errorf("%d bytes", len(s))
	}
	if s := Note("short"); s != "short" {
		t.Errorf("got %q", s)
	}
}

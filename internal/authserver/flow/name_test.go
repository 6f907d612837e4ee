// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestANameIsShownAsItFitsOnAPage(t *testing.T) {
	for give, want := range map[string]string{
		"Desk":                            "Desk",
		" A\r\n\u202eb\x00 ":              "Ab",
		strings.Repeat("ä", maxName+1):    strings.Repeat("ä", maxName),
		"<script>alert(1)</script>":       "<script>alert(1)</script>", // The page's template quotes it.
		"\u200b":                          "",
		"Name \U0001F600 with a picture ": "Name \U0001F600 with a picture",
	} {
		if diff := cmp.Diff(want, ShownName(give)); diff != "" {
			t.Errorf("%q: %s", give, diff)
		}
	}
}

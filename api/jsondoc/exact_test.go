// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestWhatWasReadIsWrittenAsItWas(t *testing.T) {
	for name, text := range map[string]string{
		"a number that no float holds": `12345678901234567890`,
		"a number with a last zero":    `1.10`,
		"text that HTML would read":    `"<b> & </b>"`,
		"all of it in an object":       `{"a":[1e400,"&"],"b":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			var v any
			must.Succeed(t, DecodeExact([]byte(text), &v))
			if got := string(EncodeExact(v)); got != text {
				t.Errorf("got %s, want %s", got, text)
			}
		})
	}
}

func TestWhatIsNoJSONIsAnError(t *testing.T) {
	var v any
	if err := DecodeExact([]byte(`{"a":`), &v); err == nil {
		t.Error("no error")
	}
}

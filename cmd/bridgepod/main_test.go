// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestWhatIsTypedRunsACommand(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args      []string
		code      int
		out, said string // Parts of what is written to stdout and stderr.
	}{
		"no command":            {nil, 1, "", "the first argument must be pod or reach"},
		"an unknown command":    {[]string{"serve"}, 1, "", "the first argument must be pod or reach"},
		"help":                  {[]string{"pod", "--help"}, 0, "", "--keybroker-url"},
		"an argument too many":  {[]string{"pod", "alice"}, 1, "", "\"alice\" is not expected"},
		"settings that are bad": {[]string{"pod", "--token-file="}, 1, "", "--token-file: the value is empty; give a value"},
		"the version":           {[]string{"--version"}, 0, "\n", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, said bytes.Buffer
			if code := execute(t.Context(), tt.args, &out, &said); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, stream := range []struct{ got, want string }{{out.String(), tt.out}, {said.String(), tt.said}} {
				if !strings.Contains(stream.got, stream.want) || (stream.want == "") != (stream.got == "") {
					t.Errorf("wrote %q, want %q", stream.got, stream.want)
				}
			}
		})
	}
}

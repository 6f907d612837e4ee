// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsTypedRunsACommand(t *testing.T) {
	installed := filepath.Join(t.TempDir(), "bridge")
	tests := map[string]struct {
		args      []string
		code      int
		out, said string // Parts of what is written to stdout and stderr.
	}{
		"no command":            {nil, 1, "", "the first argument must be one of pod, shim, install, reach"},
		"an unknown command":    {[]string{"serve"}, 1, "", "the first argument must be one of pod, shim, install, reach"},
		"help":                  {[]string{"pod", "--help"}, 0, "", "--keybroker-url"},
		"a missing argument":    {[]string{"install"}, 1, "", "0 arguments besides flags, want 1: bridge install PATH"},
		"an argument too many":  {[]string{"pod", "alice"}, 1, "", "1 arguments besides flags, want 0: bridge pod"},
		"settings that are bad": {[]string{"pod", "--token-file="}, 1, "", "--token-file must not be empty"},
		"the version":           {[]string{"--version"}, 0, "\n", ""},
		"an installation":       {[]string{"install", installed}, 0, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
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
	if info, err := os.Stat(installed); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the program is not there to be run: %v", err)
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/test/docs"
)

func TestWhatIsTypedIsRunOrRefused(t *testing.T) {
	installed := filepath.Join(t.TempDir(), "shim")
	tests := map[string]struct {
		args      []string
		code      int
		out, said string // Parts of what is written to stdout and stderr.
	}{
		"an unknown flag":              {[]string{"--sockets=shim.sock"}, 1, "", "unknown flag: --sockets"},
		"an argument":                  {[]string{"serve"}, 1, "", "unexpected argument \"serve\": give flags, or install PATH"},
		"a copy without a path":        {[]string{"install"}, 1, "", "install takes one argument, the path of the copy"},
		"a socket in a missing folder": {[]string{"--socket=/missing/folder/shim.sock"}, 1, "", "the folder of the socket does not exist"},
		"help":                         {[]string{"--help"}, 0, "", "--storage"},
		"the version":                  {[]string{"--version"}, 0, "\n", ""},
		"a copy":                       {[]string{"install", installed}, 0, "", ""},
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
		t.Errorf("the copy cannot be run: %v", err)
	}
}

func TestTheReferenceHasEveryFlag(t *testing.T) {
	docs.ExpectFlags(t, "shim", []docs.Command{
		{Name: "/shim", Summary: "Run the program that a bridge sends over a socket, one at a time. The operator starts it in the container of a server over stdio.", Flags: newFlags(&stdio.Post{})},
		{Name: "/shim install PATH", Summary: "Copy this program to PATH.", Flags: pflag.NewFlagSet("", pflag.ContinueOnError)},
	})
}

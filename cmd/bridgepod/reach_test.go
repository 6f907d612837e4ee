// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheExitCodeTellsWhetherAnAddressIsReached(t *testing.T) {
	t.Parallel()
	open := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer open.Close()
	tests := map[string]struct {
		args []string
		code int
		said string
	}{
		"an address that answers":     {[]string{"--address=" + open.URL, "--for=1ms"}, 0, ""},
		"an address that does not":    {[]string{"--address=http://127.0.0.1:1", "--for=1ms"}, 3, "not reached"},
		"an address that is none":     {[]string{"--address=10.0.0.1:80", "--for=1ms"}, 1, "--address"},
		"an argument that is no flag": {[]string{"--adress=http://10.0.0.1"}, 1, "unknown flag"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if code := execute(t.Context(), append([]string{"reach"}, tt.args...), io.Discard, &out); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(out.String(), tt.said) || (tt.said == "") != (out.Len() == 0) {
				t.Errorf("said %q, want %q", out.String(), tt.said)
			}
		})
	}
}

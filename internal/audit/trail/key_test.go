// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !testenv

package trail

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestWhereTheAuditKeyComesFrom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	good := strings.Repeat("canary", 4)
	tests := map[string]struct {
		path        string
		warns, same bool
		fails       string
	}{
		"none":                   {"", false, false, ""},
		"a file":                 {file("key", good+"\n"), false, true, ""},
		"a file that is missing": {filepath.Join(dir, "missing"), true, false, ""},
		"a mount without files":  {filepath.Join(dir, "no-such-mount", "key"), true, false, ""},
		"a short key":            {file("short", "canary"), false, false, "--audit-key-file: "},
		"no file":                {dir, false, false, "read --audit-key-file: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			hash := func() (string, error) {
				o := Options{KeyFile: tt.path}
				s, hasher, err := o.open(io.Discard, slog.New(slog.NewTextHandler(&log, nil)))
				if err != nil {
					return "", err
				}
				return hasher.Session("the session"), s.Close()
			}
			first, err := hash()
			if tt.fails != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.fails) || strings.Contains(err.Error(), "canary") {
					t.Errorf("error %v, want %s", err, tt.fails)
				}
				return
			}
			second, err2 := hash()
			if err != nil || err2 != nil || first == "" || (first == second) != tt.same {
				t.Errorf("hashes %q and %q, %v, %v", first, second, err, err2)
			}
			if warned := strings.Contains(log.String(), "--audit-key-file does not exist"); warned != tt.warns || strings.Contains(log.String(), "canary") {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

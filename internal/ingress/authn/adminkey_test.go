// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestWhereTheAdminKeyComesFrom(t *testing.T) {
	dir := t.TempDir()
	file := func(content string) string {
		path := filepath.Join(dir, "key")
		must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	for name, test := range map[string]struct {
		env, path, want, says string
	}{
		"nowhere":                  {says: "neither CATALOG_ADMIN_KEY nor --admin-key-file"},
		"the environment":          {env: "0123456789abcdef", want: "0123456789abcdef"},
		"a file":                   {env: "of the environment", path: file(" 0123456789abcdef\n"), want: "0123456789abcdef"},
		"a file that is not there": {env: "0123456789abcdef", path: filepath.Join(dir, "none"), says: "cannot read"},
		"too short a key":          {env: "123456789abcdef", says: "shorter than 16"},
		"white space":              {env: "                    ", says: "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(adminKeyEnv, test.env)
			var log bytes.Buffer
			k := NewAdminKey(test.path, slog.New(slog.NewTextHandler(&log, nil)))
			k.Get()
			if got := string(k.Get()); got != test.want {
				t.Errorf("the key is %q, want %q", got, test.want)
			}
			if said := log.String(); (said == "") != (test.says == "") || !strings.Contains(said, test.says) || strings.Count(said, "\n") > 1 {
				t.Errorf("the log says %q", said)
			}
			if test.want != "" && strings.Contains(log.String(), test.want) {
				t.Error("the log has the key")
			}
		})
	}
}

func TestTheAdminKeyIsReadAgainWhenItsFileChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	var log bytes.Buffer
	k := NewAdminKey(path, slog.New(slog.NewTextHandler(&log, nil)))
	for _, content := range []string{"the first key of all", "and then another one", "", "and the last one"} {
		must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
		k.looked = k.looked.Add(-adminKeyEvery - time.Second)
		if got := string(k.Get()); got != content {
			t.Errorf("the key is %q, want %q", got, content)
		}
	}
	if said := log.String(); strings.Count(said, "answers 503") != 2 || strings.Count(said, "is enabled") != 2 {
		t.Errorf("the log says %q", said)
	}
}

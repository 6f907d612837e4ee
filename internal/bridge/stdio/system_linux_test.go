// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestTheStateOfAProcessIsRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stat string
		want process
		ok   bool
	}{
		"a plain one":           {"7 (node) S 3 5 5 0 -1", process{7, 3, 5, false}, true},
		"one that has ended":    {"7 (node) Z 3 5 5 0 -1", process{7, 3, 5, true}, true},
		"a name to deceive":     {"7 (x) Z 1 1) S 3 5 5 0", process{7, 3, 5, false}, true},
		"one with a line break": {"7 (a\nb) R 3 5 5", process{7, 3, 5, false}, true},
		"nothing":               {"", process{}, false},
	} {
		if got, ok := parseStat(7, []byte(tt.stat)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

func TestAPeerMustBeTheSameUser(t *testing.T) {
	t.Parallel()
	if sameUser(65532, 65532) != nil || sameUser(0, 65532) == nil || sameUser(65532, 0) == nil {
		t.Error("the wrong user is admitted, or the right one is not")
	}
}

func TestTheSocket(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	used := filepath.Join(folder, "used.sock")
	other := must.Value(net.Listen("unix", used))(t)
	defer other.Close()
	stale := filepath.Join(folder, "stale.sock")
	left := must.Value(net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"}))(t)
	left.SetUnlinkOnClose(false)
	left.Close()
	for name, tt := range map[string]struct{ socket, want string }{
		"in no folder":              {filepath.Join(folder, "no", "shim.sock"), "does not exist"},
		"where a file is":           {file, "something else than a socket"},
		"where another one listens": {used, "another process listens"},
		"where one was":             {stale, ""},
		"where none was":            {filepath.Join(folder, "new.sock"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := listen(tt.socket)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(tt.socket)
			if err != nil || info.Mode() != fs.ModeSocket|0o660 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			l.Close()
			if _, err := os.Stat(tt.socket); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("closed, and there: %v", err)
			}
		})
	}
}

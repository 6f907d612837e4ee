// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// encoded returns the content of a key's file.
func encoded(first byte) string {
	return base64.StdEncoding.EncodeToString(append([]byte{first}, make([]byte, 31)...))
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestARingIsLoadedAsKubernetesMountsIt(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "..2026_11_21_12_00_00.1")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, link := range [][2]string{{filepath.Base(data), "..data"}, {"..data/1", "1"}, {"..data/2", "2"}, {"..data/10", "10"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"1": encoded(1), "2": encoded(2) + "\n", "10": encoded(3)} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ring, err := LoadRing(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint32{1, 2, 10}, ring.Versions()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if ring.envelopes.Current().Version != 10 {
		t.Errorf("version %d seals, want 10", ring.envelopes.Current().Version)
	}
}

func TestAddingAVersionDoesNotChangeTheAuthority(t *testing.T) {
	one, both, later := testRing(t, 1), testRing(t, 1, 2), testRing(t, 2)
	if !bytes.Equal(one.Authority().CertificatePEM(), both.Authority().CertificatePEM()) {
		t.Error("adding a version changes the authority")
	}
	if bytes.Equal(one.Authority().CertificatePEM(), later.Authority().CertificatePEM()) {
		t.Error("the authority outlives its version of the key")
	}
}

func TestEveryBadFileIsNamedAndNoneQuoted(t *testing.T) {
	good := encoded(1)
	for _, test := range []struct {
		name  string
		files map[string]string
		named []string
	}{
		{"no file", nil, nil},
		{"a name that is no version", map[string]string{"1": good, "key": good}, []string{`"key"`}},
		{"version 0", map[string]string{"0": good}, []string{`"0"`}},
		{"a leading zero", map[string]string{"01": good}, []string{`"01"`}},
		{"a sign", map[string]string{"+1": good}, []string{`"+1"`}},
		{"a version that fits no status", map[string]string{"2147483648": good}, []string{`"2147483648"`}},
		{"an empty file", map[string]string{"1": ""}, []string{`"1"`}},
		{"a short key", map[string]string{"1": base64.StdEncoding.EncodeToString(make([]byte, 31))}, []string{`"1"`}},
		{"a long key", map[string]string{"1": base64.StdEncoding.EncodeToString(append([]byte{1}, make([]byte, 32)...))}, []string{`"1"`}},
		{"raw bytes", map[string]string{"1": strings.Repeat("k", 32)}, []string{`"1"`}},
		{"hex", map[string]string{"1": strings.Repeat("ab", 32)}, []string{`"1"`}},
		{"two lines", map[string]string{"1": good + "\n\n"}, []string{`"1"`}},
		{"a line within", map[string]string{"1": good[:20] + "\n" + good[20:]}, []string{`"1"`}},
		{"a space", map[string]string{"1": " " + good}, []string{`"1"`}},
		{"a key of zeroes", map[string]string{"1": encoded(0)}, []string{`"1"`}},
		{"three bad files beside a good one", map[string]string{"1": good, "2": "x", "3": "y", "old": good}, []string{`"2"`, `"3"`, `"old"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ring, err := LoadRing(write(t, test.files))
			if err == nil || ring != nil {
				t.Fatal("loaded")
			}
			for _, name := range test.named {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%s is not in %q", name, err)
				}
			}
			for _, content := range test.files {
				if len(content) > 1 && strings.Contains(err.Error(), strings.TrimSpace(content)) {
					t.Errorf("a key is in the error")
				}
			}
		})
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir := write(t, map[string]string{"1": encoded(1)})
	if err := os.Mkdir(filepath.Join(dir, "2"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadRing(dir); err == nil || !strings.Contains(err.Error(), `"2"`) {
		t.Errorf("error %v", err)
	}
	if _, err := LoadRing(filepath.Join(dir, "absent")); err == nil {
		t.Error("a directory that is not there loads")
	}
}

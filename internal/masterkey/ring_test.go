// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestARingIsReadAsKubernetesMountsIt(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "..2026_11_21_12_00_00.1")
	must.Succeed(t, os.Mkdir(data, 0o700))
	files := map[string]string{"1": encoded(1), "2": encoded(2) + "\n", "10": encoded(3), "authority": encoded(4), "current": "2\n", "minimum": "2"}
	must.Succeed(t, os.Symlink(filepath.Base(data), filepath.Join(dir, "..data")))
	for name, content := range files {
		must.Succeed(t, os.WriteFile(filepath.Join(data, name), []byte(content), 0o600))
		must.Succeed(t, os.Symlink("..data/"+name, filepath.Join(dir, name)))
	}
	want := Status{Provider: ProviderLocal, Versions: []uint32{1, 2, 10}, Current: 2, Minimum: 2}
	if diff := cmp.Diff(want, open(t, Options{Dir: dir}).Status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestWhichVersionsAreUsed(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		want  Status
	}{
		{"the highest is current where nobody says another", map[string]string{"1": encoded(1), "7": encoded(2)},
			Status{ProviderLocal, []uint32{1, 7}, 7, 1}},
		{"one that was added is not current until it is said", map[string]string{"1": encoded(1), "2": encoded(2), "current": "1"},
			Status{ProviderLocal, []uint32{1, 2}, 1, 1}},
		{"one below the minimum stays in sight", map[string]string{"1": encoded(1), "2": encoded(2), "minimum": "2\n"},
			Status{ProviderLocal, []uint32{1, 2}, 2, 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.files["authority"] = encoded(9)
			if diff := cmp.Diff(test.want, open(t, Options{Dir: write(t, test.files)}).Status()); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryBadFileIsNamedAndNoneQuoted(t *testing.T) {
	good := encoded(1)
	for _, test := range []struct {
		name  string
		files map[string]string
		named []string
	}{
		{"no version", map[string]string{}, []string{"no version of the master key"}},
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
		{"a key of zeroes", map[string]string{"1": base64.StdEncoding.EncodeToString(make([]byte, 32))}, []string{`"1"`}},
		{"three bad files beside a good one", map[string]string{"1": good, "2": "x", "3": "y", "old": good}, []string{`"2"`, `"3"`, `"old"`}},
		{"one key under two versions", map[string]string{"1": good, "2": good}, []string{"versions 1 and 2 are the same key"}},
		{"an authority that is no key", map[string]string{"1": good, "authority": "none"}, []string{`"authority"`}},
		{"a current version that is a word", map[string]string{"1": good, "current": "latest"}, []string{`"current"`}},
		{"a current version that is a key", map[string]string{"1": good, "current": good}, []string{`"current"`}},
		{"a current version that is not there", map[string]string{"1": good, "current": "2"}, []string{"current version", "2"}},
		{"a current version below the minimum", map[string]string{"1": good, "2": encoded(2), "current": "1", "minimum": "2"}, []string{"current version", "1"}},
		{"a minimum that is no number", map[string]string{"1": good, "minimum": "one"}, []string{`"minimum"`}},
		{"a generation of login keys that is a word", map[string]string{"1": good, "login": "latest"}, []string{`"login"`}},
		{"a generation of login keys that is a key", map[string]string{"1": good, "login": good}, []string{`"login"`}},
		{"a generation of login keys below 0", map[string]string{"1": good, "login": "-1"}, []string{`"login"`}},
		{"a generation of login keys with a leading zero", map[string]string{"1": good, "login": "01"}, []string{`"login"`}},
		{"a generation of login keys that no int32 holds", map[string]string{"1": good, "login": "2147483648"}, []string{`"login"`}},
		{"an empty generation of login keys", map[string]string{"1": good, "login": ""}, []string{`"login"`}},
		{"a minimum above all", map[string]string{"1": good, "minimum": "2"}, []string{"minimum version 2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, given := test.files["authority"]; !given {
				test.files["authority"] = encoded(9)
			}
			s, err := Open(t.Context(), Options{Dir: write(t, test.files)})
			if err == nil || s != nil {
				t.Fatal("opens")
			}
			for _, name := range test.named {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%s is not in %q", name, err)
				}
			}
			for name, content := range test.files {
				if len(content) > 5 && strings.Contains(err.Error(), strings.TrimSpace(content)[:5]) {
					t.Errorf("the content of %s is in the error", name)
				}
			}
		})
	}
}

func TestAMissingAuthorityTellsHowToMakeOne(t *testing.T) {
	_, err := Open(t.Context(), Options{Dir: write(t, map[string]string{"1": encoded(1)})})
	if err == nil || !strings.Contains(err.Error(), `"authority" is missing`) || !strings.Contains(err.Error(), "head -c 32 /dev/urandom | base64") {
		t.Errorf("error %v", err)
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir := write(t, map[string]string{"1": encoded(1), "authority": encoded(9)})
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "2"), 0o700))
	if _, err := Open(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), `"2"`) {
		t.Errorf("error %v", err)
	}
	if _, err := Open(t.Context(), Options{Dir: filepath.Join(dir, "absent")}); err == nil {
		t.Error("a directory that is not there opens")
	}
}

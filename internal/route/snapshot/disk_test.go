// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// keyFile returns a file with the key that consists of that letter.
func keyFile(t *testing.T, letter string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	must.Succeed(t, os.WriteFile(path, []byte(strings.Repeat(letter, 43)+"=\n"), 0o600))
	return path
}

func openDirectory(t *testing.T, path, letter string) *Directory {
	t.Helper()
	return must.Value(OpenDirectory(path, keyFile(t, letter), "hosted-bridge-system"))(t)
}

func tableOf(t *testing.T, users ...string) *route.Table {
	t.Helper()
	var backends []route.Backend
	for _, user := range users {
		b := route.Backend{State: route.Ready, PodIP: "10.1.2.3"}
		b.User = v1alpha1.UserID(user)
		backends = append(backends, b)
	}
	return must.Value(route.Restore(route.Content{Backends: backends}))(t)
}

func TestWhatIsKeptIsFoundByTheNextProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "by", "it")
	d := openDirectory(t, path, "A")
	if _, err := d.Routes(epoch, time.Hour); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("routes of an empty directory: %v", err)
	}
	if _, err := d.Credentials(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("credentials of an empty directory: %v", err)
	}
	pair := Pair{CA: []byte("ca"), Chain: []byte("chain"), Key: []byte("key")}
	for _, users := range [][]string{{"alice", "bob"}, {"alice"}} { // And once over an old one.
		must.Succeed(t, errors.Join(d.KeepRoutes(Table{Routes: tableOf(t, users...), Confirmed: epoch}), d.KeepCredentials(pair)))
	}

	d = openDirectory(t, path, "A")
	got, err := d.Routes(epoch.Add(time.Minute), time.Hour)
	if err != nil || !got.Confirmed.Equal(epoch) {
		t.Fatalf("confirmed at %s, %v", got.Confirmed, err)
	}
	if diff := cmp.Diff(slices.Collect(tableOf(t, "alice").Backends), slices.Collect(got.Routes.Backends)); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	if got, err := d.Credentials(); err != nil || !cmp.Equal(got, pair) {
		t.Errorf("credentials %v, %v", got, err)
	}
	if _, err := openDirectory(t, path, "B").Routes(epoch, time.Hour); !errors.Is(err, ErrSignature) {
		t.Errorf("read by another key: %v", err)
	}
}

func TestNobodyElseReadsTheFiles(t *testing.T) {
	path := t.TempDir()
	d := openDirectory(t, path, "A")
	// A half-written file of an earlier process, open to everybody.
	must.Succeed(t, os.WriteFile(filepath.Join(path, "credentials.next"), []byte("half"), 0o644))
	must.Succeed(t, errors.Join(d.KeepCredentials(Pair{}), d.KeepRoutes(Table{Routes: &route.Table{}})))
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v: want the two files and nothing else", entries, err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has mode %s (%v)", entry.Name(), info.Mode(), err)
		}
	}
}

func TestAWriteThatFailsLeavesTheOldFile(t *testing.T) {
	path := t.TempDir()
	d := openDirectory(t, path, "A")
	must.Succeed(t, d.KeepRoutes(Table{Routes: tableOf(t, "alice"), Confirmed: epoch}))
	// Something that Remove does not remove stands where the next file goes.
	must.Succeed(t, os.MkdirAll(filepath.Join(path, "routes.next", "x"), 0o700))
	if err := d.KeepRoutes(Table{Routes: tableOf(t, "bob"), Confirmed: epoch}); err == nil {
		t.Fatal("written")
	}
	if got, err := d.Routes(epoch, time.Hour); err != nil || got.Routes.Len() != 1 {
		t.Errorf("%v", err)
	} else if _, ok := got.Routes.Lookup("alice"); !ok {
		t.Error("the old routes are gone")
	}
	if w := d.Writes(Routes); w != (Writes{Done: 1, Failed: 1}) {
		t.Errorf("counted %+v", w)
	}
}

func TestABadKeyFileIsNamed(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad")
	must.Succeed(t, os.WriteFile(bad, []byte("hunter2"), 0o600))
	long := filepath.Join(t.TempDir(), "long")
	must.Succeed(t, os.WriteFile(long, make([]byte, maxKeyFile+1), 0o600))
	for _, file := range []string{bad, long, filepath.Join(t.TempDir(), "none")} {
		_, err := OpenDirectory(t.TempDir(), file, "x")
		if err == nil || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestAFileOfAnyLengthIsNotRead(t *testing.T) {
	path := t.TempDir()
	d := openDirectory(t, path, "A")
	must.Succeed(t, os.WriteFile(filepath.Join(path, "credentials"), make([]byte, Credentials.Max()+1), 0o600))
	if _, err := d.Credentials(); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("read: %v", err)
	}
}

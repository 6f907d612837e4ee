// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// encoded returns the content of a key's file.
func encoded(first byte) string {
	return base64.StdEncoding.EncodeToString(append([]byte{first}, bytes.Repeat([]byte{0x5a}, 31)...))
}

// write makes a directory of these files.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	rewrite(t, dir, files)
	return dir
}

// rewrite gives the directory these files and no others.
func rewrite(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	entries := must.Value(os.ReadDir(dir))(t)
	for _, entry := range entries {
		must.Succeed(t, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	for name, content := range files {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
}

func open(t testing.TB, o Options) *Source {
	t.Helper()
	return must.Value(Open(t.Context(), o))(t)
}

// alice is a user whose secrets the keys seal.
func alice(t testing.TB, k *envelope.Keys) *envelope.User {
	t.Helper()
	return user(t, k, "alice")
}

func user(t testing.TB, k *envelope.Keys, uid string) *envelope.User {
	t.Helper()
	return must.Value(k.User("test", uid, bytes.Repeat([]byte{7}, envelope.SaltSize)))(t)
}

const canary = "canary-7f3a9c41d2b8e605"

func seal(t testing.TB, k *envelope.Keys) []byte {
	t.Helper()
	return must.Value(envelope.Seal(t.Context(), rand.Reader, alice(t, k), "TOKEN", []byte(canary)))(t)
}

func mustOpen(t testing.TB, k *envelope.Keys, sealed []byte) {
	t.Helper()
	got, err := envelope.Open(t.Context(), alice(t, k), "TOKEN", sealed)
	if err != nil || string(got) != canary {
		t.Fatalf("opens to %d bytes, %v", len(got), err)
	}
}

// sealedBy names the key of an envelope.
func sealedBy(t testing.TB, sealed []byte) string {
	t.Helper()
	h := must.Value(envelope.Inspect(sealed))(t)
	return h.Key.String()
}

// textLogger returns a logger that writes l.
func textLogger(l *logtest.Log) *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// run runs the source until the test ends.
func run(t testing.TB, s *Source) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/postgresserver"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		cluster.Remove()
		os.Exit(code)
	}))
}

var cluster postgresserver.Server

// everywhere runs a test against each of the databases.
func everywhere(t *testing.T, test func(t *testing.T, open func() *Store)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "an index?.db")
		test(t, func() *Store { return openedIn(t, OpenSQLite, path) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		database := cluster.Database(t)
		test(t, func() *Store { return openedIn(t, OpenPostgres, database) })
	})
}

func openedIn(t *testing.T, open func(string) (*Store, error), where string) *Store {
	t.Helper()
	s := must.Value(open(where))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestABadURLIsNotRepeated(t *testing.T) {
	for _, bad := range []string{"postgres://index:geheim@host:port/x", "geheim", "postgres://index:geheim@[::1"} {
		if _, err := OpenPostgres(bad); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("OpenPostgres(%q) = %v", bad, err)
		}
	}
}

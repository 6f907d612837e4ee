// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !testenv

package trail

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/audit/index"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// keepForTest begins a trail on standard output with the index at path.
func keepForTest(t *testing.T, ctx context.Context, path string) (p *Trail, end func() error) {
	t.Helper()
	o := Options{Index: "sqlite:" + path}
	p, err := o.Open(func(string) time.Duration { return time.Hour }, nil, io.Discard, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return p, p.Run(ctx)
}

func writeForTest(t *testing.T, p *Trail) {
	t.Helper()
	err := p.Sink.Write(audit.Entry{
		ID: rand.Text(), Time: time.Now(), UserID: "alice", Principal: audit.Principal{Kind: audit.KindUserKey},
		ReportedBy: audit.Ingress, Call: audit.Call{Method: methods.CallTool, Status: audit.Success},
	})
	if err != nil {
		t.Error(err)
	}
}

// entriesAt returns how many entries the index at path has.
func entriesAt(t *testing.T, path string) int {
	t.Helper()
	store := must.Value(index.OpenSQLite(path))(t)
	defer store.Close()
	page := must.Value(store.Search(t.Context(), audit.Query{Limit: 10}))(t)
	return len(page.Entries)
}

// TestTheIndexHasWhatIsWrittenInADrain writes after the order to end has come,
// as calls do that end then.
func TestTheIndexHasWhatIsWrittenInADrain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index")
	ctx, drain := context.WithCancel(t.Context())
	p, end := keepForTest(t, ctx, path)
	writeForTest(t, p)
	drain()
	// By the index itself: while it makes its file, that is locked for others.
	wait.Until(t, "the first entry", func() bool {
		page, err := p.Index.Search(t.Context(), audit.Query{Limit: 1})
		return err == nil && len(page.Entries) == 1
	})
	writeForTest(t, p)
	if err := end(); err != nil {
		t.Error(err)
	}
	if got := entriesAt(t, path); got != 2 {
		t.Errorf("the index has %d entries, want 2", got)
	}
}

// TestAnIndexThatCannotBeOpenedKeepsNobodyFromServing has it in a directory that
// comes later.
func TestAnIndexThatCannotBeOpenedKeepsNobodyFromServing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "missing")
	p, end := keepForTest(t, t.Context(), filepath.Join(dir, "index"))
	writeForTest(t, p)
	if _, err := p.Index.Search(t.Context(), audit.Query{Limit: 1}); err == nil {
		t.Error("an index that is not there has an answer")
	}
	must.Succeed(t, os.Mkdir(dir, 0o700))
	if err := end(); err != nil {
		t.Error(err)
	}
	if got := entriesAt(t, filepath.Join(dir, "index")); got != 1 {
		t.Errorf("the index has %d entries, want 1", got)
	}
	for _, kind := range []string{"postgres:" + filepath.Join(dir, "url"), "postgres:" + dir} {
		o := Options{Index: kind}
		if x, err := o.openIndex(nil, nil, slog.New(slog.DiscardHandler)); x == nil || err != nil {
			t.Errorf("no index for %s: %v", kind, err)
		}
	}
}

func TestKindsOfAuditIndexes(t *testing.T) {
	for s, ok := range map[string]bool{
		"none": true, "sqlite:/var/lib/index.db": true, "postgres:/etc/url": true, "sqlite:a:b": true,
		"": false, "none:": false, "none:x": false, "sqlite": false, "sqlite:": false, "postgres:": false, "mysql:x": false, "/var/lib/index.db": false,
	} {
		if _, _, got := indexOf(s); got != ok {
			t.Errorf("%q is taken: %v", s, got)
		}
	}
}

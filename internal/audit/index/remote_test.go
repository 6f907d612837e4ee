// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// elsewhere is a process that keeps an index for others, and can go away.
type elsewhere struct {
	*httptest.Server
	path string
	now  atomic.Pointer[http.ServeMux]
	// end ends the process that runs.
	end func()
}

func startElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	e := &elsewhere{path: filepath.Join(t.TempDir(), "index.db")}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mux := e.now.Load(); mux != nil {
			mux.ServeHTTP(w, r)
			return
		}
		http.Error(w, "away", http.StatusServiceUnavailable)
	}))
	t.Cleanup(e.Close)
	return e
}

// start begins with what is in the file.
func (e *elsewhere) start(t *testing.T) {
	t.Helper()
	s := must.Value(OpenSQLite(e.path))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, slog.New(slog.DiscardHandler)) }()
	mux := http.NewServeMux()
	s.Register(mux)
	e.now.Store(mux)
	e.end = func() {
		e.now.Store(nil)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(e.end)
}

func (e *elsewhere) remote(t *testing.T) *Remote {
	t.Helper()
	client := must.Value(jsoncall.New(e.URL, nil))(t)
	t.Cleanup(client.Close)
	return NewRemote(client)
}

// TestAnIndexElsewhereIsOfAllReplicas has two of them, a restart, and an absence
// in which what was written waits in memory.
func TestAnIndexElsewhereIsOfAllReplicas(t *testing.T) {
	e := startElsewhere(t)
	a, _ := follow(t, e.remote(t), nil)
	b, _ := follow(t, e.remote(t), nil)
	ofA, ofB := newChain("a"), newChain("b")
	a.Follow(ofA.records("alice", 0, 1))
	if _, err := b.Search(t.Context(), audit.Query{Limit: 1}); err == nil || !strings.Contains(err.Error(), "answers 503: away") {
		t.Errorf("nobody is there: %v", err)
	}
	e.start(t)
	b.Follow(ofB.records("bob", 2, 3))
	want := []string{"bob-3", "bob-2", "alice-1", "alice-0"}
	for _, x := range []*Index{a, b} {
		if got := await(t, x, 4); !slices.Equal(got, want) {
			t.Error(got)
		}
	}
	e.end()
	a.Follow(ofA.records("alice", 4))
	e.start(t)
	for _, x := range []*Index{b, a} {
		if got := await(t, x, 5); !slices.Equal(got, append([]string{"alice-4"}, want...)) {
			t.Error(got)
		}
	}
}

// TestAnIndexElsewhereAnswersAsItsStoreDoes asks both the same.
func TestAnIndexElsewhereAnswersAsItsStoreDoes(t *testing.T) {
	e := startElsewhere(t)
	e.start(t)
	r := e.remote(t)
	s := openedIn(t, OpenSQLite, e.path)
	wait.NoError(t, wait.Limit, "the index elsewhere is prepared", r.prepare)
	for i, user := range []string{"", "alice", "bob"} {
		must.Succeed(t, r.add(t.Context(), newChain(fmt.Sprint("w", i)).records(user, 0, 1, 2, 3, 4)))
	}
	if seq, err := r.progress(t.Context(), "w1"); err != nil || seq != 5 {
		t.Errorf("progress %d, %v", seq, err)
	}
	if users, err := r.users(t.Context()); err != nil || !slices.Equal(users, []string{"", "alice", "bob"}) {
		t.Errorf("users %q, %v", users, err)
	}
	first := compare(t, "a page", r, s, func(x storage) (audit.Page, error) {
		p, err := x.Search(t.Context(), audit.Query{UserID: "alice", Status: audit.Statuses()[0], From: start, To: start.Add(time.Hour), Limit: 2, Lines: true})
		p.Shared = true
		return p, err
	})
	if len(first.Entries) != 2 || first.Next == nil || first.Lines == nil {
		t.Fatalf("%+v", first)
	}
	compare(t, "the page after it", r, s, func(x storage) (audit.Page, error) {
		p, err := x.Search(t.Context(), audit.Query{UserID: "alice", Before: first.Next, Limit: 2})
		p.Shared = true
		return p, err
	})
	figures := compare(t, "figures", r, s, func(x storage) (audit.Figures, error) {
		f, err := x.Figures(t.Context(), audit.FiguresQuery{From: start, To: start.Add(3 * time.Hour), Step: time.Hour, Top: 10})
		f.Shared = true
		return f, err
	})
	if figures.Total.Count() != 15 || len(figures.Steps) != 3 || len(figures.Uses) != 3 {
		t.Errorf("%+v", figures)
	}
	one := compare(t, "figures of one user", r, s, func(x storage) (audit.Figures, error) {
		f, err := x.Figures(t.Context(), audit.FiguresQuery{UserID: "bob", From: start, To: start.Add(3 * time.Hour), Step: time.Hour, Top: 10})
		f.Shared = true
		return f, err
	})
	if one.Total.Count() != 5 || len(one.Uses) != 1 {
		t.Errorf("%+v", one)
	}
	compare(t, "uses", r, s, func(x storage) ([]audit.Use, error) { return x.Uses(t.Context(), start, start.Add(time.Hour)) })
	if removed, err := r.purge(t.Context(), map[string]time.Time{"alice": start.Add(time.Hour), "": start}); err != nil || removed != 5 {
		t.Errorf("removed %d, %v", removed, err)
	}
	for _, q := range []audit.FiguresQuery{{From: start, To: start.Add(time.Hour)}, {From: start, To: start.Add(10_000 * time.Hour), Step: time.Hour}} {
		if _, err := r.Figures(t.Context(), q); err == nil || !strings.Contains(err.Error(), "too many steps") {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// compare asks both stores the same, and returns the answer.
func compare[A any](t *testing.T, what string, remote, local storage, ask func(storage) (A, error)) A {
	t.Helper()
	got, err := ask(remote)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	want, err := ask(local)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-local +remote):\n%s", what, diff)
	}
	return got
}

func TestNobodyWaitsForAnIndexThatIsBeingPrepared(t *testing.T) {
	e := startElsewhere(t)
	s := Later(func() (*Store, error) { return OpenSQLite(filepath.Join(e.path, "below a file that is none")) })
	mux := http.NewServeMux()
	s.Register(mux)
	e.now.Store(mux)
	if _, err := e.remote(t).Search(t.Context(), audit.Query{Limit: 1}); err == nil || !strings.Contains(err.Error(), "not prepared yet") {
		t.Error(err)
	}
}

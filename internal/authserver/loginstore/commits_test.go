// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package loginstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/database"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func newCommits(t *testing.T) *commits {
	t.Helper()
	db := must.Value(database.OpenSQLite(filepath.Join(t.TempDir(), "a.db"), database.Durable))(t)
	c := &commits{db: db}
	t.Cleanup(func() {
		c.close()
		_ = db.Close()
	})
	must.Value(db.ExecContext(t.Context(), `CREATE TABLE a (b TEXT)`))(t)
	return c
}

func insert(value string, end error) func(context.Context, statements) error {
	return func(ctx context.Context, s statements) error {
		_, err := s.ExecContext(ctx, `INSERT INTO a VALUES (?)`, value)
		return errors.Join(err, end)
	}
}

// rows returns how many there are, also to a transaction that began before.
func rows(t *testing.T, c *commits) (n int) {
	t.Helper()
	must.Succeed(t, c.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM a`).Scan(&n))
	return n
}

// TestThoseWhoWaitAreCommittedTogether holds the first write back until others
// wait behind it.
func TestThoseWhoWaitAreCommittedTogether(t *testing.T) {
	c := newCommits(t)
	const others = 50
	held, begun := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		err := c.write(t.Context(), func(ctx context.Context, s statements) error {
			close(begun)
			<-held
			return insert("first", nil)(ctx, s)
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	var transactions sync.Map
	for i := range others {
		group.Go(func() {
			end := error(nil)
			if i%2 == 1 {
				end = flow.ErrExists // Their own matter.
			}
			err := c.write(t.Context(), func(ctx context.Context, s statements) error {
				transactions.Store(s, struct{}{})
				return insert(fmt.Sprint(i), end)(ctx, s)
			})
			if !errors.Is(err, end) {
				t.Error(err)
			}
		})
	}
	wait.Until(t, "all others wait", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.waiting) == others
	})
	close(held)
	group.Wait()
	n := 0
	transactions.Range(func(any, any) bool { n++; return true })
	if n != 1 || rows(t, c) != others+1 {
		t.Errorf("%d transactions, %d rows", n, rows(t, c))
	}
}

func TestWhatTheDatabaseCannotDoIsUndoneForAll(t *testing.T) {
	c := newCommits(t)
	broken := errors.New("broken")
	writes := []*write{
		{do: insert("a", nil)}, {do: insert("b", flow.ErrNotFound)}, {do: insert("c", broken)}, {do: insert("d", nil)},
	}
	c.commit(t.Context(), writes)
	for i, w := range writes {
		if !errors.Is(w.err, broken) {
			t.Errorf("%d: %v", i, w.err)
		}
	}
	if n := rows(t, c); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func TestNobodyWritesAfterTheEnd(t *testing.T) {
	c := newCommits(t)
	c.close()
	if err := c.write(t.Context(), insert("a", nil)); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package must_test

import (
	"errors"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestResultsWithoutAnErrorAreReturned(t *testing.T) {
	t.Parallel()
	must.Succeed(t, nil)
	if got := must.Value("a", nil)(t); got != "a" {
		t.Errorf("got %q, want a", got)
	}
	if before, after := must.Values("a", 1, nil)(t); before != "a" || after != 1 {
		t.Errorf("got %q and %d, want a and 1", before, after)
	}
}

// recorder keeps what a test fails with. It ends its goroutine as a test does.
type recorder struct {
	testing.TB

	failure error
}

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) {
	r.failure, _ = args[0].(error)
	panic(r)
}

func TestAnErrorEndsTheTest(t *testing.T) {
	t.Parallel()
	failed := errors.New("refused")
	for name, call := range map[string]func(testing.TB){
		"Succeed": func(t testing.TB) { must.Succeed(t, failed) },
		"Value":   func(t testing.TB) { must.Value("a", failed)(t) },
		"Values":  func(t testing.TB) { must.Values("a", 1, failed)(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			defer func() {
				if recover() != r || !errors.Is(r.failure, failed) {
					t.Errorf("the test fails with %v, want the error", r.failure)
				}
			}()
			call(r)
			t.Error("the test goes on after the error")
		})
	}
}

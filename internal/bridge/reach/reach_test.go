// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheLastAttemptCounts(t *testing.T) {
	tests := map[string]struct {
		answers func(attempt int64) bool
		reached bool
	}{
		"always":               {func(int64) bool { return true }, true},
		"never":                {func(int64) bool { return false }, false},
		"only at the begin":    {func(n int64) bool { return n < 2 }, false},
		"not yet at the begin": {func(n int64) bool { return n > 1 }, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !tt.answers(n.Add(1)) {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}))
			defer server.Close()
			err := Last(t.Context(), server.URL, Attempts{For: 200 * time.Millisecond, Each: time.Second, Between: 10 * time.Millisecond})
			if (err == nil) != tt.reached {
				t.Errorf("after %d attempts: %v, want reached %v", n.Load(), err, tt.reached)
			}
			if n.Load() < 3 {
				t.Errorf("only %d attempts", n.Load())
			}
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	if err := Last(t.Context(), "http://127.0.0.1:1", Attempts{For: time.Millisecond, Each: time.Second, Between: time.Millisecond}); err == nil {
		t.Error("a closed port answers")
	}
}

func TestItEndsWhenItIsTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Last(ctx, "http://127.0.0.1:1", Attempts{For: time.Hour, Each: time.Second, Between: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package loginstore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkLogin does what a login and the first refresh of its tokens ask of a
// store, for 32 people at a time.
func BenchmarkLogin(b *testing.B) {
	for name, target := range targets {
		b.Run(name, func(b *testing.B) {
			s := opened(b, target(b), Options{})
			var logins atomic.Int64
			var mu sync.Mutex
			var took []time.Duration
			b.SetParallelism(16) // For each of GOMAXPROCS.
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					began := time.Now()
					if err := login(b, s, fmt.Sprint(logins.Add(1))); err != nil {
						b.Error(err)
						return
					}
					mu.Lock()
					took = append(took, time.Since(began))
					mu.Unlock()
				}
			})
			slices.Sort(took)
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms/login")
			b.ReportMetric(float64(b.N)/b.Elapsed().Minutes(), "logins/min")
		})
	}
}

// login is 12 operations, of which 10 write.
func login(b *testing.B, s *Store, id string) error {
	// What is kept of a login is of about this size.
	value, next := []byte(strings.Repeat("v", 500)), []byte(strings.Repeat("w", 500))
	ctx, end := b.Context(), later()
	steps := []func() error{
		func() error { return s.Put(ctx, "login", id, value, end) },        // To the provider.
		func() error { _, err := s.Get(ctx, "login", id); return err },     // Back from it.
		func() error { return s.Swap(ctx, "login", id, value, next, end) }, // Who it is.
		func() error { _, err := s.Take(ctx, "login", id); return err },    // The consent.
		func() error { return s.Put(ctx, "code", id, value, end) },
		func() error { _, err := s.Take(ctx, "code", id); return err }, // The tokens.
		func() error { return s.Put(ctx, "used", id, value, end) },
		func() error { return s.Put(ctx, "grant", id, value, end) },
		func() error { _, err := s.Get(ctx, "grant", id); return err }, // The refresh.
		func() error { return s.Swap(ctx, "grant", id, value, next, end) },
		func() error { return s.Put(ctx, "used", id+"'", value, end) },
		func() error { return s.Delete(ctx, "grant", id) }, // The end.
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

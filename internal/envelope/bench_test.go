// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"crypto/rand"
	"fmt"
	"testing"
)

// sizes are those of a token, a configuration file and the largest secret.
var sizes = []int{40, 1 << 10, MaxPlaintext}

func BenchmarkSeal(b *testing.B) {
	u := alice(b, 1)
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			plaintext := fill('x', size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Seal(b.Context(), rand.Reader, u, testSecret, plaintext); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	u := alice(b, 1)
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			sealed := seal(b, u, testSecret, fill('x', size))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Open(b.Context(), u, testSecret, sealed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRewrap is what a rotation costs for each secret.
func BenchmarkRewrap(b *testing.B) {
	old, both := alice(b, 1), alice(b, 1, 2)
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			sealed := seal(b, old, testSecret, fill('x', size))
			b.ReportAllocs()
			for b.Loop() {
				if _, changed, err := Rewrap(b.Context(), rand.Reader, both, testSecret, sealed); err != nil || !changed {
					b.Fatal(changed, err)
				}
			}
		})
	}
}

//go:build testenv

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"github.com/hostedbridge/hostedbridge/test/redisserver"
)

func init() {
	targets["Redis"] = func(t testing.TB) string { return "redis:" + written(t, redisserver.Start(t).URL()) }
}

// TestAServerOfOthersIsUsed has a Redis that somebody else has keys in.
func TestAServerOfOthersIsUsed(t *testing.T) {
	s := opened(t, targets["Redis"](t), Options{})
	client := s.backend.(*shared).client
	if err := client.Set(t.Context(), "somebody's", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	// A key that looks like what the store keeps beside its entries.
	put(t, s, "ends of client", "x", "value", later())
	put(t, s, "client", "x", "value", later())
	found, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(found) != 5 {
		t.Errorf("the keys are %q, %v", found, err)
	}
	for _, key := range found {
		if ttl := client.TTL(t.Context(), key).Val(); key == prefix+"client:x" && ttl <= 0 {
			t.Errorf("%s stays for %v", key, ttl)
		}
	}
}

func TestARedisThatHasLostItsMemoryKnowsNobody(t *testing.T) {
	server := redisserver.Start(t)
	s := opened(t, "redis:"+written(t, server.URL()), Options{})
	put(t, s, "grant", "a", "value", later())
	server.Restart(t)
	expect(t, s, "grant", "a", "")
	put(t, s, "grant", "a", "anew", later())
}

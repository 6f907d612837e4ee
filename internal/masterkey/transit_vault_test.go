// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build vault

package masterkey

import (
	"crypto/rand"
	"net/http"
	"os"
	"strings"
	"testing"
)

// The same against a real server: VAULT_ADDR, VAULT_TOKEN of one who may mount
// engines, and VAULT_CACERT if it has a CA of its own.
func TestTransitOfARealServer(t *testing.T) {
	s := server{
		address: strings.TrimSuffix(os.Getenv("VAULT_ADDR"), "/"), token: os.Getenv("VAULT_TOKEN"), caFile: os.Getenv("VAULT_CACERT"),
		path: "hosted-bridge-test-" + strings.ToLower(rand.Text()[:8]),
	}
	if s.address == "" || s.token == "" {
		t.Fatal("VAULT_ADDR and VAULT_TOKEN must say where a server is")
	}
	s.mount(t, s.path)
	t.Cleanup(func() { s.do(t, http.MethodDelete, "sys/mounts/"+s.path, nil) })
	behave(t, s, "key-")
}

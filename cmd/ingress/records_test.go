// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/bundle/bundleclient"
	"github.com/hostedbridge/hostedbridge/internal/programs"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestABundleThatTheStoreLostIsToldFromAStoreThatIsAway matters to the page of a program: the first
// is made again by itself.
func TestABundleThatTheStoreLostIsToldFromAStoreThatIsAway(t *testing.T) {
	for status, lost := range map[int]bool{http.StatusNotFound: true, http.StatusForbidden: false, http.StatusInternalServerError: false} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer server.Close()
		trusts := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		trusts.ServerName = "example.com" // One of the names in the server's certificate.
		store := must.Value(bundleclient.New(server.URL, func() *tls.Config { return trusts }))(t)
		defer store.Close()
		_, err := recordsOf(store)(t.Context(), bundle.Digest("sha256:"+strings.Repeat("ab", 32)))
		if err == nil || errors.Is(err, programs.ErrGone) != lost {
			t.Errorf("%d: %v", status, err)
		}
	}
}

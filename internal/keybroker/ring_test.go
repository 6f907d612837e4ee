// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/masterkey"
)

func TestTheRingIsToldBesideTheProbes(t *testing.T) {
	probes := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	status := func() masterkey.Status {
		return masterkey.Status{Provider: "local", Versions: []uint32{1, 2}, Current: 2, Minimum: 1}
	}
	handler := http.NewServeMux()
	handler.Handle("/", WithRing(probes, status, nil))
	handler.Handle("/some/", http.StripPrefix("/some", WithRing(probes, status, []string{"b", "a"})))
	for path, want := range map[string]string{
		"/ring":      `200 {"provider":"local","versions":[1,2],"current":2,"minimum":1}`,
		"/some/ring": `200 {"provider":"local","versions":[1,2],"current":2,"minimum":1,"watchNamespaces":["b","a"]}`,
		"/healthz":   "418 ",
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if got := fmt.Sprintf("%d %s", w.Code, w.Body); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

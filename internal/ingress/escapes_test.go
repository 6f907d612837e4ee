// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// TestWhatPeopleReadInJSONHasNoHTMLEscapes has the bodies that clients print as they came.
func TestWhatPeopleReadInJSONHasNoHTMLEscapes(t *testing.T) {
	const text = "1 < 2 && 3 > 2"
	refused := httpapi.New(http.StatusBadRequest, "refused", text)
	refuse := func(httpapi.Call) error { return refused }
	w := newWorldWith(t, defaults(), func(d *Deps) {
		d.Features = append(d.Features, httpapi.Feature{Name: "refusing", MaxPath: 20, Routes: []httpapi.Route{{Method: http.MethodGet, Path: "/refusing", Access: httpapi.Public, Handle: refuse}}})
	})
	key := w.addUser("alice")
	w.setPod("alice", "pod-a", hosts[0])
	w.reports["uid-alice"] = health.Report{Status: text}
	answers := map[string]string{
		"a problem":        w.do(w.request(http.MethodGet, "/refusing", "", "")).body,
		"a JSON-RPC error": string(encodeRPC(refused, nil, nil)),
		"a report":         w.do(w.request(http.MethodGet, "/u/alice/health", key, "")).body,
	}
	for name, body := range answers {
		if !strings.Contains(body, text) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

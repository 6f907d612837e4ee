// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprocess

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAProbeWaitsALittleForReadiness asks at the beginning, and has what is
// lacking come later, or the end.
func TestAProbeWaitsALittleForReadiness(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		certificate, secrets, draining time.Duration // When; never where it is 0.
		status                         int
		took                           time.Duration
	}{
		"it is ready":                   {certificate: 1, secrets: 1, status: 200, took: readyLook},
		"its secrets come":              {certificate: 1, secrets: 300 * time.Millisecond, status: 200, took: 300*time.Millisecond + readyLook},
		"its certificate comes":         {certificate: 300 * time.Millisecond, secrets: 1, status: 200, took: 300*time.Millisecond + readyLook},
		"its certificate does not come": {secrets: 1, status: 503, took: readyWait},
		"its secrets come too late":     {certificate: 1, secrets: time.Second, status: 503, took: readyWait},
		"it ends":                       {certificate: 1, secrets: 1, draining: 1, status: 503, took: readyLook},
		"it ends before it is ready":    {draining: 300 * time.Millisecond, status: 503, took: 300*time.Millisecond + readyLook},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var certificate, secrets atomic.Bool
				r := &readiness{certificate: certificate.Load, secrets: secrets.Load}
				for _, comes := range []struct {
					what *atomic.Bool
					at   time.Duration
				}{{&certificate, tt.certificate}, {&secrets, tt.secrets}, {&r.draining, tt.draining}} {
					if comes.at > 0 {
						time.AfterFunc(comes.at, func() { comes.what.Store(true) })
					}
				}
				began, answer := time.Now(), httptest.NewRecorder()
				r.handler(func(http.ResponseWriter, *http.Request) {}).ServeHTTP(answer, httptest.NewRequest("GET", "/readyz", nil))
				if took := time.Since(began); answer.Code != tt.status || took > tt.took {
					t.Errorf("answered %d after %s, want %d within %s", answer.Code, took, tt.status, tt.took)
				}
			})
		})
	}
}

// TestTheIngressIsToldAtOnce asks as the ingress does, and for what else there is.
func TestTheIngressIsToldAtOnce(t *testing.T) {
	t.Parallel()
	yes, no := func() bool { return true }, func() bool { return false }
	for name, tt := range map[string]struct {
		certificate, secrets func() bool
		draining             bool
		status               int
	}{
		"it is ready":          {yes, yes, false, 200},
		"no certificate":       {no, yes, false, 503},
		"no secrets":           {yes, no, false, 503},
		"it is on its way out": {yes, yes, true, 503},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &readiness{certificate: tt.certificate, secrets: tt.secrets}
				r.draining.Store(tt.draining)
				front := r.inFront(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
				for path, want := range map[string]int{"GET /readyz": tt.status, "POST /readyz": 418, "GET /readyz/x": 418, "GET /health": 418} {
					method, path, _ := strings.Cut(path, " ")
					began, answer := time.Now(), httptest.NewRecorder()
					front.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
					if took := time.Since(began); answer.Code != want || took > 0 {
						t.Errorf("%s %s: answered %d after %s, want %d at once", method, path, answer.Code, took, want)
					}
				}
			})
		})
	}
}

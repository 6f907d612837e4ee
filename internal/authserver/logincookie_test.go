// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestACookieNeedsTLSButOnALaptop(t *testing.T) {
	for issuer, want := range map[string]bool{"https://bridges.example.com": true, "http://localhost:8080": false} {
		w := httptest.NewRecorder()
		loginCookieOf(issuer).SetBrowser(w, strings.Repeat("a", 43), time.Minute)
		cookie := w.Result().Cookies()[0]
		if cookie.Secure != want || strings.HasPrefix(cookie.Name, "__Host-") != want || !cookie.HttpOnly {
			t.Errorf("%s: %v", issuer, cookie)
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// bodySize returns how many bytes of the body may be kept: what is declared, or
// as much as is allowed where nothing is, or too much.
func bodySize(r *http.Request, most int64) int64 {
	if r.ContentLength < 0 || r.ContentLength > most {
		return most
	}
	return r.ContentLength
}

// refuseBody lets a request pass that has no body, where none is read. One that
// is left unread would hold the connection until it has come.
func refuseBody(r *request) error {
	if r.http.ContentLength != 0 {
		return problems.BodyNotAllowed
	}
	return nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// Requests returns the feature by which users ask for servers, and administrators answer.
func Requests(r *requests.Requests) httpapi.Feature {
	f := ofUsers("requests", r.UserRoutes())
	for _, a := range r.AdminRoutes(query) {
		a.Access, a.AnyQuery, a.NoHead, a.MaxAnswer = httpapi.Admin, true, true, pageAnswer
		f.Routes = append(f.Routes, a)
	}
	return f
}

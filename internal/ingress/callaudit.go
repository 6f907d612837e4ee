// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// auditor makes the audit entries of requests.
type auditor struct {
	calls  *callaudit.Log
	acts   AuditTrail
	routes Routes
	// hasher hides addresses.
	hasher *audit.Hasher
}

// originOf returns what the audit entries of a request say of where it is from.
func originOf(r *request) callaudit.Origin {
	return callaudit.Origin{
		Principal: r.caller, Header: r.http.Header, Query: r.http.URL.RawQuery, Source: r.source,
		TraceID: r.traceID, RequestID: r.id, Route: r.route, Start: r.start,
	}
}

// auditCalls lets no answer to a tool call out without its entry, nor a call in
// while entries cannot be written.
func (a *auditor) auditCalls(r *request) error {
	a.calls.Open(&r.audit, originOf(r), r.requests())
	if err := r.audit.Admit(); err != nil {
		return err
	}
	if r.route == routeSSE && r.http.Method == http.MethodGet {
		r.audit.OpenSession()
	}
	return nil
}

// auditRefusal writes the entries of a request that is answered with p: of its
// calls where they were read, and else of the request itself.
func (a *auditor) auditRefusal(r *request, p *httpapi.Problem) {
	calls := r.http.Method == http.MethodPost && (r.route == routeMCP || r.route == routeSSE)
	switch {
	case r.caller.User == "":
	case !r.admitted, calls && r.body == nil:
		from := originOf(r)
		a.calls.RefusedUnread(&from, p)
	case calls:
		a.calls.Open(&r.audit, originOf(r), r.requests())
		r.audit.Refused(p, r.batch.Overlong)
	}
}

// bridgeOf returns the HostedBridge of the user whom an act is about, empty without one.
func (a *auditor) bridgeOf(r *request, user v1alpha1.UserID) types.UID {
	if r.caller.User == user {
		return r.caller.BridgeUID
	}
	t := a.routes.Current()
	if t == nil {
		return ""
	}
	b, _ := t.Lookup(user)
	return b.BridgeUID
}

// writeAct writes the entry of an act that was done, before it is answered. user is
// the one that it is about. Where the entry cannot be written the act is not answered: a key
// that was handed out to no user opens nothing.
func (a *auditor) writeAct(r *request, who audit.Principal, user string, act audit.Call) error {
	err := a.acts.Write(audit.Entry{
		ID: rand.Text(), Time: time.Now(), UserID: user, BridgeUID: string(a.bridgeOf(r, v1alpha1.UserID(user))),
		Principal:    who,
		Call:         act,
		ReportedBy:   audit.Ingress,
		SourceIPHash: a.hasher.Address(r.source),
		UserAgent:    r.http.UserAgent(),
		RequestID:    r.id,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", problems.ActNotAudited, err)
	}
	return nil
}

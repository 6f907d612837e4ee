// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/inflight"
	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// request is one request from its beginning to its end: what came, and what each
// step leaves for those after it. It belongs to the goroutine of its handler, but
// for the inflight.Call, which guards itself.
//
// What the access log and the trace say of a request has no field that a key, a
// body, a query or a foreign path could get into. A secret's name is here once its
// user is known, and matches path.go; what a bridge reports is bounded by package callaudit.
type request struct {
	inflight.Call

	// http is the request as it came, with a checked URL. Its context only cancels.
	http *http.Request
	// w is what steps write the answer to. Behind the router it is the router's
	// writer, since that answers where it has not seen an answer.
	w      http.ResponseWriter
	params params

	id    string
	route string // the label in metrics and logs
	// encodeProblem is that of the feature, nil for problems as all others write them.
	encodeProblem func(*httpapi.Problem) (contentType string, body []byte)
	// showProblem answers a browser with a page, nil for other callers.
	showProblem func(http.ResponseWriter, *httpapi.Problem) error
	source      netip.Addr
	// start is when the request's header was there.
	start time.Time
	// span is nil while the request has none, and traceID is the trace to which it
	// belongs, in hexadecimal, empty for none.
	span    trace.Span
	traceID string

	// caller is set once it is known, and admitted says whether it was let in. Where it
	// was not, the path is that of another user, or of none.
	caller   authn.Principal
	admitted bool
	// administrator is the caller of a route for administrators.
	administrator authn.Administrator
	// account has the quota that the request is counted against.
	account limits.Account
	// body was read, or could not be, when bodyRead is set.
	body     []byte
	bodyRead bool
	// batch is what body holds, once it was asked for.
	batch  jsonrpc.Batch
	parsed bool
	// taken is what has to be given back at the end.
	taken taken

	// crowded is whether the source had too many requests of callers who are not known when
	// the request began.
	crowded bool

	// audit makes the audit entries, from when there may be some.
	audit callaudit.Request

	held     time.Duration
	attempts int
	secret   string
	code     string
	err      error
}

// params are the parts of a path by name: those of the router.
type params interface{ Param(name string) string }

// taken is what a request holds until it ends.
type taken struct {
	// body is the memory of a body, and stranger the place of a request whose caller is not
	// known; both are nil for none.
	body, stranger *limits.Reservation

	slot      quota.Limit
	uncounted bool
}

// context returns the context of the request.
func (r *request) context() context.Context { return r.http.Context() }

// principal returns the caller that was let in.
func (r *request) principal() authn.Principal {
	if !r.admitted {
		panic("ingress: a step before authenticate asks for the principal")
	}
	return r.caller
}

// requests returns the JSON-RPC requests in the body that readBody read. The body
// is parsed once.
func (r *request) requests() []jsonrpc.Request {
	if !r.parsed {
		r.batch, r.parsed = jsonrpc.Parse(r.body), true
	}
	return r.batch.Requests
}

// pathUser returns the user of the path, empty for none.
func (r *request) pathUser() v1alpha1.UserID { return v1alpha1.UserID(r.params.Param("userId")) }

// isRPC reports whether the errors of the request are JSON-RPC errors.
func (r *request) isRPC() bool { return r.http.Method == http.MethodPost && r.route == routeMCP }

// fail notes how the request ended. The cause is kept only where it is ours
// to look into: what a caller did wrong is said by the code.
func (r *request) fail(p *httpapi.Problem, err error) {
	r.code = p.Code
	if p.Status >= http.StatusInternalServerError {
		r.err = err
	}
}

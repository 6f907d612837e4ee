// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// route is one method of a resource, and the callers that may use it.
type route struct {
	// name is the route label of metrics and logs.
	name   string
	method string
	// byCertificate means that the caller is the ingress, identified by the
	// certificate of its connection. Otherwise the token identifies the caller,
	// which must be one of callers.
	byCertificate bool
	callers       []kind
	// ending admits a pod that is being deleted: while it ends its work it may
	// have to store data that no other process has.
	ending bool
	// mediaType is the required type of the body; empty accepts any.
	mediaType string
	// maxBody is the size in bytes of the largest body.
	maxBody int64
	// answer serves the request of a permitted caller.
	answer func(context.Context, *call) (answer, error)
}

// call is a request, and what the endpoint learns about it on the way.
type call struct {
	request *http.Request
	route   route
	body    []byte
	// caller is empty until the caller is identified.
	caller kind
	// bridge is the caller, or, when the ingress calls, the owner of the
	// secrets. secret is the name of the secret that the call is about.
	bridge secretstore.Bridge
	secret string
	// object is the HostedBridge of a bridge that calls.
	object *effective.Bridge
}

type answer struct {
	status    int
	mediaType string
	etag      string
	body      []byte
}

// endpoint serves a resource: the part that all resources share. Without routes
// it answers that the resource does not exist.
type endpoint struct {
	routes []route
	server *Server
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	e.server.metrics.inFlight.Inc()
	defer e.server.metrics.inFlight.Dec()
	c := call{request: r, route: route{name: routeOther}}
	a, err := e.handle(r.Context(), w, &c)
	if r.Context().Err() != nil && err != nil {
		err = fmt.Errorf("%w: %w", errCanceledRequest, err)
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	reason := ""
	if err != nil {
		p := publicProblem(err)
		a.status, reason = p.Status, p.Code
		writeProblem(w, p)
	} else {
		a.write(w)
	}
	elapsed := time.Since(began)
	e.server.metrics.observe(c.route.name, a.status, reason, elapsed)
	e.log(r.Context(), &c, a.status, err, elapsed)
}

// handle checks, in this order: the method, the form of the request, the
// caller's identity, and the caller's rights.
func (e *endpoint) handle(ctx context.Context, w http.ResponseWriter, c *call) (answer, error) {
	if err := e.choose(w, c); err != nil {
		return answer{}, err
	}
	token, err := e.credential(c)
	if err != nil {
		return answer{}, err
	}
	if c.body, err = readBody(w, c); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	// This comes after the body, so that a slow sender does not hold a turn.
	release, err := e.server.turns.take(ctx, address(c.request.RemoteAddr))
	if err != nil {
		return answer{}, errBusy
	}
	defer release()
	if !c.route.byCertificate {
		if err := e.identify(ctx, c, token); err != nil {
			return answer{}, err
		}
	}
	return c.route.answer(ctx, c)
}

// choose finds the route of the request's method.
func (e *endpoint) choose(w http.ResponseWriter, c *call) error {
	if len(e.routes) == 0 {
		return errNotFound
	}
	var methods []string
	for _, r := range e.routes {
		if c.request.Method == r.method {
			c.route = r
			return nil
		}
		methods = append(methods, r.method)
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	return errMethod
}

// credential returns the token, if the route identifies its callers by token,
// and checks the certificate otherwise.
func (e *endpoint) credential(c *call) (token string, err error) {
	if !c.route.byCertificate {
		return bearer(c.request)
	}
	state := c.request.TLS
	if state == nil || len(state.PeerCertificates) == 0 {
		return "", errCertificateMissing
	}
	if err := e.server.ingress(*state); err != nil {
		return "", fmt.Errorf("%w: %w", errCaller, err)
	}
	c.caller = kindIngress
	return "", nil
}

// identify finds the caller that presents the token, and checks its rights.
func (e *endpoint) identify(ctx context.Context, c *call, token string) error {
	identify := e.server.callers.identify
	if c.route.ending {
		identify = e.server.callers.identifyEnding
	}
	caller, err := identify(ctx, token)
	c.caller, c.bridge, c.object = caller.kind, caller.bridge, caller.object
	if err != nil {
		return fmt.Errorf("identify caller: %w", err)
	}
	if !slices.Contains(c.route.callers, caller.kind) {
		return fmt.Errorf("%w: %s", errCaller, caller.kind)
	}
	return nil
}

// bearer returns the token of the request.
func bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", errTokenMissing
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " \t") {
		return "", errTokenMissing
	}
	return token, nil
}

func readBody(w http.ResponseWriter, c *call) ([]byte, error) {
	if want := c.route.mediaType; want != "" {
		if got, _, err := mime.ParseMediaType(c.request.Header.Get("Content-Type")); err != nil || got != want {
			return nil, errMediaType.Saying("Send Content-Type: " + want + ".")
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, c.request.Body, c.route.maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, errBodyTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBodyUnreadable, err)
	}
	return body, nil
}

func (a answer) write(w http.ResponseWriter) {
	if a.mediaType != "" {
		w.Header().Set("Content-Type", a.mediaType)
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	if a.etag != "" {
		w.Header().Set("ETag", a.etag)
	}
	w.WriteHeader(a.status)
	// A client that closed the connection does not read the answer either.
	_, _ = w.Write(a.body)
	clear(a.body) // It may hold secrets.
}

// log writes the one line that each request leaves: the caller and the result,
// and nothing that the caller sent.
func (e *endpoint) log(ctx context.Context, c *call, status int, err error, elapsed time.Duration) {
	attrs := append([]slog.Attr{
		slog.String("route", c.route.name), slog.Int("status", status),
		slog.String("duration", elapsed.String()),
	}, c.attrs()...)
	level := slog.LevelInfo
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	if status >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	e.server.log.LogAttrs(ctx, level, "request", attrs...)
}

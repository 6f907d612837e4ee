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
)

// route is one resource: who may do what to it.
type route struct {
	// name is the route label of metrics and logs.
	name   string
	method string
	// callers are the kinds of caller that may.
	callers []kind
	// mediaType is what the body must be, anything when empty.
	mediaType string
	// maxBody is the size in bytes of the largest body.
	maxBody int64
	// answer does it, for a caller who may. Without it nothing is there.
	answer func(context.Context, call) (answer, error)
}

// call is a request whose caller is known.
type call struct {
	request *http.Request
	caller  identity
	body    []byte
}

type answer struct {
	status    int
	mediaType string
	body      []byte
}

// endpoint serves a route: what all of them have in common.
type endpoint struct {
	route
	server *Server
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	e.server.metrics.inFlight.Inc()
	defer e.server.metrics.inFlight.Dec()
	c := call{request: r}
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
		a.status, reason = p.status, p.code
		writeProblem(w, p)
	} else {
		a.write(w)
	}
	elapsed := time.Since(began)
	e.server.metrics.observe(e.name, a.status, reason, elapsed)
	e.log(r.Context(), &c, a.status, err, elapsed)
}

// handle checks, in this order: the method, the form of the request, who calls,
// and whether they may.
func (e *endpoint) handle(ctx context.Context, w http.ResponseWriter, c *call) (answer, error) {
	if e.answer == nil {
		return answer{}, errNotFound
	}
	if c.request.Method != e.method {
		w.Header().Set("Allow", e.method)
		return answer{}, errMethod
	}
	token, err := bearer(c.request)
	if err != nil {
		return answer{}, err
	}
	if c.body, err = e.readBody(w, c.request); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	// After the body, so that nobody holds a turn by sending slowly.
	select {
	case e.server.turns <- struct{}{}:
		defer func() { <-e.server.turns }()
	case <-ctx.Done():
		return answer{}, errBusy
	}
	if c.caller, err = e.server.callers.identify(ctx, token); err != nil {
		return answer{}, fmt.Errorf("identify caller: %w", err)
	}
	if !slices.Contains(e.callers, c.caller.kind) {
		return answer{}, fmt.Errorf("%w: %s", errCaller, c.caller.kind)
	}
	return e.answer(ctx, *c)
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

func (e *endpoint) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if e.mediaType != "" {
		if got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || got != e.mediaType {
			return nil, errMediaType
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, e.maxBody))
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
	w.WriteHeader(a.status)
	// Whoever hung up does not read the answer either.
	_, _ = w.Write(a.body)
	clear(a.body) // It may hold secrets.
}

// log writes the one line that each request leaves: who and what became of it,
// nothing that they sent.
func (e *endpoint) log(ctx context.Context, c *call, status int, err error, elapsed time.Duration) {
	attrs := []slog.Attr{
		slog.String("route", e.name), slog.Int("status", status),
		slog.String("duration", elapsed.String()),
	}
	if c.caller.kind != "" {
		attrs = append(attrs, slog.String("caller", string(c.caller.kind)))
	}
	if b := c.caller.bridge; b.uid != "" {
		attrs = append(attrs, slog.String("namespace", b.namespace), slog.String("hostedBridge", b.name), slog.String("uid", string(b.uid)))
	}
	level := slog.LevelInfo
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	if status >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	e.server.log.LogAttrs(ctx, level, "request", attrs...)
}

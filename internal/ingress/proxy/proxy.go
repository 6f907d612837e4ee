// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/activator"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
	"github.com/hostedbridge/hostedbridge/internal/ingress/inflight"
	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/ingress/keptanswers"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// acknowledgeTimeout is how long a bridge may take to read that entries are
// written. It answers at once.
const acknowledgeTimeout = 5 * time.Second

// Bridges is the connection to bridges, which bridgeclient.Client implements.
type Bridges interface {
	// Address is where a bridge's pod listens.
	Address(b route.Backend) string
	// Send sends a request to a bridge. It fails with a NotSentError only where
	// nothing of the request has left.
	Send(ctx context.Context, to route.Backend, r h1.Request) (*http.Response, error)
}

// Activity is told how bridges are used, for their status.
type Activity interface {
	Called(b route.Backend, at time.Time)
	// Began and Ended enclose a call. Between them its bridge is in use at each
	// moment.
	Began(b route.Backend, at time.Time)
	Ended(b route.Backend, at time.Time)
}

// Options are what a Proxy needs. None may be nil but Kept.
type Options struct {
	Bridges   Bridges
	Activity  Activity
	Activator *activator.Activator
	Tracker   *inflight.Tracker
	// Bridge returns the bridge of a principal as it is now.
	Bridge func(p authn.Principal) (route.Backend, error)
	// Wait is how long a request waits for a bridge that starts.
	Wait time.Duration
	// MaxDormant bounds the streams that are kept open while their bridge sleeps,
	// and MaxDormantPerUser those of one user. MaxDormant is 2048 when zero.
	MaxDormantPerUser, MaxDormant int
	Metrics                       prometheus.Registerer
	// Kept has what bridges answered last. It may be nil.
	Kept *keptanswers.Keeper
}

// Proxy sends requests to bridges.
type Proxy struct {
	Options

	dormant *limits.Slots
	metrics *metrics
}

// New returns a proxy, or an error where its metrics are registered already.
func New(o Options) (*Proxy, error) {
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return &Proxy{Options: o, dormant: limits.NewSlots(o.MaxDormantPerUser, cmp.Or(o.MaxDormant, maxDormant)), metrics: m}, nil
}

// Request is one request for a bridge, with where its answer goes.
type Request struct {
	bridgeclient.Request

	Call      *inflight.Call
	Audit     *callaudit.Request
	Writer    http.ResponseWriter
	Principal authn.Principal
	Body      []byte
	// Messages are the JSON-RPC requests in the body.
	Messages []jsonrpc.Request
	// SSE says that the transport is that of 2024-11-05.
	SSE bool

	// Attempts counts what was sent, and Held is how long it waited for a pod. Both
	// are set while the request is served.
	Attempts int
	Held     time.Duration

	backend route.Backend
	// question is what the request asks whose answer may be kept, nil for all others.
	question *keptanswers.Question
	// deadline ends the waiting for a pod, not the answer.
	deadline time.Time
}

// Forward sends x to its principal's bridge, and the answer to its Writer.
func (p *Proxy) Forward(ctx context.Context, x *Request) error {
	if err := bridgeclient.CheckHeader(x.Header); err != nil {
		return err
	}
	if x.isMessage() {
		x.Post = audit.PostHold
	}
	listens := x.listensOnly()
	if !x.staysDormant(listens) {
		return p.exchange(ctx, x, listens, false)
	}
	x.Call.Listening.Store(true)
	for began := false; ; {
		x.Call.Dormant.Store(true)
		var err error
		if began, err = p.awaitUse(ctx, x, began); err == nil {
			err = p.exchange(ctx, x, listens, began)
		}
		if !errors.Is(err, problems.Suspended) { // It was while the bridge was looked for.
			return unlessBegan(began, err)
		}
	}
}

// exchange brings x to its bridge and the answer back, whose header the client
// has already where it began.
func (p *Proxy) exchange(ctx context.Context, x *Request, listens, began bool) error {
	x.deadline = time.Now().Add(p.Wait)
	p.readQuestion(x, listens)
	if res := p.keptAnswer(ctx, x); res != nil {
		defer func() { _ = res.Body.Close() }()
		return pass(x, res)
	}
	if err := p.findPod(ctx, x); err != nil {
		return err
	}
	backend := x.backend
	p.beginUse(&backend, listens)
	defer p.endUse(&backend, listens)
	res, err := p.ask(ctx, x)
	if err != nil {
		return err
	}
	x.Audit.Hold(res, x.isMessage())
	defer func() { _ = res.Body.Close() }()
	if listens {
		x.Call.Dormant.Store(false)
		res.Body = &listenedBody{ReadCloser: res.Body, used: func(at time.Time) { p.Activity.Called(backend, at) }}
	}
	if began {
		inflight.Resume(flushing(x.Writer), res)
		return nil
	}
	if err := pass(x, res); err != nil {
		return err
	}
	if x.Audit.AnsweredLater() {
		p.acknowledge(ctx, x)
	}
	return nil
}

// pass passes an answer on that has not begun.
func pass(x *Request, res *http.Response) error {
	bridgeclient.KeepAnswerHeader(res.Header)
	return inflight.Copy(flushing(x.Writer), res)
}

// beginUse notes that x uses its bridge, until endUse. A stream that only listens
// is use when it begins.
func (p *Proxy) beginUse(b *route.Backend, listens bool) {
	if listens {
		p.Activity.Called(*b, time.Now())
		return
	}
	p.Activity.Began(*b, time.Now())
}

// endUse is after beginUse, when the answer has ended.
func (p *Proxy) endUse(b *route.Backend, listens bool) {
	if !listens {
		p.Activity.Ended(*b, time.Now())
	}
}

// acknowledge tells the bridge that the entries of the calls in x are written. The
// bridge holds their answers until then. If this does not arrive, the bridge
// reports the calls on the stream of their answers.
func (p *Proxy) acknowledge(ctx context.Context, x *Request) {
	ctx, cancel := context.WithTimeout(ctx, acknowledgeTimeout)
	defer cancel()
	x.Post = audit.PostDone
	res, err := p.Bridges.Send(ctx, x.backend, h1.Request{Head: &x.Request, Length: true})
	if err != nil {
		return
	}
	_, _ = res.Body.Read(make([]byte, 1)) // Read to its end it leaves the connection.
	_ = res.Body.Close()
}

// isMessage reports whether x is a message of HTTP+SSE, whose calls are answered
// on another stream.
func (x *Request) isMessage() bool { return x.SSE && x.Method == http.MethodPost }

// flushing returns w as what an answer is copied to.
func flushing(w http.ResponseWriter) inflight.ResponseWriter {
	return w.(inflight.ResponseWriter) // The router's writers all are.
}

// unlessBegan returns err for an answer that has not begun. One that has can
// only end: a stream that was kept open, whose client opens it again.
func unlessBegan(began bool, err error) error {
	if began {
		return nil
	}
	return err
}

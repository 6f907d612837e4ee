// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// ErrTimeout says that a call took longer than the configured time.
var ErrTimeout = errors.New("the server did not answer in the time that is configured for it")

// Delivery is whether a request reached its server.
type Delivery int

const (
	// Undecided means that the call ended before that was known.
	Undecided Delivery = iota
	// Reached means that the server took the request.
	Reached
	// Missed means that the request did not reach the server.
	Missed
)

// DeliveryOf derives from the error of a request whether it reached its server. It looks at the
// types of errors, not at their texts: a server can send any text.
func DeliveryOf(ctx context.Context, err error) Delivery {
	var unavailable *Unavailable
	switch {
	case err == nil, IsAnswer(err):
		return Reached
	case errors.Is(err, ErrTimeout):
		return Missed
	case ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, ErrStale):
		return Undecided
	case LoginRequired(err) != nil:
		return Undecided
	case errors.As(err, &unavailable):
		if unavailable.Reason != "" {
			return Undecided // The user can fix the cause, so it says nothing about the network.
		}
		return Missed
	case ConnectionLost(err), unreached(err), transportRefused(err), networkFailed(err):
		return Missed
	}
	return Undecided
}

// IsAnswer reports whether err is a server's answer.
func IsAnswer(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && rpc.Code != 0
}

// transportRefused reports whether the server answered with a status of a server that cannot answer now:
// 429, or 500 to 504.
func transportRefused(err error) bool {
	_, ok := errors.AsType[*Refused](err)
	return ok
}

// networkFailed reports whether the network failed.
func networkFailed(err error) bool {
	var network net.Error
	var target *url.Error
	return errors.As(err, &network) || errors.As(err, &target) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// CircuitOpen says that the breaker of a server is open.
type CircuitOpen struct {
	Unavailable
	Until time.Time
}

// Seconds returns how long the breaker stays open at the time now, rounded up.
func (e *CircuitOpen) Seconds(now time.Time) int {
	return max(1, int(math.Ceil(e.Until.Sub(now).Seconds())))
}

// Starting says that the first attempt to connect to a server has not ended yet.
type Starting struct {
	Server string
	// Reason says why the server's program is not there yet. It is empty for one that starts.
	Reason string
	// For is how long the server has been starting.
	For time.Duration
}

// startingRetry is when a client should try again that called a server that starts.
const startingRetry = 5 * time.Second

// Error implements error.
func (e *Starting) Error() string {
	state := "starting"
	if e.Reason != "" {
		state = "not ready: " + e.Reason
	}
	return fmt.Sprintf("server %q is %s, %d s so far: try again in %d s", e.Server, state,
		max(0, int(e.For/time.Second)), int(startingRetry/time.Second))
}

// rpc returns e as the client gets it.
func (e *Starting) rpc() error {
	return NewUpstream(e.Error(), map[string]any{
		"code": "upstream_unavailable", "server": e.Server, "retryAfterSeconds": int(startingRetry / time.Second),
	})
}

// NewUpstream is the answer to a call that the server did not answer.
func NewUpstream(message string, data map[string]any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message, Data: jsondoc.EncodeExact(data)}
}

// The code and the text of a message for which the bridge has no memory.
const (
	BusyCode = "bridge_busy"
	BusyText = "the bridge has no memory left for a message of this size: other large messages take it; try again"
)

// TooMuch says that a server sent more about itself than the bridge accepts. It is out of service
// until it sends less.
type TooMuch struct{ Text string }

// Error implements error.
func (e *TooMuch) Error() string { return e.Text }

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// dialTimeout is for a TCP connection within a cluster, where a round trip
	// takes milliseconds: time for one lost SYN, which is sent again after 1 s.
	dialTimeout = 2 * time.Second
	// handshakeTimeout leaves a pod that is short of CPU time to sign.
	handshakeTimeout = 5 * time.Second
)

// NotSentError is an attempt that failed before a byte of the request left, so
// that the request may be sent again.
type NotSentError struct {
	Reason string
	err    error
}

// Error implements error.
func (u *NotSentError) Error() string { return u.Reason + ": " + u.err.Error() }

// Unwrap returns the cause.
func (u *NotSentError) Unwrap() error { return u.err }

// The reasons; metrics carry them.
const (
	ReasonDial      = "dial"
	ReasonHandshake = "handshake"
	ReasonSend      = "send"
)

// dialer connects to bridges.
type dialer struct {
	credentials Credentials
	port        string
	connect     Dial
}

// Dial connects to an address, as net.Dialer's DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// dialTCP is the Dial to pods in the cluster.
func dialTCP(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{
		Timeout: dialTimeout,
		// A node that died is noticed after 10 + 3 x 5 s on connections
		// that wait for an answer.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	return d.DialContext(ctx, network, address)
}

// address is where b's pod listens.
func (d *dialer) address(b route.Backend) string {
	return net.JoinHostPort(b.PodIP, d.port)
}

// dial connects to b's pod and returns the connection only if the peer has
// proved by its certificate to be that bridge.
func (d *dialer) dial(ctx context.Context, b route.Backend) (net.Conn, *h1.Records, error) {
	raw, err := d.connect(ctx, "tcp", d.address(b))
	if err != nil {
		return nil, nil, &NotSentError{ReasonDial, err}
	}
	records := h1.NewRecords(raw)
	conn, err := d.handshake(ctx, records, pki.BridgeURI(string(b.BridgeUID)))
	if err != nil {
		return nil, nil, errors.Join(&NotSentError{ReasonHandshake, err}, raw.Close())
	}
	return conn, records, nil
}

func (d *dialer) handshake(ctx context.Context, raw net.Conn, bridge *url.URL) (net.Conn, error) {
	config := d.credentials.ClientTLS(bridge)
	if config == nil {
		return nil, errors.New("no client certificate yet")
	}
	config = config.Clone()
	// One stream per connection: an answer cannot reach another request by a
	// mistake about stream ids.
	config.NextProtos = []string{"http/1.1"}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("prove %s: %w", bridge, err)
	}
	return conn, nil
}

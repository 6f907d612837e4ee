// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// MaxReport is many times the report of a bridge with 64 servers.
	MaxReport = 256 << 10
	// maxReadiness is many times what a bridge says to whether it is ready.
	maxReadiness = 4 << 10
)

// Credentials proves who we are to a bridge, and has the bridge prove itself.
type Credentials interface {
	// ClientTLS returns a configuration that accepts only the server with
	// this URI in its certificate, or nil before the first certificate.
	ClientTLS(server *url.URL) *tls.Config
}

// Client is the way to every bridge: one pool of connections, each of which
// belongs to the one bridge that has proved itself on it.
type Client struct{ pool *pool }

// New returns the way to bridges that listen on port. There is no
// timeout for the header of an answer: a tool call may take as long as its
// client waits, and the client's leaving cancels it.
func New(credentials Credentials, port int) *Client { return NewOver(dialTCP, credentials, port) }

// NewOver is New with connections of another kind.
func NewOver(dial Dial, credentials Credentials, port int) *Client {
	return &Client{pool: newPool(&dialer{credentials: credentials, port: strconv.Itoa(port), connect: dial})}
}

// Address is where a bridge's pod listens.
func (c *Client) Address(b route.Backend) string { return c.pool.address(b) }

// Send carries a request to a bridge. It fails with a NotSentError if nothing of it
// has left.
func (c *Client) Send(ctx context.Context, to route.Backend, r h1.Request) (*http.Response, error) {
	return c.pool.send(ctx, to, r)
}

// CloseIdle ends the connections that no request uses.
func (c *Client) CloseIdle() { c.pool.closeIdle() }

// Close ends the idle connections, after the last request.
func (c *Client) Close() { c.pool.close() }

// Health asks a bridge for its health report.
func (c *Client) Health(ctx context.Context, to route.Backend) (health.Report, error) {
	body, err := c.read(ctx, to, "/health")
	if err != nil {
		return health.Report{}, fmt.Errorf("ask for health: %w", err)
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, MaxReport+1))
	switch {
	case err != nil:
		return health.Report{}, fmt.Errorf("ask for health: read the answer: %w", err)
	case len(text) > MaxReport:
		return health.Report{}, fmt.Errorf("ask for health: the answer has more than %d bytes", MaxReport)
	}
	report, err := health.Read(text)
	if err != nil {
		return health.Report{}, fmt.Errorf("read health: %w", err)
	}
	return report, nil
}

// Tools asks a bridge for a page of its tools.
func (c *Client) Tools(ctx context.Context, to route.Backend, p health.ToolPage) (health.ToolList, error) {
	body, err := c.read(ctx, to, "/tools")
	if err != nil {
		return health.ToolList{}, fmt.Errorf("ask for tools: %w", err)
	}
	defer body.Close()
	return health.ReadTools(body, p)
}

// read returns the body of the answer to a GET, which the caller closes.
func (c *Client) read(ctx context.Context, to route.Backend, path string) (io.ReadCloser, error) {
	res, err := c.ask(ctx, to, http.MethodGet, path)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, fmt.Errorf("status %d", res.StatusCode)
	}
	return res.Body, nil
}

// Ready asks a bridge whether it is ready, and returns nil if it is. The kubelet
// gets the same answer.
func (c *Client) Ready(ctx context.Context, to route.Backend) error {
	res, err := c.ask(ctx, to, http.MethodGet, "/readyz")
	if err != nil {
		return fmt.Errorf("ask whether it is ready: %w", err)
	}
	defer res.Body.Close()
	// Read to its end, so that the connection serves the next request.
	if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, maxReadiness)); err != nil {
		return fmt.Errorf("ask whether it is ready: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("ask whether it is ready: status %d", res.StatusCode)
	}
	return nil
}

// RefreshSecrets tells a bridge that its secrets are others now. It asks the
// keybroker for them by itself, later than it answers.
func (c *Client) RefreshSecrets(ctx context.Context, to route.Backend) error {
	res, err := c.ask(ctx, to, http.MethodPost, "/secrets/refresh")
	if err != nil {
		return fmt.Errorf("tell of secrets: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		return fmt.Errorf("tell of secrets: status %d", res.StatusCode)
	}
	return nil
}

// ask sends a bridge a request of our own.
func (c *Client) ask(ctx context.Context, to route.Backend, method, path string) (*http.Response, error) {
	question := &Request{Method: method, Path: path, Host: c.pool.address(to)}
	return c.pool.send(ctx, to, h1.Request{Head: question, Length: method == http.MethodPost})
}

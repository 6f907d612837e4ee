// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkClient is the MCP Go SDK's client on a tenant's URL.
type sdkClient struct {
	tenant  tenant
	version string
	http    *http.Client
	refused *refusals
}

func newSDKClient(n tenant, version string) *sdkClient {
	c := newHTTPClient(true)
	refused := &refusals{}
	c.Transport = bearer{key: n.key.secret, refused: refused, next: c.Transport}
	return &sdkClient{tenant: n, version: version, http: c, refused: refused}
}

func (c *sdkClient) connect(ctx context.Context) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: c.tenant.url(), HTTPClient: c.http}
	return client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: c.version})
}

// bearer adds the key and notes the answers that say no: the SDK tries some of
// those again by itself, and a caller would not see them.
type bearer struct {
	key     string
	refused *refusals
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	res, err := b.next.RoundTrip(r)
	if err == nil && res.StatusCode >= http.StatusBadRequest {
		b.refused.add(fmt.Sprintf("%s %s: status %d", r.Method, r.URL.Path, res.StatusCode))
	}
	return res, err
}

// refusals is a list that several goroutines add to.
type refusals struct {
	mu   sync.Mutex
	list []string
}

func (r *refusals) add(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, s)
}

// take returns the list and empties it.
func (r *refusals) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// isToolText returns nil where the result is the tool's.
func isToolText(result *mcp.CallToolResult) error {
	if len(result.Content) == 1 {
		if text, ok := result.Content[0].(*mcp.TextContent); ok && text.Text == toolText {
			return nil
		}
	}
	return fmt.Errorf("not the tool's text: %d contents, isError %t", len(result.Content), result.IsError)
}

// rejectedCode is the code of the SDK's own error for a message that its
// transport could not deliver.
const rejectedCode = -32005

// answered reports whether the error is an answer of the other side, rather
// than the lack of one.
func answered(err error) bool {
	said, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && said.Code != rejectedCode
}

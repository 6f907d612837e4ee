// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// ConnKind describes a connection whose requests are not separate HTTP requests.
type ConnKind struct {
	// Counts says that each request on the connection must be counted. posted says that the
	// requests also come in POSTs, which are counted separately.
	Counts, posted bool
	// LegacyOnly says that the modern protocol does not support this transport.
	LegacyOnly bool
	// hops are the bridges that the client's connection has passed.
	hops string
}

// kindKey is the context key of a connection's kind.
type kindKey struct{}

// KindOf returns the kind of the request's connection. It is zero for HTTP.
func KindOf(ctx context.Context) ConnKind {
	c, _ := ctx.Value(kindKey{}).(ConnKind)
	return c
}

// Count counts a request that a client waits for, until the returned function is called. It
// returns an error if there are too many.
func (c ConnKind) Count(all *Calls, method string) (end func(), err error) {
	switch {
	case methods.Of(method).Notification || methods.Of(method).Stream:
	case c.posted:
		if end, ok := all.AddPosted(); ok {
			return end, nil
		}
		return nil, errTooManyCalls
	case c.Counts:
		return all.add(), nil
	}
	return func() {}, nil
}

// UnsupportedVersion refuses a modern request on a legacy transport.
func UnsupportedVersion(meta map[string]any) error {
	supported := []string{}
	for _, version := range mcp.SupportedProtocolVersions() {
		if version < message.FirstModernVersion {
			supported = append(supported, version)
		}
	}
	requested, _ := meta[message.MetaProtocolVersion].(string)
	data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: supported, Requested: requested})
	if err != nil {
		panic(err) // strings always encode
	}
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "the protocol version is not supported by this transport", Data: data}
}

// hopsFrom returns the hops of the client's connection, for transports whose requests have no
// headers.
func hopsFrom(ctx context.Context) string { return KindOf(ctx).hops }

// HopsOf returns the bridges that a request has passed, in the form of the header.
func HopsOf(ctx context.Context, header http.Header, meta map[string]any) string {
	if hops := strings.Join(header.Values(message.HeaderHops), ","); hops != "" {
		return strings.ReplaceAll(hops, " ", "")
	}
	if hops, ok := meta[message.MetaHops].(string); ok && hops != "" {
		return hops
	}
	return hopsFrom(ctx)
}

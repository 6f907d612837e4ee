// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// carrier is what is special about a connection whose requests are no HTTP
// requests of their own.
type carrier struct {
	// counts says that the requests on it must be counted one by one, and posted
	// that they come in POSTs, which are counted besides.
	counts, posted bool
	// legacyOnly says that it is of a transport that the modern protocol has not.
	legacyOnly bool
	// hops are the bridges that the client's connection has passed.
	hops string
	// late takes the calls for which the answer to their request has no room;
	// nil where nobody asks for them.
	late *recorder
}

// carrierKey is the context key of a connection's carrier.
type carrierKey struct{}

// carrierOf returns the carrier of a request, with nothing special for HTTP.
func carrierOf(ctx context.Context) carrier {
	c, _ := ctx.Value(carrierKey{}).(carrier)
	return c
}

// count counts a request for which a client waits until the returned function is
// called. It refuses one that is too many.
func (c carrier) count(b *Bridge, method string) (end func(), err error) {
	switch {
	case !isCall(method) || method == methodListen:
	case c.posted:
		if end, ok := b.calls.addPosted(); ok {
			return end, nil
		}
		return nil, errTooManyCalls
	case c.counts:
		return b.calls.add(), nil
	}
	return func() {}, nil
}

// unsupportedVersion refuses a modern request on a legacy transport.
func unsupportedVersion(meta map[string]any) error {
	supported := []string{}
	for _, version := range mcp.SupportedProtocolVersions() {
		if version < firstModernVersion {
			supported = append(supported, version)
		}
	}
	requested, _ := meta[metaProtocolVersion].(string)
	data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: supported, Requested: requested})
	if err != nil {
		panic(err) // strings always encode
	}
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "the protocol version is not supported by this transport", Data: data}
}

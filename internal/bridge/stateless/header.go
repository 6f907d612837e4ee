// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stateless

import (
	"encoding/json/v2"
	"fmt"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	sent "github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// FirstVersion is the first version of the protocol in which requests stand alone. Versions are
// dates, so they compare as strings.
const FirstVersion = "2026-07-28"

const headerVersion = "Mcp-Protocol-Version"

// checkVersion compares the version in the header with the version in the request.
func checkVersion(header, said string) error {
	switch {
	case header == "" && said != "":
		return mismatch("%s header is required for requests carrying %q", headerVersion, mcp.MetaKeyProtocolVersion)
	case header < FirstVersion && said == "":
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the request names no protocol version from " + FirstVersion + " on"}
	case said == "":
		return invalidParams("missing or invalid _meta field %q", mcp.MetaKeyProtocolVersion)
	case header != said:
		return mismatch("%s header %q does not match request %s %q", headerVersion, header, mcp.MetaKeyProtocolVersion, said)
	}
	return nil
}

// checkSupported refuses unknown versions.
func checkSupported(version string) error {
	supported := mcp.SupportedProtocolVersions()
	if slices.Contains(supported, version) {
		return nil
	}
	data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: supported, Requested: version})
	if err != nil {
		panic(err) // texts always encode
	}
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version", Data: data}
}

// checkHeaders compares the headers that repeat parts of a request with the request. params are
// its parameters, nil if they are missing or invalid.
func (h *Handler) checkHeaders(header http.Header, method string, params mcp.Params) error {
	switch said := header.Get(sent.HeaderMethod); {
	case said == "":
		return mismatch("missing required %s header", sent.HeaderMethod)
	case said != method:
		return mismatch("header mismatch: %s header value '%s' does not match body value '%s'", sent.HeaderMethod, said, method)
	}
	if !methods.Of(method).Named() {
		return nil
	}
	said := header.Get(sent.HeaderName)
	if said == "" {
		return mismatch("missing required %s header for method %q", sent.HeaderName, method)
	}
	_, name := sent.NameIn(method, params)
	switch {
	case name == nil:
		return mismatch("failed to extract name from parameters for method %q", method)
	case said != *name:
		return mismatch("header mismatch: %s header value '%s' does not match body value '%s'", sent.HeaderName, said, *name)
	}
	if p, ok := params.(*mcp.CallToolParamsRaw); ok {
		if err := h.CheckArguments(*name, p.Arguments, header); err != nil {
			return mismatch("header mismatch: %s", err)
		}
	}
	return nil
}

func mismatch(format string, args ...any) error {
	return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: fmt.Sprintf(format, args...)}
}

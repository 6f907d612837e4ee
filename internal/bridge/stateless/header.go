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
)

// FirstVersion is the first version of the protocol in which requests stand alone. Versions are
// dates, so they compare as strings.
const FirstVersion = "2026-07-28"

const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

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
	switch said := header.Get(headerMethod); {
	case said == "":
		return mismatch("missing required %s header", headerMethod)
	case said != method:
		return mismatch("header mismatch: %s header value '%s' does not match body value '%s'", headerMethod, said, method)
	}
	if method != methodCallTool && method != methodGetPrompt && method != methodReadResource {
		return nil
	}
	said := header.Get(headerName)
	if said == "" {
		return mismatch("missing required %s header for method %q", headerName, method)
	}
	name, ok := nameOf(params)
	switch {
	case !ok:
		return mismatch("failed to extract name from parameters for method %q", method)
	case said != name:
		return mismatch("header mismatch: %s header value '%s' does not match body value '%s'", headerName, said, name)
	}
	if p, ok := params.(*mcp.CallToolParamsRaw); ok {
		if err := h.CheckArguments(name, p.Arguments, header); err != nil {
			return mismatch("header mismatch: %s", err)
		}
	}
	return nil
}

// nameOf returns the name or URI in a request, and false if it has none.
func nameOf(params mcp.Params) (string, bool) {
	switch p := params.(type) {
	case *mcp.CallToolParamsRaw:
		return p.Name, true
	case *mcp.GetPromptParams:
		return p.Name, true
	case *mcp.ReadResourceParams:
		return p.URI, true
	}
	return "", false
}

func mismatch(format string, args ...any) error {
	return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: fmt.Sprintf(format, args...)}
}

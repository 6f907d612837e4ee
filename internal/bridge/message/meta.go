// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The keys of _meta in which a modern request describes itself.
const (
	MetaProtocolVersion = mcp.MetaKeyProtocolVersion
	MetaClientInfo      = mcp.MetaKeyClientInfo
	MetaClientCaps      = mcp.MetaKeyClientCapabilities
	MetaLogLevel        = mcp.MetaKeyLogLevel
	MetaServerInfo      = mcp.MetaKeyServerInfo
	MetaSubscriptionID  = mcp.MetaKeySubscriptionID
	MetaProgressToken   = "progressToken"
)

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/version"
)

// Implementation is the bridge's name in messages of its own.
var Implementation = &mcp.Implementation{Name: "hosted-bridge", Version: version.String()}

// NewestLegacyVersion is the version for a client that initializes a session with a version
// without sessions.
const NewestLegacyVersion = "2025-11-25"

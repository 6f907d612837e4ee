// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command caddy is Caddy as it is released, for the benchmark of the ingress.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	// The modules that a reverse proxy is configured with.
	_ "github.com/caddyserver/caddy/v2/modules/standard"
)

func main() { caddycmd.Main() }

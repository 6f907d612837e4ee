// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs has the pages of the documentation that programs quote.
package docs

import _ "embed" // Pages are files.

// Troubleshooting says for each reason of a condition what it means and what to do.
//
//go:embed troubleshooting.md
var Troubleshooting string

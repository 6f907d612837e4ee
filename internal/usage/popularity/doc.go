// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package popularity tells the catalog now and then how popular its recipes are.
//
// The package is a shell: package usage says what popularity is.
package popularity

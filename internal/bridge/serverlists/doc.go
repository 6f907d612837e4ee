// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serverlists joins the lists of all servers and assigns each tool and prompt its name for
// clients.
package serverlists

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tokens verifies ServiceAccount tokens by the API server's public keys,
// for installations that may not ask for a TokenReview: that is granted for a
// whole cluster alone. It says of a token what a review would say that looks at
// the token by itself; whether the pod and the ServiceAccount that it names are
// still there is looked up afterwards, with a review too.
//
// docs/adr/0013-namespaced.md compares the two.
package tokens

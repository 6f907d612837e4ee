// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serviceaccount verifies ServiceAccount tokens by the API server's
// public keys, for installations that may not use a TokenReview: that right
// exists for a whole cluster only. Its answer is that of a review that checks
// the token by itself. Whether the pod and the ServiceAccount in it still exist
// is checked afterwards, as it is with a review.
//
// docs/adr/0013-namespaced.md compares the two.
package serviceaccount

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oauth decides about access tokens: whether one is good at a resource,
// whose it is and what it allows. It also has what a resource says about itself,
// so that a client finds out where to get a token.
//
// It takes tokens of any configured issuer, RFC 9068 being what it expects of one
// that says nothing else, and answers as RFC 6750 and RFC 9728 have it. The
// package is pure: keys come from a KeySource, the time is an argument.
package oauth

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jwks has the keys of the issuers whose access tokens are taken. It
// fetches them now and then, and at once when a token names one that is new. While
// an issuer is away its keys go on being used, but not for ever: a key that was
// taken back would be as good as before.
//
// The package is a shell: package oauth says what keys are good for.
package jwks

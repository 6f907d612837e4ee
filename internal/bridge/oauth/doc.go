// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oauth gets the token that a bridge sends to a server: with the client's own credentials,
// or by refreshing the tokens of a user's login. A login may also be an authorization code that
// another program got for the user: the package exchanges it once for tokens, which replace it.
//
// If an authorization server rotates refresh tokens, only the last refresh token is valid. Earlier
// ones are used up, and the server treats their reuse as theft. So the result of a refresh is
// stored before any call uses it. Only one refresh runs at a time, and the end of the call that
// started it does not cancel it. Tokens that could not be stored are tried again for as long as
// the process runs. If the process ends in between, the stored token is a used one: the
// authorization server refuses it at the next start, and only this server reports "log in again".
//
// The package is a shell: it sends requests to authorization servers. No error contains a token or
// text of an authorization server.
package oauth

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oauth gets the token that a bridge sends to a server: with the
// client's own credentials, or by refreshing the tokens of a person's login. A
// login may also be a code that somebody else has got for the person: it is
// exchanged for tokens, once, and these take its place.
//
// A login whose authorization server rotates refresh tokens is worth its last
// one alone: the former is used up, and whoever shows it again is taken for a
// thief. So what a refresh gives is stored before any call uses it, one refresh
// runs at a time and is not ended by the call that began it, and what could not
// be stored is tried again for as long as the process lives. Should the process
// end in between, the stored token is a used one: the authorization server
// refuses it at the next start, and the server, it alone, says "log in again".
//
// The package is a shell: it asks authorization servers. No error holds a token
// or anything that an authorization server wrote.
package oauth

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authserver is the installation's own authorization server: it has
// people log in at a provider and gives the programs that act for them access
// tokens for the installation's URLs. It is a shell; the ingress serves its
// routes.
//
// It knows the authorization code grant with PKCE alone (RFC 6749, section 4.1,
// and RFC 7636), as OAuth 2.1 has it, and clients without a secret: those that an
// administrator configured, those whose id is the URL of a document about them,
// and those that registered themselves (RFC 7591). One grant is for one person,
// one client and one URL (RFC 8707), and at the URL for everyone for the bridge that
// the person agreed to. Who a person is, a provider says; whose bridges they may use,
// flow.Users.
//
// A login goes from one request to the next by the store:
//
//	/oauth/authorize    what the client asks for      -> a login, bound to the browser
//	/oauth/login/…      at which provider             -> the same, with the provider's state
//	/oauth/callback/…   who it is                     -> the same, with the person
//	/oauth/consent      that they agree               -> a grant, with a code
//	/oauth/token        that it is the same client    -> the grant, with a refresh token
//
// Each step takes what the one before left, so that none can be done twice. In
// the store there are hashes of codes and tokens, and no secret of anybody.
package authserver

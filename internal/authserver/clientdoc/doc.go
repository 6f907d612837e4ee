// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clientdoc has the clients that describe themselves: a client's id is
// the https URL of a document about it (draft-ietf-oauth-client-id-metadata-document).
//
// Anybody can have a document fetched by naming its URL, so that what is fetched,
// from where and how often is bounded: only public addresses are dialled, no
// redirect is followed, few are fetched at once from one site, and what was found
// is kept for a while. So are those bounded who ask for what is not there, or is
// slow: what they have fetched takes nothing away from clients that are known.
//
// The package is a shell.
package clientdoc

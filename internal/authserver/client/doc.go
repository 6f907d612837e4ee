// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client has the clients of the authorization server: those that an
// administrator configured, those that registered themselves (RFC 7591), and those
// whose id is the https URL of a document about them
// (draft-ietf-oauth-client-id-metadata-document). It also decides which redirect
// URIs they may use.
//
// Anybody can make the server fetch a document by naming its URL, so the package
// limits what is fetched, from where and how often. It dials public addresses only,
// follows no redirect, fetches few documents of one site at once, and caches what it
// found. Requests for documents that are slow or do not exist take no room from
// clients that the cache has.
//
// The package is a shell.
package client

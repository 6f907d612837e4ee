// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingress is the public surface: it finds out who calls, finds that user's
// pod and passes the call on.
//
// Each request is one value, request, and goes through a list of steps, which
// router.go has for each endpoint. Before them the request gets an id and its raw
// target is checked (serve.go, path.go); after them, whatever happened, release gives
// back what they took. Any step may end the request with an error that
// problem.go turns into an answer.
//
// The steps of a call, in their order, and what they stand on:
//
//	checkOrigin     Origin and Host against DNS rebinding     authn
//	authenticate    key or token -> principal == :userId      authn
//	trace           the request's span                        trace.go
//	findAccount     tier, and what is left of its quota       limits
//	watchCall       ends the call when its key goes           inflight
//	checkTier       is there such a tier                      limits
//	readBody        bounded by the tier, JSON only            body.go, jsonrpc
//	checkScope      may the token call tools                  access.go
//	takeQuota       requests, calls and streams of the tier   limits
//	boundUncounted  what costs nothing                        limits
//	auditCalls      no call without its entry                 callaudit
//	forward         waits for the pod, sends, passes on       proxy
//
// What is not a call is served by features: those of package management, and others
// that cmd adds. features.go has the steps of each access.
//
// The package is a shell: it dials and reads the clock; graceful.Service serves
// and drains its server.
package ingress

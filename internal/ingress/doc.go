// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingress is the public surface: it tells who calls, finds that user's
// pod and passes the call on.
//
// A request goes through these steps, in this order, and any of them may end
// it with an error that problem.go turns into an answer:
//
//	observe       request id, access log, metrics            accesslog.go
//	catch         a panic is an internal error               panic.go
//	check path    the raw target against one expression      path.go
//	check origin  Origin and Host against DNS rebinding      origin.go
//	authenticate  API key -> principal == :userId            authenticate.go
//	find account  tier and what is left of its quota         quota.go
//	read body     bounded by the tier, JSON only             body.go, bodies.go
//	count         requests, calls and streams of the tier    quota.go, exceeded.go
//	hold          wait while the bridge starts               hold.go, wake.go, candidates.go
//	forward       to the pod, proved by its certificate      proxy.go, delivery.go, dial.go
//	tell          what the bridge said of its tool calls     audit.go
//
// Health and secrets leave the way after the third step: the one is answered
// from what is known (health.go), the others by the keybroker (secrets.go).
//
// The package is a shell: it dials and reads the clock; telemetry.Service serves
// and drains its server. headers.go,
// path.go and rpcid.go are pure.
package ingress

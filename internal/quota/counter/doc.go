// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package counter counts what users have used of their quotas for all replicas
// of the ingress, in memory and in a file that outlives the process. It answers
// as the scripts of package store do in a Redis.
//
//	Inquiry, Reply   what a replica asks, and the answer     wire.go
//	Counter          counts                                  counter.go
//	file             keeps the counts over a restart         file.go
//	Register         answers replicas over HTTP              handler.go
//
// The package is a shell; package quota decides.
package counter

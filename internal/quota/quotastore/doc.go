// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quotastore keeps what users have used of their quotas, in this process
// alone, in the installation's own store or in a Redis or Valkey that all
// replicas of the ingress share.
//
// A store that is away, or does not answer in time, costs one request that
// time. From then on the replica goes by itself, by its share of what was left,
// until the store answers again; then it tells the store what it has allowed.
//
//	accounts   what this replica knows of each user       accounts.go
//	slots      calls and streams at a time                slots.go
//	Store      takes, from the store or by share          store.go
//	link       the shared store, and whether it answers   link.go, ask.go
//	shared     a Redis, or the installation's own store   redis.go, remote.go
//	rounds     requests of a user that go together        rounds.go
//	swap       replaces what a Redis keeps, if unchanged  swap.go, swap.lua
//	Run        tells of itself and of what has ended      run.go
//	Inquiry    what a replica asks                        wire.go
//	Counter    the installation's own store counts        counter.go
//	countsFile keeps its counts over a restart            countsfile.go
//	Register   answers replicas over HTTP                 counterhandler.go
//
// The package is a shell; package quota decides.
package quotastore

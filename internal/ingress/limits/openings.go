// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"hash/maphash"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

const (
	// openingsBurst is how many openings of a user may come at once. A client begins with three to
	// seven of them and lists again at each change, and a person has some windows of several clients.
	openingsBurst = 200
	// openingsEvery is the time in which one more may come: ten a second, a few times what busy
	// clients send, and a hundredth of what a core of a bridge answers.
	openingsEvery = 100 * time.Millisecond
)

// errTooManyOpenings refuses more of them.
var errTooManyOpenings = httpapi.New(http.StatusTooManyRequests, "too_many_openings",
	"Clients of this user begin sessions and list tools more than ten times a second; wait before the next time.")

// Calls returns how many requests of a batch count against a tier: all but openings, for which no
// server does anything.
func Calls(requests []jsonrpc.Request) int {
	n := 0
	for _, r := range requests {
		if !methods.Of(r.Method).Opening {
			n++
		}
	}
	return n
}

// openingRate is how often each bridge may be opened at this replica.
type openingRate struct {
	seed maphash.Seed
	rate Rate
}

func newOpeningRate() *openingRate {
	return &openingRate{seed: maphash.MakeSeed(), rate: Rate{Burst: openingsBurst, Every: openingsEvery}}
}

// take counts so many openings of a bridge. The error says when the next may come.
func (o *openingRate) take(bridge types.UID, n int, now time.Time) error {
	for range n {
		if wait := o.rate.Take(maphash.String(o.seed, string(bridge)), now); wait > 0 {
			return errTooManyOpenings.After(wait)
		}
	}
	return nil
}

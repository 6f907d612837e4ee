// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"math"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// MaxUncounted is how many requests of a user that cost nothing and take no slot may
// be in flight in a replica: openings, notifications, responses and the ends of sessions.
// A bridge answers them at once, so that a client has a few open, and one for
// each of its calls at the very most.
const MaxUncounted = 64

// ErrTooManyUncounted refuses more of them.
var ErrTooManyUncounted = httpapi.New(http.StatusTooManyRequests, "too_many_calls",
	fmt.Sprintf("%d lists, notifications, responses and ends of sessions are in flight; wait for one of them to end.", MaxUncounted)).After(SlotRetry)

// NewUncounted returns the slots of requests that are not counted.
func NewUncounted() *Slots { return NewSlots(MaxUncounted, math.MaxInt) }

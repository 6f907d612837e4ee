// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// QuotaError is a refusal for what has been used.
type QuotaError struct {
	problem *httpapi.Problem
	Data    LimitData
}

// LimitData is what a program can do with a refusal, beside its code.
type LimitData struct {
	// Policy is the name of the limit, as RateLimit-Policy has it.
	Policy       string `json:"policy"`
	RetryAfterMs int64  `json:"retryAfterMs"`
	Limit        int64  `json:"limit"`
	Remaining    int64  `json:"remaining"`
	// ResetAt is when there is more. Of calls and streams nobody knows.
	ResetAt time.Time `json:"resetAt,omitzero"`
}

// Status returns the status of a problem, which is a refusal by l unless that is nil. A refused stream of
// 2026-07-28 is an answer like any other: @github/copilot 1.0.102 sends nothing more after a 429
// or 503 to subscriptions/listen, and goes on without the stream after an error of JSON-RPC.
func (l *LimitData) Status(p *httpapi.Problem, requests []jsonrpc.Request) int {
	if l != nil && len(requests) == 1 && methods.Of(requests[0].Method).Stream {
		return http.StatusOK
	}
	return p.Status
}

// Error implements error.
func (e *QuotaError) Error() string { return e.problem.Code + ": " + e.Data.Policy }

// Unwrap has it answered as its problem.
func (e *QuotaError) Unwrap() error { return e.problem }

// SlotRetry is the advice where all slots are taken.
const SlotRetry = time.Second

// newQuotaError returns the refusal v of a user of that tier.
func newQuotaError(v quota.Verdict, tier quota.Tier, now time.Time) error {
	if v.Refused == quota.Batch {
		return problems.BatchTooLarge.Saying("The batch has more requests than this replica may pass in a minute by itself; send it in parts.")
	}
	tier = v.Held(tier)
	most, remaining, _ := v.Left.Of(v.Refused, tier)
	at := ""
	if v.Replicas > 1 {
		at = fmt.Sprintf(" at each of %d replicas", v.Replicas)
	}
	code, detail, retry := "rate_limited", "", v.RetryAfter
	switch v.Refused {
	case quota.Calls:
		code, retry = "too_many_calls", SlotRetry
		detail = fmt.Sprintf("The tier allows %d calls at a time%s: wait for one of them to end.", most, at)
	case quota.Streams:
		code, retry = "too_many_streams", SlotRetry
		detail = fmt.Sprintf("The tier allows %d open streams at a time%s; end one of them.", most, at)
	case quota.Burst:
		every := time.Duration(tier.Interval()) * time.Microsecond
		detail = fmt.Sprintf("The tier allows %d requests in quick succession%s, and then one every %v. Wait, or send requests more slowly.", most, at, every)
	default:
		detail = fmt.Sprintf("The tier allows %d requests each %s%s.", most, v.Refused, at)
	}
	data := LimitData{Policy: v.Refused.String(), RetryAfterMs: roundUp(retry, time.Millisecond).Milliseconds(), Limit: most, Remaining: remaining}
	if v.RetryAfter > 0 {
		data.ResetAt = now.Add(retry).UTC().Round(time.Millisecond)
	}
	return &QuotaError{httpapi.New(http.StatusTooManyRequests, code, detail).After(retry), data}
}

func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reach tells whether an address can be reached from where it runs. The
// operator has two pods do it, of which a network policy forbids one.
package reach

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Exit codes of a process that says what it found. Others mean that it found
// nothing.
const (
	ExitReached   = 0
	ExitUnreached = 3
)

// Attempts are how often and how long it is tried.
type Attempts struct {
	// For is how long to go on whatever is found: a network plugin takes a moment
	// to hear of a pod, and until then lets it connect, or does not.
	For time.Duration
	// Each bounds one attempt, and Between is the time from one to the next.
	Each, Between time.Duration
}

// Last asks url again and again for as long as a says, and returns nil if it was
// answered the last time. Answers count and not connections: a proxy beside the
// process would take any connection.
func Last(ctx context.Context, url string, a Attempts) error {
	client := &http.Client{
		Timeout: a.Each,
		Transport: &http.Transport{
			DisableKeepAlives: true, // A connection that was let through must not stand for the next.
			DialContext:       (&net.Dialer{Timeout: a.Each}).DialContext,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	end := time.NewTimer(a.For)
	defer end.Stop()
	again := time.NewTicker(a.Between)
	defer again.Stop()
	for {
		err := once(ctx, client, url)
		select {
		case <-end.C:
			return err
		default:
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return err
		case <-again.C:
		}
	}
}

func once(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %s", answer.Status)
	}
	return nil
}

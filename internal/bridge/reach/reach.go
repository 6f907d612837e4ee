// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reach tests whether an address can be reached from the current pod. The operator runs it
// in two pods, and a network policy blocks one of them.
package reach

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Exit codes of a process that got a result. With any other code, it got none.
const (
	ExitReached   = 0
	ExitUnreached = 3
)

// Attempts says how often and how long to try.
type Attempts struct {
	// For is the total time, whatever the results: a network plugin learns of a new pod only after
	// a moment, and until then lets it connect or blocks it.
	For time.Duration
	// Each limits the time of one attempt. Between is the time from one attempt to the next.
	Each, Between time.Duration
}

// Last requests url repeatedly, as a says, and returns nil if the last attempt was answered. Only
// answers count, not connections: a sidecar proxy would accept any connection.
func Last(ctx context.Context, url string, a Attempts) error {
	client := &http.Client{
		Timeout: a.Each,
		Transport: &http.Transport{
			DisableKeepAlives: true, // Each attempt needs its own connection.
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

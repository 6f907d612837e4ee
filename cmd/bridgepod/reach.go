// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/reach"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// errUnreached ends the process with reach.ExitUnreached: that nothing was
// reached is a finding, and every other error is that nothing was found.
var errUnreached = errors.New("not reached")

// newReach returns the command by which the operator learns whether the
// cluster's network does what network policies say.
func newReach() command {
	var address string
	attempts := reach.Attempts{Each: 2 * time.Second, Between: time.Second}
	c := newCommand("reach", "Check whether a URL answers. The exit code is 0 if it does, and 3 if it does not. The operator runs this command in its probe pods.")
	c.settings.String(&address, "address", "", "URL to request; the expected status is 200", setting.URL("http"))
	// Network plugins take up to some seconds to hear of a new pod.
	c.settings.Duration(&attempts.For, "for", 12*time.Second, "how long to repeat the request; the last answer counts")
	c.run = func(ctx context.Context, _ io.Writer) error {
		if err := reach.Last(ctx, address, attempts); err != nil {
			return fmt.Errorf("%w: %w", errUnreached, err)
		}
		return nil
	}
	return c
}

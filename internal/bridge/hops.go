// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inputrequired"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
)

// wellFormedHops matches a list of at least one bridge.
var wellFormedHops = regexp.MustCompile(`^[0-9a-f]{16}(,[0-9a-f]{16})*$`)

// hopID returns the id of this bridge in a list of hops.
func (b *Bridge) hopID() string { return token.BridgeID(b.config.BridgeUID) }

// checkHops refuses a request that has passed the bridge of this UID before, or that has passed too
// many bridges. It runs before everything else, so that a loop costs one request for each bridge in
// it.
func checkHops(bridgeUID, hops string) error {
	if hops == "" {
		return nil
	}
	if !wellFormedHops.MatchString(hops) {
		return fault.NewHops("bridge_hops_invalid", "the list of bridges that the request has passed is malformed")
	}
	passed := strings.Split(hops, ",")
	if slices.Contains(passed, token.BridgeID(bridgeUID)) {
		return fault.NewHops("bridge_loop", "the request has passed this bridge before: its servers form a loop")
	}
	if len(passed) >= message.MaxHops {
		return fault.NewHops("too_many_bridges", fmt.Sprintf("the request has passed %d bridges, and no more than %d may stand behind each other", len(passed), message.MaxHops))
	}
	return nil
}

// checkLoop finds out whether a request to u would come back to this bridge. Without the check,
// both bridges would wait for each other while u is not connected.
func (v *serverSet) checkLoop(ctx context.Context, u *upstream.Server, hops string) error {
	if hops == "" || u == nil || u.SharedBySessions() || u.Peek().Alive() {
		return nil
	}
	ctx, cancel := egress.FollowContext(v.life.ctx, ctx)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, u.Timing.Wait/2)
	defer cancelTimeout()
	l, err := upstream.Dial(ctx, u, u.Granted(), upstream.ClientIdentity{Info: message.Implementation, Hops: hops}, &inputrequired.PoolHandler{})
	if err == nil {
		l.Life.Close()
		return nil
	}
	if fault.RefusedHops(err) != "" {
		return fault.ToRPC(err, u.Config.Name)
	}
	return nil // Callers that wait for the server get the error.
}

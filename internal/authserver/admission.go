// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// bridgeChoice is what a person may agree to: one of these bridges, or the one that would
// be made for them, if Offered is not empty.
type bridgeChoice struct {
	Bridges []flow.Bridge
	Offered v1alpha1.UserID
}

// newBridge is how a consent page names the bridge that would be made. UIDs are longer.
const newBridge = "new"

// maxPerNamespace is how many bridges of one namespace a person is shown, so that the
// authors of one cannot hide the bridges of others among theirs. The address of a
// user's bridge works for all.
const maxPerNamespace = 8

// errNotTheirs says that a person may not use the bridge of a user.
var errNotTheirs = errors.New("the person may not use this bridge")

// choiceOf returns what a person may agree to: the bridge of the user, or without one what
// counts at the address for everyone. There, the bridges of trusted namespaces count
// alone. Elsewhere anybody who edits HostedBridges can name any person: such bridges
// are shown beside the one that the installation would make, and the person chooses.
// Its errors are errNotTheirs, flow.ErrNotInvited and those of users.
func choiceOf(ctx context.Context, users flow.Users, who flow.Identity, user v1alpha1.UserID) (bridgeChoice, error) {
	bridges, err := users.Bridges(ctx, who)
	if err != nil {
		return bridgeChoice{}, fmt.Errorf("look up bridges: %w", err)
	}
	if user != "" {
		b, ok := bridgeOf(bridges, user)
		if !ok {
			return bridgeChoice{}, errNotTheirs
		}
		return bridgeChoice{Bridges: []flow.Bridge{b}}, nil
	}
	if trusted := trustedOf(bridges); len(trusted) > 0 {
		return bridgeChoice{Bridges: trusted}, nil
	}
	offered, err := users.Offer(ctx, who)
	if errors.Is(err, flow.ErrNotInvited) && len(bridges) > 0 {
		return bridgeChoice{Bridges: fewPerNamespace(bridges)}, nil
	}
	if err != nil {
		return bridgeChoice{}, fmt.Errorf("onboard: %w", err)
	}
	return bridgeChoice{Bridges: fewPerNamespace(bridges), Offered: offered}, nil
}

// Find returns the bridge that a person chose, by its UID, or by newBridge if it was made a
// moment ago as the one that they were offered.
func (c bridgeChoice) Find(chosen string, offered v1alpha1.UserID) (flow.Bridge, bool) {
	return findBridge(c.Bridges, func(b flow.Bridge) bool {
		made := chosen == newBridge && b.Onboarded && b.User == offered
		return made || chosen != "" && string(b.UID) == chosen
	})
}

// bridgeOf returns the bridge of a user.
func bridgeOf(bridges []flow.Bridge, user v1alpha1.UserID) (flow.Bridge, bool) {
	return findBridge(bridges, func(b flow.Bridge) bool { return b.User == user })
}

// agreedBridge returns the bridge to which a person agreed at the address for everyone, and
// no later one of its user. A grant of an earlier version does not say which that was
// and has no uid: it is for the only bridge of trusted namespaces, or without one for
// that of ruled, the user that a rule derives from the person.
func agreedBridge(bridges []flow.Bridge, uid types.UID, ruled v1alpha1.UserID) (flow.Bridge, bool) {
	if uid != "" {
		return findBridge(bridges, func(b flow.Bridge) bool { return b.UID == uid })
	}
	switch trusted := trustedOf(bridges); len(trusted) {
	case 0:
		return bridgeOf(bridges, ruled)
	case 1:
		return trusted[0], true
	default:
		return flow.Bridge{}, false
	}
}

func findBridge(bridges []flow.Bridge, is func(flow.Bridge) bool) (flow.Bridge, bool) {
	at := slices.IndexFunc(bridges, is)
	if at < 0 {
		return flow.Bridge{}, false
	}
	return bridges[at], true
}

func trustedOf(bridges []flow.Bridge) []flow.Bridge {
	return slices.DeleteFunc(slices.Clone(bridges), func(b flow.Bridge) bool { return !b.Trusted })
}

func fewPerNamespace(bridges []flow.Bridge) []flow.Bridge {
	shown := map[string]int{}
	return slices.DeleteFunc(slices.Clone(bridges), func(b flow.Bridge) bool {
		shown[b.Namespace]++
		return shown[b.Namespace] > maxPerNamespace
	})
}

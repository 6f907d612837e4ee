// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Finding is a condition's reason and message for something that is not as it
// should be. The zero Finding reports nothing.
type Finding struct {
	Reason  string
	Message string
}

// check is one reason why an installation refuses a spec.
type check func(Observed) Finding

// acceptance is what a spec must pass. The first finding decides, so that a
// user who does not own the id at all is not sent to correct the tier first.
var acceptance = []check{userIDIsFree, networkIsolates, tierExists, serversFitTier, serversAreTaken, storageFits, configurationFits}

// ofServer are the checks of a single server, which do not depend on the rest
// of the spec or on the installation.
var ofServer = []func(Server) Finding{headersDiffer, textsAreReadable, loginIsGranted, serverIsValid}

// Refuses returns why every bridge would refuse the server, and so a spec with
// it.
func Refuses(server Server) Finding {
	f := refusal([]Server{server})
	f.Message = strings.TrimLeft(strings.TrimPrefix(f.Message, fmt.Sprintf("spec.servers[%d]", server.Index)), ".: ")
	return f
}

func serversAreTaken(o Observed) Finding { return refusal(Servers(o.Bridge)) }

func refusal(servers []Server) Finding {
	for _, c := range ofServer {
		for _, s := range servers {
			if f := c(s); f != (Finding{}) {
				return f
			}
		}
	}
	return Finding{}
}

func accept(o Observed) Finding {
	for _, c := range acceptance {
		if f := c(o); f != (Finding{}) {
			return f
		}
	}
	return Finding{}
}

func userIDIsFree(o Observed) Finding {
	r := o.rival()
	if r == nil {
		return Finding{}
	}
	field := "spec.userID"
	if o.Bridge.Spec.UserID == "" {
		field = "metadata.name, which is the user id where spec.userID is not set"
	}
	return Finding{v1alpha1.ReasonUserIDConflict, fmt.Sprintf(
		"%s: %q belongs to the older HostedBridge %s/%s; it must be a user id that no other HostedBridge of the installation has",
		field, o.Bridge.User(), r.Namespace, r.Name)}
}

func tierExists(o Observed) Finding {
	if _, ok := o.Tiers[o.Bridge.Spec.Tier]; ok {
		return Finding{}
	}
	return Finding{v1alpha1.ReasonUnknownTier, fmt.Sprintf(
		"spec.tier: %q is not a tier of this installation; it must be one of: %s",
		o.Bridge.Spec.Tier, strings.Join(o.Tiers.Names(), ", "))}
}

func serversFitTier(o Observed) Finding {
	limit, wanted := o.Tiers[o.Bridge.Spec.Tier].Servers, len(o.Bridge.Spec.Servers)
	if limit == nil || wanted <= int(*limit) {
		return Finding{}
	}
	message := fmt.Sprintf("spec.servers: %d servers are more than tier %q allows; it must have at most %d",
		wanted, o.Bridge.Spec.Tier, *limit)
	if larger := tiersFor(o, wanted); len(larger) > 0 {
		message += ", or spec.tier must be one of: " + strings.Join(larger, ", ")
	}
	return Finding{v1alpha1.ReasonTierLimitExceeded, message}
}

// tiersFor returns the names of the tiers that allow that many servers.
func tiersFor(o Observed, servers int) []string {
	return slices.DeleteFunc(o.Tiers.Names(), func(name string) bool {
		limit := o.Tiers[name].Servers
		return limit != nil && int(*limit) < servers
	})
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Finding is why something is not as it should be: a condition's reason and
// message. The zero Finding finds nothing.
type Finding struct {
	Reason  string
	Message string
}

// check is one reason for which an installation does not take a spec.
type check func(Observed) Finding

// acceptance is what a spec must pass. The first finding decides, so that a
// user who does not own the id at all is not sent to correct the tier first.
var acceptance = append([]check{userIDIsFree, networkIsolates, tierExists, serversFitTier}, append(slices.Clone(ofServers), runtimesAreThere)...)

// ofServers are the checks that a server passes or not whatever the rest of the
// spec and the installation are.
var ofServers = []check{headersDiffer, textsAreReadable, loginsAreGranted, serversAreValid}

// Refuses returns why no bridge would take the server, which is what a spec with
// it would be refused for.
func Refuses(server v1alpha1.Server) Finding {
	b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{UserID: "user", Servers: []v1alpha1.Server{server}}}
	b.UID = "bridge"
	for _, c := range ofServers {
		if f := c(Observed{Bridge: b}); f != (Finding{}) {
			f.Message = strings.TrimLeft(strings.TrimPrefix(f.Message, "spec.servers[0]"), ".: ")
			return f
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

// runtimesAreThere is the check that there is an image for each program.
func runtimesAreThere(o Observed) Finding {
	for i, server := range o.Bridge.Spec.Servers {
		p := server.Transport.Stdio
		if p == nil || p.Image != "" || p.Install == nil || !slices.Contains(o.Lacking, p.Install.Method) {
			continue
		}
		return Finding{v1alpha1.ReasonInvalidServer, fmt.Sprintf(
			"spec.servers[%d].transport.stdio.image: it must be an image that has %s on its PATH, since the installation has none: "+
				"its operator was started without --runtime-image-%s", i, p.Install.Method, runtimes[p.Install.Method])}
	}
	return Finding{}
}

// runtimes are the names of what methods of install run in.
var runtimes = map[v1alpha1.InstallMethod]string{v1alpha1.InstallNPX: "node", v1alpha1.InstallUVX: "python"}

// tiersFor returns the names of the tiers that allow so many servers.
func tiersFor(o Observed, servers int) []string {
	return slices.DeleteFunc(o.Tiers.Names(), func(name string) bool {
		limit := o.Tiers[name].Servers
		return limit != nil && int(*limit) < servers
	})
}

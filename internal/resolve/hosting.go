// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/netguard"
)

// Hosting is what an installation can run.
type Hosting struct {
	// Lacking are the methods of install for which the installation has no image.
	Lacking []v1alpha1.InstallMethod
	// Egress are the addresses that bridges may connect to.
	Egress netguard.Rules
}

// Judge returns why the installation's bridges cannot run a version of a recipe,
// and the zero Finding if they can. It knows what was configured, and not whether
// a registry or a server answers.
func (h Hosting) Judge(name string, v v1alpha1.RecipeVersion) bridgestate.Finding {
	server := v1alpha1.Server{Name: "server", Recipe: &v1alpha1.RecipeReference{Name: name}}
	version, found := Catalog{Lacking: h.Lacking}.host(server, v)
	if found != (bridgestate.Finding{}) {
		return found
	}
	said := version.said
	unreachable := func(format string, args ...any) bridgestate.Finding {
		return bridgestate.Finding{Reason: v1alpha1.ReasonRecipeUnreachable, Message: fmt.Sprintf("version %s of recipe %s ", v.Version, name) + fmt.Sprintf(format, args...)}
	}
	if said.Program != nil {
		if len(h.Egress.Blocks()) == 0 {
			return unreachable("is a package that %s fetches, and the installation's rules let bridges connect to no address", said.Program.Command[0])
		}
		return bridgestate.Finding{}
	}
	if u, err := url.Parse(said.URL); err == nil && !h.reaches(u.Hostname()) {
		return unreachable("is at %s, to which the installation's rules let no bridge connect", u.Host)
	}
	return bridgestate.Finding{}
}

// reaches reports whether a bridge may connect to a host. A name is taken for
// that of a public address.
func (h Hosting) reaches(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return h.Egress.Permits(a)
	}
	return slices.ContainsFunc(h.Egress.Blocks(), func(b netguard.Block) bool {
		return b.CIDR.Bits() == 0 || netguard.Public(b.CIDR.Addr())
	})
}

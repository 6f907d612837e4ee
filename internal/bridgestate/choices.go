// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// Ignored is a choice that has no effect.
type Ignored struct {
	// Field is the choice, such as mode or servers[github], and Server the server of the
	// second form.
	Field, Server string
	// Why is a clause that begins in lower case.
	Why string
}

// IgnoredChoices returns the choices of the bridge that its profiles, by status.effective,
// do not permit.
func IgnoredChoices(b *effective.Bridge) []Ignored {
	wanted, e := b.Spec.Choices, b.Status.Effective
	if wanted == nil {
		return nil
	}
	if e == nil {
		e = &v1alpha1.EffectiveSettings{}
	}
	var list []Ignored
	setting := func(field string, ignored bool) {
		if ignored {
			list = append(list, Ignored{Field: field, Why: "no BridgeProfile of the bridge lets its user choose it"})
		}
	}
	setting("mode", wanted.Mode != "" && wanted.Mode != e.Mode)
	setting("toolPrefix", wanted.ToolPrefix != "" && wanted.ToolPrefix != e.ToolPrefix)
	setting("idleTimeout", wanted.IdleTimeout != nil && (e.IdleTimeout == nil || *wanted.IdleTimeout != *e.IdleTimeout))
	for _, c := range wanted.Servers {
		if why := whyIgnored(e, c.Name); why != "" {
			list = append(list, Ignored{Field: "servers[" + c.Name + "]", Server: c.Name, Why: why})
		}
	}
	return list
}

// whyIgnored returns why a choice about a server has no effect, empty if it has one.
func whyIgnored(e *v1alpha1.EffectiveSettings, server string) string {
	at := slices.IndexFunc(e.Servers, func(s v1alpha1.EffectiveServer) bool { return s.Name == server })
	switch {
	case at < 0:
		return "no BridgeProfile of the bridge offers the server"
	case e.Servers[at].Reason == v1alpha1.ReasonChoiceIgnored:
		return "BridgeProfile " + e.Servers[at].Profile + " requires the server"
	case e.Servers[at].Reason == v1alpha1.ReasonNotApproved:
		return "BridgeProfile " + e.Servers[at].Profile + " offers the server on request, and no request of the user is approved"
	case e.Servers[at].Reason == v1alpha1.ReasonOfferChanged:
		return "BridgeProfile " + e.Servers[at].Profile + " offers another server under this name than the one that was approved for the user, who can ask for it again"
	case e.Servers[at].Reason == v1alpha1.ReasonServerShadowed:
		return "the HostedBridge has a server of this name of its own"
	}
	return ""
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import "github.com/hostedbridge/hostedbridge/api/v1alpha1"

// Offer is how a profile gives a server to a bridge.
type Offer struct {
	Use v1alpha1.ServerUse
	// Own is whether the bridge's own spec has a server of the same name.
	Own bool
	// Approved is whether an administrator approved the user's request for the server, and
	// Changed whether they approved one for what was offered under its name before.
	Approved, Changed bool
}

// OfferOf returns the offer of which an entry of status.effective was made.
func OfferOf(e v1alpha1.EffectiveServer) Offer {
	return Offer{
		Use: e.Use, Own: e.Reason == v1alpha1.ReasonServerShadowed, Changed: e.Reason == v1alpha1.ReasonOfferChanged,
		Approved: e.Reason != v1alpha1.ReasonNotApproved && e.Reason != v1alpha1.ReasonOfferChanged,
	}
}

// Reason says why a bridge does not have the server, or why it does not follow the choice
// about it, the use in spec.choices; empty if neither is so.
func (o Offer) Reason(choice string) string {
	use, own := o.Use, o.Own
	if use == v1alpha1.ServerOnRequest {
		use = v1alpha1.ServerOptional
		switch {
		case own || o.Approved:
		case o.Changed:
			return v1alpha1.ReasonOfferChanged
		default:
			return v1alpha1.ReasonNotApproved
		}
	}
	switch {
	case use == v1alpha1.ServerRequired && choice == v1alpha1.ChoiceOff:
		return v1alpha1.ReasonChoiceIgnored
	case use == v1alpha1.ServerRequired:
		return ""
	case own:
		return v1alpha1.ReasonServerShadowed
	case choice == v1alpha1.ChoiceOff, use == v1alpha1.ServerOptional && choice != v1alpha1.ChoiceOn:
		return v1alpha1.ReasonServerOff
	default:
		return ""
	}
}

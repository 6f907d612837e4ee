// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import "github.com/hostedbridge/hostedbridge/api/v1alpha1"

// Reason says why a bridge does not have a server that a profile gives with this use, or
// why it does not follow the choice about it; empty if neither is so. own is whether the
// bridge's own spec has a server of the same name, and choice the use in spec.choices.
func Reason(use v1alpha1.ServerUse, own bool, choice string) string {
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

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"encoding/json"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	v1alpha1ac "github.com/hostedbridge/hostedbridge/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// ChoiceManager returns the field manager under which the choice about a server is applied.
// Each has its own, so that a choice changes no other one, and no manifest.
func ChoiceManager(server string) string { return "hosted-bridge-choice-" + server }

// ChoicePatch returns the object for server-side apply that makes c the choice about the
// server, or that removes the choice if c is nil.
func ChoicePatch(b *v1alpha1.HostedBridge, server string, c *Choice) *v1alpha1ac.HostedBridgeApplyConfiguration {
	// With a UID, which only the API server may set on a new object, this never creates a
	// HostedBridge.
	ac := v1alpha1ac.HostedBridge(b.Name, b.Namespace).WithUID(b.UID)
	if c == nil {
		return ac
	}
	one := v1alpha1ac.ServerChoice().WithName(server).WithDeny(c.Deny...)
	if c.Use != "" {
		one.WithUse(c.Use)
	}
	return ac.WithSpec(v1alpha1ac.HostedBridgeSpec().WithChoices(v1alpha1ac.Choices().WithServers(one)))
}

// ChoiceHolders returns the field managers other than ChoiceManager that hold the choice
// about a server, sorted: it must be changed at their source.
func ChoiceHolders(b *v1alpha1.HostedBridge, server string) []string {
	var managers []string
	for _, f := range b.ManagedFields {
		if f.Subresource != "" || f.FieldsV1 == nil || f.Manager == ChoiceManager(server) || slices.Contains(managers, f.Manager) {
			continue
		}
		var held struct {
			Spec struct {
				Choices struct {
					Servers map[string]json.RawMessage `json:"f:servers"`
				} `json:"f:choices"`
			} `json:"f:spec"`
		}
		// The API server writes nothing else; a set that cannot be read holds nothing
		// that we know of.
		if json.Unmarshal(f.FieldsV1.GetRawBytes(), &held) != nil {
			continue
		}
		if _, ok := held.Spec.Choices.Servers[`k:{"name":"`+server+`"}`]; ok {
			managers = append(managers, f.Manager)
		}
	}
	slices.Sort(managers)
	return managers
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"encoding/json"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// ChoiceManager returns the field manager under which the choice about a server is applied.
// Each has its own, so that a choice changes no other one, and no manifest.
func ChoiceManager(server string) string { return "hosted-bridge-choice-" + server }

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

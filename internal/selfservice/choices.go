// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"fmt"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// Action is what a user may do about a server.
type Action string

// The actions.
const (
	ActionTurnOn  Action = "turn_on"
	ActionTurnOff Action = "turn_off"
	// ActionClear removes the choice, so that the profile decides.
	ActionClear Action = "clear"
	// ActionAsk asks an administrator for the server.
	ActionAsk Action = "ask"
)

// Choice is what a user wants of a server that a profile offers.
type Choice struct {
	// Use is On or Off, empty to leave it to the profile.
	Use string `json:"use,omitempty"`
	// Deny are tools that the user does not want.
	Deny []string `json:"deny,omitempty"`
}

// The bounds of a choice, as those of spec.choices.
const (
	maxDenied   = 256
	maxToolName = 128
	maxChoices  = 64
)

// Check returns an error that says what a choice must be.
func (c Choice) Check() error {
	switch {
	case c.Use != "" && c.Use != v1alpha1.ChoiceOn && c.Use != v1alpha1.ChoiceOff:
		return fmt.Errorf("use must be %s or %s", v1alpha1.ChoiceOn, v1alpha1.ChoiceOff)
	case c.Use == "" && len(c.Deny) == 0:
		return fmt.Errorf("a choice must have use, which is %s or %s, or deny, a list of tools", v1alpha1.ChoiceOn, v1alpha1.ChoiceOff)
	case len(c.Deny) > maxDenied:
		return fmt.Errorf("deny must have at most %d tools", maxDenied)
	}
	for i, tool := range c.Deny {
		if tool == "" || len(tool) > maxToolName {
			return fmt.Errorf("deny[%d] must be the name of a tool, of 1 to %d bytes", i, maxToolName)
		}
		if slices.Contains(c.Deny[:i], tool) {
			return fmt.Errorf("deny[%d] is in the list already", i)
		}
	}
	return nil
}

// Refusal is why a choice is not accepted.
type Refusal struct {
	// NotFound means that no server of that name exists for the user.
	NotFound bool
	// Text is a sentence.
	Text string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// Permit returns nil if the bridge would follow the choice, and else a *Refusal. The
// operator decides by the same function. A server that this installation cannot run is not
// turned on.
func Permit(b *effective.Bridge, recipes Recipes, server string, c Choice) error {
	e, offers := entry(b, server)
	if !offers {
		if b.Has(server) || isLeftOut(b, server) {
			return &Refusal{Text: "The HostedBridge itself has the server " + server + ". An administrator can change it."}
		}
		return &Refusal{NotFound: true, Text: "No profile offers a server of this name."}
	}
	if c.Use == v1alpha1.ChoiceOn && recipes.Excludes(e) {
		return &Refusal{Text: "This installation cannot run the server " + server + ". Ask an administrator for another one."}
	}
	if text := ineffective(e, c.Use); text != "" {
		return &Refusal{Text: text}
	}
	if wanted := b.Spec.Choices; wanted != nil && len(wanted.Servers) >= maxChoices && ChoiceOf(b.HostedBridge, server) == nil {
		return &Refusal{Text: fmt.Sprintf("There are %d choices already. Clear one that has no effect.", maxChoices)}
	}
	return nil
}

// ineffective says why an offer stays as it is whatever the user chooses, empty if it does not.
func ineffective(e v1alpha1.EffectiveServer, use string) string {
	switch profile.OfferOf(e).Reason(use) {
	case v1alpha1.ReasonChoiceIgnored:
		return "The profile " + e.Profile + " requires the server " + e.Name + ", so it stays on."
	case v1alpha1.ReasonNotApproved:
		return "The profile " + e.Profile + " offers the server " + e.Name + " on request. Ask for it first."
	case v1alpha1.ReasonOfferChanged:
		return "The profile " + e.Profile + " offers another server under the name " + e.Name + " than the one that was approved. Ask for it again."
	case v1alpha1.ReasonServerShadowed:
		return "The HostedBridge has a server " + e.Name + " of its own, which takes the place of the profile's. An administrator can change it."
	}
	return ""
}

func isLeftOut(b *effective.Bridge, server string) bool {
	return b.Status.Effective != nil && slices.Contains(b.Status.Effective.LeftOut, server)
}

// ChoiceOf returns the user's choice about a server, nil without one.
func ChoiceOf(b *v1alpha1.HostedBridge, server string) *Choice {
	if b.Spec.Choices == nil {
		return nil
	}
	for _, c := range b.Spec.Choices.Servers {
		if c.Name == server {
			return &Choice{Use: c.Use, Deny: c.Deny}
		}
	}
	return nil
}

func useOf(c *Choice) string {
	if c == nil {
		return ""
	}
	return c.Use
}

// actionsOf returns what the user may do about a server that a profile offers.
func actionsOf(e v1alpha1.EffectiveServer, c *Choice) []Action {
	actions := []Action{}
	shadowed := e.Reason == v1alpha1.ReasonServerShadowed
	switch offer := profile.OfferOf(e); {
	case e.Use == v1alpha1.ServerRequired || shadowed:
	case e.Reason == v1alpha1.ReasonNotApproved, e.Reason == v1alpha1.ReasonOfferChanged:
		actions = append(actions, ActionAsk)
	default:
		if offer.Reason(useOf(c)) == "" {
			actions = append(actions, ActionTurnOff)
		} else {
			actions = append(actions, ActionTurnOn)
		}
	}
	if c != nil {
		actions = append(actions, ActionClear)
	}
	return actions
}

// isPending reports whether the operator has not acted on the choice yet.
func isPending(e v1alpha1.EffectiveServer, c *Choice) bool {
	switch e.Reason {
	case v1alpha1.ReasonServerShadowed:
		return false
	case v1alpha1.ReasonServerNoRoom:
		return profile.OfferOf(e).Reason(useOf(c)) != ""
	}
	return profile.OfferOf(e).Reason(useOf(c)) != e.Reason
}

// OfferOf returns what the bridge's profiles offer under the name of a server that they offer on
// request, empty for another server.
func OfferOf(b *effective.Bridge, server string) string {
	e, _ := entry(b, server)
	return e.Offer
}

// Askable returns those of OnRequest that this installation can run.
func Askable(b *effective.Bridge, recipes Recipes) []string {
	return slices.DeleteFunc(OnRequest(b), func(server string) bool {
		e, _ := entry(b, server)
		return recipes.Excludes(e)
	})
}

// OnRequest returns the servers that the bridge's profiles offer on request.
func OnRequest(b *effective.Bridge) []string {
	var servers []string
	for _, e := range offered(b) {
		if e.Use == v1alpha1.ServerOnRequest && e.Reason != v1alpha1.ReasonServerShadowed {
			servers = append(servers, e.Name)
		}
	}
	return servers
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"fmt"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
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
// operator decides by the same function.
func Permit(b *v1alpha1.HostedBridge, server string, c Choice) error {
	e, offers := entry(b, server)
	own := slices.ContainsFunc(b.Spec.Servers, func(s v1alpha1.Server) bool { return s.Name == server })
	if !offers {
		if own || isLeftOut(b, server) {
			return &Refusal{Text: "The HostedBridge itself has the server " + server + ". An administrator can change it."}
		}
		return &Refusal{NotFound: true, Text: "No profile offers a server of this name."}
	}
	switch profile.OfferOf(e).Reason(c.Use) {
	case v1alpha1.ReasonChoiceIgnored:
		return &Refusal{Text: "The profile " + e.Profile + " requires the server " + server + ", so it stays on."}
	case v1alpha1.ReasonNotApproved:
		return &Refusal{Text: "The profile " + e.Profile + " offers the server " + server + " on request. Ask for it first."}
	case v1alpha1.ReasonOfferChanged:
		return &Refusal{Text: "The profile " + e.Profile + " offers another server under the name " + server + " than the one that was approved. Ask for it again."}
	case v1alpha1.ReasonServerShadowed:
		return &Refusal{Text: "The HostedBridge has a server " + server + " of its own, which takes the place of the profile's. An administrator can change it."}
	}
	if wanted := b.Spec.Choices; wanted != nil && len(wanted.Servers) >= maxChoices && ChoiceOf(b, server) == nil {
		return &Refusal{Text: fmt.Sprintf("There are %d choices already. Clear one that has no effect.", maxChoices)}
	}
	return nil
}

func isLeftOut(b *v1alpha1.HostedBridge, server string) bool {
	return b.Status.Effective != nil && slices.Contains(b.Status.Effective.LeftOut, server)
}

// ChoiceOf returns the user's choice about a server, nil if there is none.
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

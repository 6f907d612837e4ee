// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver/health"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

var (
	errAway   = errors.New("the API server is away")
	errNoneOf = errors.New("there is no such bridge")
)

// selfOptions are what the world's users see of their bridges.
func (w *world) selfOptions(quotas limits.Counts) management.SelfOptions {
	return management.SelfOptions{
		Bridge: w.bridgeOf, Reports: w.reports, Last: func(ctx context.Context, b route.Backend) health.Report { return w.lastReport(ctx, b) },
		ListTools: w.ways.Tools, Keys: w.keys, Choices: (*fakeChoices)(w), Secrets: &w.keeper,
		Quotas: quotas, Tiers: func() quota.Tiers { return *w.tiers.Load() }, AuditIndex: w.index, RecipeText: recipeText, Program: w.programOf,
		ConnectPage: func(user v1alpha1.UserID, server string) string { return v1alpha1.ConnectURL(publicURL, user, server) },
	}
}

// programOf is what is known of a server's package; the recipe wiki has one.
func (w *world) programOf(recipe string, fetched *v1alpha1.Install) *catalog.Program {
	switch {
	case fetched != nil:
		return w.installed.Installed(*fetched)
	case recipe == "wiki":
		return w.installed.Installed(v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "wiki", Version: "1.0.0"})
	}
	return nil
}

// recipeText is what the catalog says that a recipe is for.
func recipeText(recipe string) string {
	return map[string]string{"wiki": "Finds pages of the handbook."}[recipe]
}

// bridgeOf returns the HostedBridge of a backend as the watch would.
func (w *world) bridgeOf(_ context.Context, of route.Backend) (*v1alpha1.HostedBridge, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.bridges {
		if b.UID == of.BridgeUID {
			return b.DeepCopy().WithEffective(), nil
		}
	}
	return nil, errNoneOf
}

// fakeChoices writes choices into the world's HostedBridges, if the API server answers.
type fakeChoices world

// Set implements management.UserChoices.
func (f *fakeChoices) Set(ctx context.Context, of userkey.Bridge, server string, c *selfservice.Choice, decide func(*v1alpha1.HostedBridge) error) (*v1alpha1.HostedBridge, error) {
	w := (*world)(f)
	if w.away.Load() {
		return nil, errAway
	}
	b, err := w.bridgeOf(ctx, route.Backend{BridgeUID: of.UID})
	if err != nil {
		return nil, userkey.ErrNoBridge
	}
	if err := decide(b); err != nil {
		return nil, err
	}
	if server == "fixed" {
		return nil, &userkey.ManagedError{By: []string{"gitops"}}
	}
	w.changeBridge(b.Name, func(b *v1alpha1.HostedBridge) {
		if b.Spec.Choices == nil {
			b.Spec.Choices = &v1alpha1.Choices{}
		}
		b.Spec.Choices.Servers = slices.DeleteFunc(b.Spec.Choices.Servers, func(s v1alpha1.ServerChoice) bool { return s.Name == server })
		if c != nil {
			b.Spec.Choices.Servers = append(b.Spec.Choices.Servers, v1alpha1.ServerChoice{Name: server, Use: c.Use, Deny: c.Deny})
		}
	})
	return w.bridgeOf(ctx, route.Backend{BridgeUID: of.UID})
}

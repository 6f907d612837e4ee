// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

var (
	errAway   = errors.New("the API server is away")
	errNoneOf = errors.New("there is no such bridge")
)

// selfOptions are what the world's users see of their bridges.
func (w *world) selfOptions(quotas limits.Counts) management.SelfOptions {
	return management.SelfOptions{
		Bridge: w.bridgeOf, Reports: w.reports, Last: func(ctx context.Context, b route.Backend) health.Report { return w.lastReport(ctx, b) },
		ListTools: w.ways.Tools, Keys: w.userKeys(), Choices: (*fakeChoices)(w), Secrets: &w.keeper,
		Quotas: quotas, Tiers: func() quota.Tiers { return *w.tiers.Load() }, AuditIndex: w.index, Recipe: catalogEntry, Program: w.programOf,
		ConnectPage: func(user v1alpha1.UserID, server string) string { return v1alpha1.ConnectURL(publicURL, user, server) },
	}
}

// programOf is what is known of a server's package; the recipe wiki has one.
func (w *world) programOf(r recipe.Recipe, fetched *v1alpha1.Install) *catalog.Program {
	switch {
	case fetched != nil:
		return w.installed.Installed(*fetched)
	case r.ID == "wiki":
		return w.installed.Installed(v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "wiki", Version: cmp.Or(r.RecipeVersion, "1.0.0")})
	}
	return nil
}

// wikiVersion is a version of the recipe wiki, of which everything names the version.
func wikiVersion(version, host string) catalog.Version {
	return catalog.Version{Version: version, Digest: "sha256:" + version, Recipe: recipe.Recipe{ID: "wiki", RecipeVersion: version, Description: "Description " + version,
		Transports: []recipe.Transport{{
			Type: recipe.StreamableHTTP, URL: "https://" + host + "/mcp", Auth: &recipe.TransportAuth{Type: "bearer", Token: "${TOKEN}"},
		}},
		Auth: &recipe.Auth{
			Required: true, EnvVars: []string{"TOKEN"}, CredentialsURL: "https://" + host + "/tokens", Instructions: "Instructions " + version, Scopes: []string{"scope " + version},
		},
		Metadata: recipe.Metadata{Author: "Author " + version, ToolExamples: []recipe.ToolExample{{Name: "tool_" + version}}},
	}}
}

// longHost looks like another host where its end is not shown.
var longHost = "github.com." + strings.Repeat("a", 60) + ".evil.example"

// catalogEntry is what the catalog has of the recipe wiki, of python, which cannot run here, of
// moved, whose newest version cannot run here, and of long, whose secrets are from longHost.
func catalogEntry(name string) *catalog.Entry {
	switch name {
	case "wiki":
	case "moved":
		versions := []catalog.Version{wikiVersion("2.0.0", "new.example.com"), wikiVersion("1.0.0", "old.example.com")}
		return &catalog.Entry{Name: name, Recipe: versions[0].Recipe, Versions: versions, Here: &catalog.Here{Reason: "NotHostable", Why: "it needs another runtime"}}
	case "long":
		return &catalog.Entry{Name: name, Recipe: wikiVersion("1.0.0", longHost).Recipe}
	case "python":
		return &catalog.Entry{Name: name, Here: &catalog.Here{Reason: "NotHostable", Why: "bridge.runtimes.python in the values of the chart"}}
	default:
		return nil
	}
	r := recipe.Recipe{ID: "wiki", Description: "Finds pages of the handbook.",
		Transports: []recipe.Transport{{Type: recipe.StreamableHTTP, URL: "https://wiki.example.com/mcp", Auth: &recipe.TransportAuth{Type: "bearer", Token: "${WIKI_TOKEN}"}}},
		Auth: &recipe.Auth{Required: true, EnvVars: []string{"WIKI_TOKEN"}, CredentialsURL: "https://wiki.example.com/tokens",
			Instructions: "Make a token that may read pages", Scopes: []string{"pages:read"}},
		Metadata: recipe.Metadata{Author: "Example", ToolExamples: []recipe.ToolExample{{Name: "find_page"}}},
	}
	return &catalog.Entry{Name: "wiki", Recipe: r, Versions: []catalog.Version{{Digest: "sha256:1", Recipe: r}}}
}

// bridgeOf returns the HostedBridge of a backend as the watch would.
func (w *world) bridgeOf(_ context.Context, of route.Backend) (*effective.Bridge, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.bridges {
		if b.UID == of.BridgeUID {
			return effective.Of(b.DeepCopy()), nil
		}
	}
	return nil, errNoneOf
}

// fakeChoices writes choices into the world's HostedBridges, if the API server answers.
type fakeChoices world

// Set implements management.UserChoices.
func (f *fakeChoices) Set(ctx context.Context, of route.Backend, server string, c *selfservice.Choice, decide func(*effective.Bridge) error) (*effective.Bridge, error) {
	w := (*world)(f)
	if w.away.Load() {
		return nil, errAway
	}
	b, err := w.bridgeOf(ctx, of)
	if err != nil {
		return nil, keys.ErrNoBridge
	}
	if err := decide(b); err != nil {
		return nil, err
	}
	if server == "fixed" {
		return nil, &keys.ManagedError{By: []string{"gitops"}}
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
	return w.bridgeOf(ctx, of)
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

// UserChoices are the choices in users' HostedBridges. Set asks decide first, makes c the
// choice about a server, or removes it if c is nil, and returns the HostedBridge then.
// Errors other than those of decide and of package keys are of the API server.
type UserChoices interface {
	Set(ctx context.Context, of route.Backend, server string, c *selfservice.Choice, decide func(*effective.Bridge) error) (*effective.Bridge, error)
}

// Left says what is left of a bridge's quota.
type Left interface {
	Known(ctx context.Context, bridge types.UID, tier quota.Tier) quota.Verdict
}

// SelfOptions are what users' own routes stand on. ConnectPage, Recipe
// and Program may be nil.
type SelfOptions struct {
	// Bridge returns the HostedBridge of a user as it is known, also while the API server
	// is away.
	Bridge  func(context.Context, route.Backend) (*effective.Bridge, error)
	Reports Reports
	Last    LastReport
	// ListTools asks a bridge that runs for a page of its tools.
	ListTools  func(context.Context, route.Backend, health.ToolPage) (health.ToolList, error)
	Keys       *keys.Keys
	Choices    UserChoices
	Secrets    UserSecrets
	Quotas     Left
	Tiers      func() quota.Tiers
	AuditIndex AuditIndex
	// ConnectPage returns the page on which the account of a server is connected, nil for
	// an installation without one.
	ConnectPage func(user v1alpha1.UserID, server string) string
	// Recipe is that of selfservice.View.
	Recipe selfservice.Recipes
	// Program is that of selfservice.View.
	Program func(of recipe.Recipe, fetched *v1alpha1.Install) *catalog.Program
}

// Self is what users see and do of their own bridge. It implements the interfaces of
// package selfservice.
type Self struct {
	secretsAPI
	health   healthAPI
	o        SelfOptions
	counting *turns // of questions to the audit index
	listing  *turns // of questions for tools
}

// The interfaces by which others call it.
var _ interface {
	selfservice.ServerActions
	selfservice.SecretActions
	selfservice.History
} = (*Self)(nil)

// userQuestions is how many users ask the audit index at a time. Each reads the entries of
// one user, by an index.
const userQuestions = 4

// toolQuestions is how many users' bridges are asked for their tools at a time. A list has up
// to health.MaxToolsBytes, and a broken bridge can fill that with one tool.
const toolQuestions = 4

// NewSelf returns what users see and do of their own bridge.
func NewSelf(o SelfOptions) *Self {
	return &Self{secretsAPI{o.Secrets}, healthAPI{o.Reports, o.Last}, o, newTurns(userQuestions), newTurns(toolQuestions)}
}

// viewOf returns what is known of a bridge. It wakes nobody.
func (s *Self) viewOf(ctx context.Context, of route.Backend) (selfservice.View, error) {
	b, err := s.o.Bridge(ctx, of)
	if err != nil {
		return selfservice.View{}, fmt.Errorf("%w: %w", httpapi.BridgeUnknown, err)
	}
	return s.view(ctx, of, b), nil
}

// view is viewOf for a HostedBridge that is known, with the spec in effect.
func (s *Self) view(ctx context.Context, of route.Backend, b *effective.Bridge) selfservice.View {
	v := selfservice.View{Bridge: b, Report: s.health.healthOf(ctx, of), Recipe: s.o.Recipe, Program: s.o.Program, Now: time.Now()}
	if tier, ok := s.o.Tiers()[b.Spec.Tier]; ok && tier.Servers != nil {
		v.ServerLimit = new(*tier.Servers)
	}
	if s.o.ConnectPage != nil {
		v.ConnectPage = func(server string) string { return s.o.ConnectPage(of.User, server) }
	}
	return v
}

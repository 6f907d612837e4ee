// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package news

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// Bridges are what is known of users' bridges.
type Bridges interface {
	Servers(ctx context.Context, of route.Backend) (selfservice.Servers, error)
	// ToolNames returns an error if they are not known now.
	ToolNames(ctx context.Context, of route.Backend) (selfservice.ToolNames, error)
}

// Asked are what users have asked for.
type Asked interface {
	List(ctx context.Context, of route.Backend) (requests.List, error)
}

// Store keeps visits: Cluster, which says what its errors are.
type Store interface {
	Read(ctx context.Context, of route.Backend) (Kept, error)
	Write(ctx context.Context, of route.Backend, before Kept, visits v1alpha1.Visits) error
}

// News is what has changed for users.
type News struct {
	Bridges  Bridges
	Requests Asked
	Store    Store
	Now      func() time.Time
	Log      *slog.Logger
}

const (
	// patience bounds what a page waits for: without its news it is complete all the same.
	patience = time.Second
	// toolPatience is the part of it for a bridge, which answers from memory.
	toolPatience = patience / 2
	// tries is how often a visit is written that others' writes of the status conflict with.
	tries = 4
)

// List returns what has changed since the last visit, and notes none.
func (n *News) List(ctx context.Context, of route.Backend) (List, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := n.look(ctx, of)
	return found.List, err
}

// Visit is List for the user themselves, whose visit it notes. A visit that cannot be noted, or
// that did not see everything, is told the same again.
func (n *News) Visit(ctx context.Context, of route.Backend) (List, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for try := 1; ; try++ {
		found, err := n.look(ctx, of)
		if err != nil || found.next == nil || found.Partial {
			return found.List, err
		}
		err = n.Store.Write(ctx, of, found.kept, *found.next)
		if err == nil {
			return found.List, nil
		}
		if !errors.Is(err, ErrChanged) || try == tries {
			n.Log.WarnContext(ctx, "a user's visit was not noted", "namespace", of.Namespace, "name", of.Name, "error", err)
			return found.List, nil
		}
	}
}

// look is what there is to see.
type look struct {
	List

	kept Kept
	// next are the visits after this one, nil while a visit lasts.
	next *v1alpha1.Visits
}

func (n *News) look(ctx context.Context, of route.Backend) (look, error) {
	servers, err := n.Bridges.Servers(ctx, of)
	if err != nil {
		return look{}, err
	}
	kept, err := n.Store.Read(ctx, of)
	if err != nil {
		return look{}, problemOf(err)
	}
	s := state{servers: servers.Servers, keys: kept.Keys}
	asked, asking := n.Requests.List(ctx, of)
	s.requests = asked.Requests
	s.tools = n.toolNames(ctx, of)
	now := n.Now()
	base, begins := baseOf(kept.Visits, now)
	found := look{List: newsOf(base, s, now), kept: kept}
	if found.Partial = asking != nil; begins {
		found.next = new(visitOf(kept.Visits, s, now))
	}
	return found, nil
}

// toolNames returns the names of tools, nil if they are not known: then they are as they were.
func (n *News) toolNames(ctx context.Context, of route.Backend) selfservice.ToolNames {
	ctx, cancel := context.WithTimeout(ctx, toolPatience)
	defer cancel()
	names, err := n.Bridges.ToolNames(ctx, of)
	if err != nil {
		return nil
	}
	return names
}

// problemOf returns err of the store as the caller may know it.
func problemOf(err error) error {
	p := httpapi.ClusterAway
	if errors.Is(err, keys.ErrNoBridge) {
		p = httpapi.NotFound
	}
	return fmt.Errorf("%w: %w", p, err)
}

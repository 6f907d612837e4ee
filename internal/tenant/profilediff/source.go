// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profilediff

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Source is an installation, as the API server has it.
type Source struct {
	Client client.Reader
	// Namespace is the installation's, and Watched are those of its bridges.
	Namespace string
	Watched   namespaces.Set
}

// compare calls each with every bridge, with what the given profiles would change of it, and with
// the names of the profiles that would select it. It keeps no bridge: a page of them is in memory
// at once.
func (s Source) compare(ctx context.Context, tiers quota.Tiers, given []v1alpha1.BridgeProfile, each func(*v1alpha1.HostedBridge, []profile.Change, []string) error) error {
	var profiles v1alpha1.BridgeProfileList
	var persons v1alpha1.BridgePersonList
	var requests v1alpha1.BridgeRequestList
	var shared v1alpha1.SharedServerList
	for _, l := range []client.ObjectList{&profiles, &persons, &requests, &shared} {
		if err := s.Client.List(ctx, l, client.InNamespace(s.Namespace)); err != nil {
			return fmt.Errorf("list the objects that decide what bridges have: %w", err)
		}
	}
	newest, err := profile.Newest(profiles.Items, given)
	if err != nil {
		return err
	}
	in := profile.Inputs{Profiles: newest, Tiers: tiers, People: access.NewPeople(persons.Items), Shared: shared.Items, Requests: requests.Items, Now: time.Now()}
	return s.bridges(ctx, func(b *v1alpha1.HostedBridge) error {
		after, selected := in.After(b)
		return each(b, profile.Changes(effective.Of(b), after), selected)
	})
}

// pageSize is how many bridges are listed at once: of 10 KB each, some megabytes.
const pageSize = 500

// bridges calls each with every bridge that is not being deleted.
func (s Source) bridges(ctx context.Context, each func(*v1alpha1.HostedBridge) error) error {
	empty := func() *v1alpha1.HostedBridgeList { return &v1alpha1.HostedBridgeList{} }
	var failed error // Of each, which is not about a list.
	visit := func(page *v1alpha1.HostedBridgeList) error {
		for i := range page.Items {
			if page.Items[i].DeletionTimestamp != nil {
				continue
			}
			if failed = each(&page.Items[i]); failed != nil {
				return failed
			}
		}
		return nil
	}
	for _, namespace := range s.Watched.Queries() {
		err := namespaces.EachPage(ctx, s.Client, empty, visit, client.InNamespace(namespace), client.Limit(pageSize))
		if failed != nil {
			return failed
		}
		if err != nil {
			return fmt.Errorf("list HostedBridges: %w", err)
		}
	}
	return nil
}

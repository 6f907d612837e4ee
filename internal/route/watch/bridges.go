// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// ErrUnknown says that the API server has not sent all objects yet.
var ErrUnknown = errors.New("the bridges are not known yet")

// Bridges returns all bridges as the API server last showed them, with what the
// watcher keeps of one. The caller must not change them. Before the API server
// has told of all the error is ErrUnknown, also where the table was restored.
func (w *Watcher) Bridges(ctx context.Context) ([]*effective.Bridge, error) {
	if !w.isFollowed() {
		return nil, ErrUnknown
	}
	var list v1alpha1.HostedBridgeList
	if err := w.cache.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list the bridges: %w", err)
	}
	bridges := make([]*effective.Bridge, len(list.Items))
	for i := range list.Items {
		bridges[i] = effective.Of(&list.Items[i])
	}
	return bridges, nil
}

// KnownBridge returns the bridge of a backend as Bridge does, and waits for nothing: before the
// API server has told of all bridges, the error is ErrUnknown.
func (w *Watcher) KnownBridge(ctx context.Context, b route.Backend) (*effective.Bridge, error) {
	if !w.isFollowed() {
		return nil, ErrUnknown
	}
	return w.Bridge(ctx, b)
}

// Persons returns all BridgePersons of the installation, as Bridges returns bridges.
func (w *Watcher) Persons(ctx context.Context) ([]v1alpha1.BridgePerson, error) {
	if !w.isFollowed() {
		return nil, ErrUnknown
	}
	var list v1alpha1.BridgePersonList
	if err := w.cache.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list the people: %w", err)
	}
	return list.Items, nil
}

func (w *Watcher) isFollowed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.followed
}

// FollowPersons calls told with each existing BridgePerson, and with each one that is created
// or changed from now on. told must not change it, nor wait.
func (w *Watcher) FollowPersons(ctx context.Context, told func(*v1alpha1.BridgePerson)) error {
	informer, err := w.cache.GetInformer(ctx, &v1alpha1.BridgePerson{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch BridgePersons: %w", err)
	}
	tell := func(object any) {
		if p, ok := object.(*v1alpha1.BridgePerson); ok {
			told(p)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, object any) { tell(object) }})
	if err != nil {
		return fmt.Errorf("watch BridgePersons: %w", err)
	}
	return nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// settle is how long changes are gathered before the next snapshot is made. One
// of 10,000 recipes takes some milliseconds, whatever changed.
const settle = 50 * time.Millisecond

// retry is how the API server is asked again that is away: after at most 5 s,
// so that a key that was withdrawn meanwhile does not work for long.
var retry = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 6, Cap: 5 * time.Second}

// Run follows the catalog until ctx ends. Whatever goes wrong with the API
// server is tried again.
func (s *Store) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		follow(ctx, s, &v1alpha1.CatalogRecipe{}, &v1alpha1.CatalogRecipeList{}, mirror[*v1alpha1.CatalogRecipe]{
			set: s.setRecipe, forget: s.forgetRecipe, replace: func(all []*v1alpha1.CatalogRecipe) { s.replaceRecipes(ctx, all) },
		})
	})
	running.Go(func() {
		follow(ctx, s, &v1alpha1.CatalogPublisher{}, &v1alpha1.CatalogPublisherList{}, mirror[*v1alpha1.CatalogPublisher]{
			set: s.setPublisher, forget: s.forgetPublisher, replace: s.replacePublishers,
		})
	})
	running.Go(func() { s.writeUses(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.dirty:
		}
		s.refresh()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(settle):
		}
	}
}

// follow has the mirror told of all objects of a kind. There is no cache of the
// objects, which would hold what the snapshot holds in another form.
func follow[T client.Object](ctx context.Context, s *Store, kind T, list client.ObjectList, m mirror[T]) {
	within := client.InNamespace(s.namespace)
	watcher := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			all, _ := list.DeepCopyObject().(client.ObjectList)
			return all, s.client.List(ctx, all, within, &client.ListOptions{Raw: &o})
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return s.client.Watch(ctx, list, within, &client.ListOptions{Raw: &o})
		},
	}
	again := retry
	toolscache.NewReflectorWithOptions(watcher, kind, m, toolscache.ReflectorOptions{Name: "catalog", Backoff: &again}).RunWithContext(ctx)
}

// mirror is told of objects by a reflector.
type mirror[T client.Object] struct {
	set     func(T)
	forget  func(name string)
	replace func([]T)
}

// Add implements cache.ReflectorStore.
func (m mirror[T]) Add(object any) error {
	if o, ok := object.(T); ok {
		m.set(o)
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (m mirror[T]) Update(object any) error { return m.Add(object) }

// Delete implements cache.ReflectorStore.
func (m mirror[T]) Delete(object any) error {
	if o, ok := object.(T); ok {
		m.forget(o.GetName())
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (m mirror[T]) Replace(objects []any, _ string) error {
	all := make([]T, 0, len(objects))
	for _, object := range objects {
		o, ok := object.(T)
		if !ok {
			return fmt.Errorf("%T is no %T", object, *new(T))
		}
		all = append(all, o)
	}
	m.replace(all)
	return nil
}

// Resync implements cache.ReflectorStore.
func (m mirror[T]) Resync() error { return nil }

// entryOf reads a recipe, nil for one that cannot be read: it is not served.
func (s *Store) entryOf(o *v1alpha1.CatalogRecipe) *catalog.Entry {
	e, err := catalog.EntryOf(o)
	if err != nil {
		s.log.Warn("a recipe is left out", "recipe", o.Name, "error", err)
		return nil
	}
	return &e
}

func (s *Store) setRecipe(o *v1alpha1.CatalogRecipe) {
	e := s.entryOf(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[o.Name] = e
	s.mark()
}

func (s *Store) forgetRecipe(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[name] = nil
	s.mark()
}

// replaceRecipes takes a whole list, which is the truth also where it is empty.
func (s *Store) replaceRecipes(ctx context.Context, all []*v1alpha1.CatalogRecipe) {
	entries := make(map[string]*catalog.Entry, len(all))
	for _, o := range all {
		entries[o.Name] = s.entryOf(o)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.current.Load().Entries() {
		if _, there := entries[e.Name]; !there {
			entries[e.Name] = nil
		}
	}
	s.pending, s.listed = entries, true
	s.log.InfoContext(ctx, "the catalog is known", "recipes", len(all))
	s.mark()
}

// mark says that the snapshot is out of date.
func (s *Store) mark() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// refresh makes the next snapshot of what changed.
func (s *Store) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var changed []catalog.Entry
	var removed []string
	for name, e := range s.pending {
		if e == nil {
			removed = append(removed, name)
		} else {
			changed = append(changed, *e)
		}
	}
	clear(s.pending)
	s.synced = s.listed
	s.publish(s.current.Load().With(changed, removed))
}

func (s *Store) setPublisher(o *v1alpha1.CatalogPublisher) {
	s.changePublishers(func(p *publishers) *publishers { return p.with(o.Name, publisherOf(o)) })
}

func (s *Store) forgetPublisher(name string) {
	s.changePublishers(func(p *publishers) *publishers { return p.with(name, nil) })
}

func (s *Store) replacePublishers(all []*v1alpha1.CatalogPublisher) {
	next := newPublishers()
	next.listed = true
	for _, o := range all {
		next.byID[o.Name] = publisherOf(o)
	}
	next.index()
	s.changePublishers(func(*publishers) *publishers { return next })
}

// changePublishers makes a change known at once: a key that was withdrawn must
// not work.
func (s *Store) changePublishers(change func(*publishers) *publishers) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publishers.Store(change(s.publishers.Load()))
	s.announce()
}

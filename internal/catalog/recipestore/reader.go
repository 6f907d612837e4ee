// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipestore

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

// settleTime is how long changes are collected before the next snapshot is
// made. A snapshot of 10,000 recipes takes some milliseconds, whatever changed.
const settleTime = 50 * time.Millisecond

// retry is the wait between requests while the API server is down: at most 5 s,
// so that a withdrawn key does not stay valid for long.
var retry = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 6, Cap: 5 * time.Second}

// run follows the catalog until ctx ends.
func (r *Reader) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		watchKind(ctx, r, &v1alpha1.CatalogRecipe{}, &v1alpha1.CatalogRecipeList{}, reflectorStore[*v1alpha1.CatalogRecipe]{
			set: r.setRecipe, forget: r.forgetRecipe, replace: func(all []*v1alpha1.CatalogRecipe) { r.replaceRecipes(ctx, all) },
		})
	})
	running.Go(func() {
		watchKind(ctx, r, &v1alpha1.CatalogPublisher{}, &v1alpha1.CatalogPublisherList{}, reflectorStore[*v1alpha1.CatalogPublisher]{
			set: r.setPublisher, forget: r.forgetPublisher, replace: r.replacePublishers,
		})
	})
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.dirty:
		}
		r.refresh()
		select {
		case <-ctx.Done():
			return
		case <-time.After(settleTime):
		}
	}
}

// watchKind reports all objects of a kind to the mirror. There is no cache of
// the objects, which would hold the snapshot's content in another form.
func watchKind[T client.Object](ctx context.Context, r *Reader, kind T, list client.ObjectList, m reflectorStore[T]) {
	within := client.InNamespace(r.namespace)
	watcher := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			all, _ := list.DeepCopyObject().(client.ObjectList)
			return all, r.client.List(ctx, all, within, &client.ListOptions{Raw: &o})
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return r.client.Watch(ctx, list, within, &client.ListOptions{Raw: &o})
		},
	}
	again := retry
	toolscache.NewReflectorWithOptions(watcher, kind, m, toolscache.ReflectorOptions{Name: "catalog", Backoff: &again}).RunWithContext(ctx)
}

// reflectorStore receives objects from a reflector.
type reflectorStore[T client.Object] struct {
	set     func(T)
	forget  func(name string)
	replace func([]T)
}

// Add implements cache.ReflectorStore.
func (m reflectorStore[T]) Add(object any) error {
	if o, ok := object.(T); ok {
		m.set(o)
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (m reflectorStore[T]) Update(object any) error { return m.Add(object) }

// Delete implements cache.ReflectorStore.
func (m reflectorStore[T]) Delete(object any) error {
	if o, ok := object.(T); ok {
		m.forget(o.GetName())
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (m reflectorStore[T]) Replace(objects []any, _ string) error {
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
func (m reflectorStore[T]) Resync() error { return nil }

// entryOf reads a recipe, nil for one that cannot be read: it is not served.
func (r *Reader) entryOf(o *v1alpha1.CatalogRecipe) *catalog.Entry {
	e, err := catalog.EntryOf(o)
	if err != nil {
		r.log.Warn("a recipe is left out", "recipe", o.Name, "error", err)
		return nil
	}
	return &e
}

func (r *Reader) setRecipe(o *v1alpha1.CatalogRecipe) {
	e := r.entryOf(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[o.Name] = e
	r.markDirty()
}

func (r *Reader) forgetRecipe(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[name] = nil
	r.markDirty()
}

// replaceRecipes takes over a whole list, which is valid even if it is empty.
func (r *Reader) replaceRecipes(ctx context.Context, all []*v1alpha1.CatalogRecipe) {
	entries := make(map[string]*catalog.Entry, len(all))
	for _, o := range all {
		entries[o.Name] = r.entryOf(o)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.current.Load().Entries() {
		if _, there := entries[e.Name]; !there {
			entries[e.Name] = nil
		}
	}
	r.pending, r.listed = entries, true
	r.log.InfoContext(ctx, "the catalog is known", "recipes", len(all))
	r.markDirty()
}

// markDirty notes that the snapshot is out of date.
func (r *Reader) markDirty() {
	select {
	case r.dirty <- struct{}{}:
	default:
	}
}

// refresh makes the next snapshot from the changes.
func (r *Reader) refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var changed []catalog.Entry
	var removed []string
	for name, e := range r.pending {
		if e == nil {
			removed = append(removed, name)
		} else {
			changed = append(changed, *e)
		}
	}
	clear(r.pending)
	r.synced = r.listed
	r.publish(r.current.Load().With(changed, removed))
}

func (r *Reader) setPublisher(o *v1alpha1.CatalogPublisher) {
	r.changePublishers(func(p *publishers) *publishers { return p.with(o.Name, publisherOf(o)) })
}

func (r *Reader) forgetPublisher(name string) {
	r.changePublishers(func(p *publishers) *publishers { return p.with(name, nil) })
}

func (r *Reader) replacePublishers(all []*v1alpha1.CatalogPublisher) {
	next := newPublishers()
	next.listed = true
	for _, o := range all {
		next.byID[o.Name] = publisherOf(o)
	}
	next.index()
	r.changePublishers(func(*publishers) *publishers { return next })
}

// changePublishers publishes a change at once: a withdrawn key must be refused.
func (r *Reader) changePublishers(change func(*publishers) *publishers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.publishers.Store(change(r.publishers.Load()))
	r.notifyChanged()
}

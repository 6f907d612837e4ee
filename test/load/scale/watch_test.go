// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// life is what was seen of one tenant, at the times at which watches told.
type life struct {
	// applied is when its creation was due: a client that is late adds to what is
	// measured, and does not hide it.
	applied      time.Time
	made         int
	children     time.Time
	ready        time.Time
	asleep, gone time.Time
}

// watcher follows the tenants of a contender.
type watcher struct {
	contender contender
	mu        sync.Mutex
	lives     map[string]*life
	ends      context.CancelFunc
	group     sync.WaitGroup
}

// watch follows a contender's tenants and what is made of them until end.
func (p *plane) watch(t *testing.T, c contender) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watcher{contender: c, lives: map[string]*life{}, ends: cancel}
	t.Cleanup(w.end)
	m := must.Value(metadata.NewForConfig(p.config))(t)
	for _, kind := range c.made {
		source := &cache.ListWatch{
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return m.Resource(kind).Watch(ctx, o)
			},
		}
		list := must.Value(m.Resource(kind).List(t.Context(), metav1.ListOptions{Limit: 1}))(t)
		w.follow(ctx, t, source, list.ResourceVersion, w.child)
	}
	source := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return p.dynamic.Resource(c.tenant).Watch(ctx, o)
	}}
	list := must.Value(p.dynamic.Resource(c.tenant).List(t.Context(), metav1.ListOptions{Limit: 1}))(t)
	w.follow(ctx, t, source, list.GetResourceVersion(), w.tenant)
	return w
}

func (w *watcher) follow(ctx context.Context, t *testing.T, source cache.WatcherWithContext, from string, see func(watch.Event, time.Time)) {
	t.Helper()
	events := must.Value(toolswatch.NewRetryWatcherWithContext(ctx, from, source))(t)
	w.group.Go(func() {
		for e := range events.ResultChan() {
			see(e, time.Now())
		}
	})
}

func (w *watcher) end() {
	w.ends()
	w.group.Wait()
}

// child counts the kinds that a tenant has.
func (w *watcher) child(e watch.Event, now time.Time) {
	o, ok := e.Object.(metav1.Object)
	if !ok || e.Type != watch.Added {
		return
	}
	owner := metav1.GetControllerOf(o)
	if owner == nil || owner.Kind != w.contender.owner {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lives[o.GetNamespace()+"/"+owner.Name]
	if l == nil {
		return
	}
	if l.made++; l.made == w.contender.objects {
		l.children = now
	}
}

func (w *watcher) tenant(e watch.Event, now time.Time) {
	o, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lives[o.GetNamespace()+"/"+o.GetName()]
	if l == nil {
		return
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	switch {
	case e.Type == watch.Deleted:
		l.gone = now
	case l.ready.IsZero() && w.contender.ready(o):
		l.ready = now
	case phase == "Asleep" && l.asleep.IsZero():
		l.asleep = now
	}
}

// applying notes when a tenant is due.
func (w *watcher) applying(i int, due time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives[namespaceOf(i)+"/"+nameOf(i)] = &life{applied: due}
}

// of returns a copy of what was seen of a tenant.
func (w *watcher) of(i int) life {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *w.lives[namespaceOf(i)+"/"+nameOf(i)]
}

// await waits until all tenants from one to another are something, and returns
// how many are not, at the limit.
func (w *watcher) await(t *testing.T, from, to int, limit time.Duration, is func(int, life) bool) (late int) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	next := from // Those before are.
	for {
		for next < to && is(next, w.of(next)) {
			next++
		}
		if next == to {
			return 0
		}
		select {
		case <-tick.C:
		case <-deadline:
			for i := next; i < to; i++ {
				if !is(i, w.of(i)) {
					late++
				}
			}
			return late
		}
	}
}

// Latency is how long something took.
type Latency struct {
	P50 float64 `json:"p50Seconds"`
	P99 float64 `json:"p99Seconds"`
}

// latency returns how long after its application tenants were something. Those
// that never were do not count here; they are counted as late.
func (w *watcher) latency(from, to int, when func(life) time.Time) Latency {
	var took []time.Duration
	for i := from; i < to; i++ {
		if l := w.of(i); !when(l).IsZero() {
			took = append(took, when(l).Sub(l.applied))
		}
	}
	return latencyOf(took)
}

// latencyOf returns the latency of what took so long, zero if there is nothing. It sorts
// took.
func latencyOf(took []time.Duration) Latency {
	if len(took) == 0 {
		return Latency{}
	}
	slices.Sort(took)
	return Latency{P50: took[len(took)/2].Seconds(), P99: took[len(took)*99/100].Seconds()}
}

// remaining returns how many objects of a kind are in the tenants' namespaces.
func (p *plane) remaining(t *testing.T, kind schema.GroupVersionResource, tenants int) (n int) {
	t.Helper()
	m := must.Value(metadata.NewForConfig(p.config))(t)
	for i := 0; i < tenants; i += perNamespace {
		list := must.Value(m.Resource(kind).Namespace(namespaceOf(i)).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}))(t)
		for _, o := range list.Items {
			if o.Name != "default" && o.Name != "kube-root-ca.crt" && !sourceSecret(o.Name) {
				n++
			}
		}
	}
	return n
}

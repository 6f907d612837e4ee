// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/hostedbridge/hostedbridge/internal/namespaces"
)

// watchedKinds is how many kinds of objects are watched in each namespace: bridges and
// pods. BridgePersons are watched in that of the installation alone.
const watchedKinds = 2

// connectivity knows whether the API server tells of changes. It does while
// every informer, one for each kind and namespace, has a watch open that has
// delivered its initial list. A peer that vanishes without a word is noticed after some
// 45 s, when client-go's pings of HTTP/2 go unanswered.
type connectivity struct {
	mu    sync.Mutex
	all   int             // informers when everything is watched
	named int             // informers that have a name
	open  map[string]int  // watches by informer
	left  map[string]bool // informers of a namespace that is left out
	last  time.Time       // the end of the last contact
	err   error           // why the API server was not reached, the last time
}

func newConnectivity(last time.Time, all int) *connectivity {
	return &connectivity{all: all, open: map[string]int{}, left: map[string]bool{}, last: last}
}

func (c *connectivity) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// failure returns why the API server was not reached, the last time.
func (c *connectivity) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// confirmed returns when there last was contact: now, if there is.
func (c *connectivity) confirmed(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.whole() {
		return now
	}
	return c.last
}

func (c *connectivity) opened(informer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[informer]++
	delete(c.left, informer)
}

// leave says that an informer has nothing to tell, until a watch of it opens.
func (c *connectivity) leave(informer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left[informer] = true
}

func (c *connectivity) whole() bool { return len(c.open) > 0 && len(c.open)+len(c.left) == c.all }

func (c *connectivity) closed(informer string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	had := c.whole()
	if c.open[informer]--; c.open[informer] <= 0 {
		delete(c.open, informer)
	}
	if had && !c.whole() {
		c.last = now
	}
}

// observe returns lw with watches that tell when they begin and end, and that
// wait for an API server that is away.
func (c *connectivity) observe(informer string, lw *toolscache.ListWatch) *toolscache.ListWatch {
	observed := *lw
	observed.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return retryUntilAnswered(ctx, c, func() (runtime.Object, error) { return lw.ListWithContextFunc(ctx, o) })
	}
	observed.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
		w, err := retryUntilAnswered(ctx, c, func() (apiwatch.Interface, error) { return lw.WatchFuncWithContext(ctx, o) })
		if err != nil {
			return nil, err
		}
		if o.SendInitialEvents != nil && *o.SendInitialEvents {
			return newListingWatch(w, func() { c.opened(informer) }, func() { c.closed(informer, time.Now()) }), nil
		}
		c.opened(informer)
		return &openWatch{Interface: w, ended: func() { c.closed(informer, time.Now()) }}, nil
	}
	return &observed
}

// openWatch tells of its end. Who reads a watch stops it, also one that the
// server has ended.
type openWatch struct {
	apiwatch.Interface
	once  sync.Once
	ended func()
}

func (w *openWatch) Stop() {
	w.once.Do(w.ended)
	w.Interface.Stop()
}

// What the log says of contact, and how long it is missing before that is said:
// the API server ends every watch after some minutes, and the next one begins at
// once.
const (
	messageLost     = "the API server does not tell of changes; routes and keys stay as they are"
	messageRestored = "the API server tells of changes again"
	lostAfter       = 5 * time.Second
)

// logConnectivity logs the loss of contact and its end until ctx ends.
func (w *Watcher) logConnectivity(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for away := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		confirmed := w.Confirmed()
		age := time.Since(confirmed)
		switch {
		case age >= lostAfter && !away:
			away = true
			w.log.WarnContext(ctx, messageLost, "since", confirmed, "error", w.connectivity.failure())
		case age < time.Second && away:
			away = false
			w.log.InfoContext(ctx, messageRestored)
		}
	}
}

// newInformer returns toolscache.NewSharedIndexInformer with watches that c
// observes, for namespaces that may be left out.
func (c *connectivity) newInformer(namespaces *namespaces.Refusals) func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return func(lw toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		if plain, ok := lw.(*toolscache.ListWatch); ok {
			name := c.name(kind)
			lw = c.observe(name, namespaces.OmitRefused(plain, fmt.Sprintf("%T", kind), func() { c.leave(name) }))
		}
		return toolscache.NewSharedIndexInformer(lw, kind, resync, indexers)
	}
}

// name tells one more informer from the others: by its kind, and by a number
// since nothing says for which namespace it is.
func (c *connectivity) name(kind runtime.Object) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.named++
	return fmt.Sprintf("%T %d", kind, c.named)
}

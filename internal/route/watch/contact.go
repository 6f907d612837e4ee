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

	"github.com/hostedbridge/hostedbridge/internal/leftout"
)

// kinds is how many kinds of objects are watched: bridges and pods.
const kinds = 2

// contact knows whether the API server tells of changes: while every informer,
// that is one of each kind in each namespace, has a watch open that has told of
// what there was before. A peer that vanishes without a word is noticed after some
// 45 s, when client-go's pings of HTTP/2 go unanswered.
type contact struct {
	mu    sync.Mutex
	all   int             // informers when everything is watched
	named int             // informers that have a name
	open  map[string]int  // watches by informer
	left  map[string]bool // informers of a namespace that is left out
	last  time.Time       // the end of the last contact
	err   error           // why the API server was not reached, the last time
}

func newContact(last time.Time, all int) *contact {
	return &contact{all: all, open: map[string]int{}, left: map[string]bool{}, last: last}
}

func (c *contact) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// failure returns why the API server was not reached, the last time.
func (c *contact) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// confirmed returns when there last was contact: now, if there is.
func (c *contact) confirmed(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.whole() {
		return now
	}
	return c.last
}

func (c *contact) opened(informer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[informer]++
	delete(c.left, informer)
}

// leave says that an informer has nothing to tell, until a watch of it opens.
func (c *contact) leave(informer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left[informer] = true
}

func (c *contact) whole() bool { return len(c.open) > 0 && len(c.open)+len(c.left) == c.all }

func (c *contact) closed(informer string, now time.Time) {
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
func (c *contact) observe(informer string, lw *toolscache.ListWatch) *toolscache.ListWatch {
	observed := *lw
	observed.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return untilReached(ctx, c, func() (runtime.Object, error) { return lw.ListWithContextFunc(ctx, o) })
	}
	observed.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
		w, err := untilReached(ctx, c, func() (apiwatch.Interface, error) { return lw.WatchFuncWithContext(ctx, o) })
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
	saidAway = "the API server does not tell of changes; routes and keys stay as they are"
	saidBack = "the API server tells of changes again"
	awayFor  = 5 * time.Second
)

// tell logs the loss of contact and its end until ctx ends.
func (w *Watcher) tell(ctx context.Context) {
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
		case age >= awayFor && !away:
			away = true
			w.log.WarnContext(ctx, saidAway, "since", confirmed, "error", w.contact.failure())
		case age < time.Second && away:
			away = false
			w.log.InfoContext(ctx, saidBack)
		}
	}
}

// newInformer returns toolscache.NewSharedIndexInformer with watches that c
// observes, for namespaces that may be left out.
func (c *contact) newInformer(namespaces *leftout.Namespaces) func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return func(lw toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		if plain, ok := lw.(*toolscache.ListWatch); ok {
			name := c.name(kind)
			lw = c.observe(name, namespaces.Observe(plain, fmt.Sprintf("%T", kind), func() { c.leave(name) }))
		}
		return toolscache.NewSharedIndexInformer(lw, kind, resync, indexers)
	}
}

// name tells one more informer from the others: by its kind, and by a number
// since nothing says for which namespace it is.
func (c *contact) name(kind runtime.Object) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.named++
	return fmt.Sprintf("%T %d", kind, c.named)
}

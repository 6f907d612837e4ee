// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refusalTimeout is how long a refusal may be temporary: an API server that has
// just started does not know all Roles yet, and another replica may lag behind
// the one that stored them.
const refusalTimeout = 5 * time.Second

// retryInterval is the wait before a refused request is repeated meanwhile. By
// default an informer waits longer each time, up to half a minute.
const retryInterval = 500 * time.Millisecond

// Refusals lets a cache of several namespaces start without a namespace that
// the API server refuses. When a watched namespace is deleted its Roles are
// deleted too, and every request in it is refused for ever; without this, a
// process that starts then would wait for it, and serve no other namespace
// either. Its methods are safe for concurrent use.
type Refusals struct {
	log *slog.Logger
	now func() time.Time
	// pause waits for retry, and returns false if ctx ended.
	pause func(ctx context.Context) bool

	mu sync.Mutex
	// answered are the kinds that were listed in some namespace.
	answered map[string]bool
}

// NewRefusals returns the refusals of one cache.
func NewRefusals(log *slog.Logger) *Refusals {
	return &Refusals{log: log, now: time.Now, pause: pause, answered: map[string]bool{}}
}

func pause(ctx context.Context) bool {
	select {
	case <-time.After(retryInterval):
		return true
	case <-ctx.Done():
		return false
	}
}

// NewCache is cache.New for namespaces that may be left out. With fewer than
// two watched namespaces none may.
func NewCache(watched Set, log *slog.Logger) cache.NewCacheFunc {
	if len(watched) < 2 {
		return cache.New
	}
	return func(config *rest.Config, o cache.Options) (cache.Cache, error) {
		o.NewInformer = NewRefusals(log).newInformer
		c, err := cache.New(config, o)
		return concurrentStart{c}, err
	}
}

// concurrentStart is a cache whose informers of one kind begin in all
// namespaces at once. The standard cache waits for one namespace before it
// begins in the next: if the first is refused, no other namespace would show
// that the kind itself is allowed.
type concurrentStart struct{ cache.Cache }

// GetInformer implements cache.Informers.
func (c concurrentStart) GetInformer(ctx context.Context, kind client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if i, err := c.Cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
		return i, err
	}
	return c.Cache.GetInformer(ctx, kind, options...)
}

// GetInformerForKind implements cache.Informers.
func (c concurrentStart) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, options ...cache.InformerGetOption) (cache.Informer, error) {
	if i, err := c.Cache.GetInformerForKind(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
		return i, err
	}
	return c.Cache.GetInformerForKind(ctx, kind, options...)
}

// newInformer is toolscache.NewSharedIndexInformer for namespaces that may be left
// out.
func (n *Refusals) newInformer(lw toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	if plain, ok := lw.(*toolscache.ListWatch); ok {
		lw = n.OmitRefused(plain, fmt.Sprintf("%T %s", kind, kind.GetObjectKind().GroupVersionKind().Kind), func() {})
	}
	return toolscache.NewSharedIndexInformer(lw, kind, resync, indexers)
}

// OmitRefused returns lw, which lists one kind in one namespace, with an empty
// first list if the API server refuses it for a while and answers the same
// request elsewhere: the informer then counts as synced, and left is called. It
// keeps asking, and gets the objects as soon as the API server answers. After a
// first answer a namespace is never treated as empty: a later mistake in its
// Roles ends nothing that works.
func (n *Refusals) OmitRefused(lw *toolscache.ListWatch, kind string, left func()) *toolscache.ListWatch {
	o := &namespaceList{Refusals: n, lw: lw, kind: kind, left: left}
	next := *lw
	next.ListWithContextFunc, next.WatchFuncWithContext = o.list, o.watch
	return &next
}

// namespaceList is one kind in one namespace.
type namespaceList struct {
	*Refusals

	lw   *toolscache.ListWatch
	kind string
	left func()

	// begun means that it was answered, or left out. refused is since when it
	// is refused.
	begun   bool
	refused time.Time
	// empty means that the next list is the empty one.
	empty bool
}

// errLeftOut makes an informer that began with a watch continue with a list. It
// says that the request is invalid: layers in between may wait for the end of a
// refusal, or for an answer.
var errLeftOut = apierrors.NewBadRequest("the namespace is left out")

func (o *namespaceList) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if o.takeEmpty() {
		return &metav1.List{}, nil
	}
	var list runtime.Object
	err := o.retryWhileTransient(ctx, func() (err error) {
		list, err = o.lw.ListWithContextFunc(ctx, options)
		return err
	})
	if errors.Is(err, errLeftOut) {
		o.takeEmpty()
		return &metav1.List{}, nil
	}
	return list, err
}

func (o *namespaceList) watch(ctx context.Context, options metav1.ListOptions) (w apiwatch.Interface, err error) {
	err = o.retryWhileTransient(ctx, func() error {
		w, err = o.lw.WatchFuncWithContext(ctx, options)
		return err
	})
	return w, err
}

// retryWhileTransient repeats the request until there is an answer, the
// namespace is left out, or the error is not temporary.
func (o *namespaceList) retryWhileTransient(ctx context.Context, question func() error) error {
	for {
		err := question()
		switch {
		case err == nil:
			o.recordAnswer()
			return nil
		case o.leaveOut(ctx, err):
			return errLeftOut
		case !o.isTransient() || !o.pause(ctx):
			return err
		}
	}
}

// isTransient reports whether a refusal may still be temporary.
func (o *namespaceList) isTransient() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.begun && !o.refused.IsZero() && o.now().Sub(o.refused) < refusalTimeout
}

// takeEmpty reports whether to answer with an empty list, once.
func (o *namespaceList) takeEmpty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	empty := o.empty
	o.empty = false
	return empty
}

// leaveOut begins without the namespace, if it is time for that.
func (o *namespaceList) leaveOut(ctx context.Context, err error) bool {
	if !o.mustLeaveOut(err) {
		return false
	}
	o.log.ErrorContext(ctx, "a watched namespace is left out: it is refused while others are not; take it off --watch-namespaces if it is gone", "kind", o.kind, "error", err)
	o.left()
	return true
}

func (o *namespaceList) recordAnswer() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun, o.answered[o.kind] = true, true
}

// mustLeaveOut reports whether to begin without the namespace, after an error.
func (o *namespaceList) mustLeaveOut(err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.begun:
		return false
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		o.refused = time.Time{}
		return false
	case o.refused.IsZero():
		o.refused = o.now()
		return false
	}
	o.begun = o.answered[o.kind] && o.now().Sub(o.refused) >= refusalTimeout
	o.empty = o.begun
	return o.begun
}

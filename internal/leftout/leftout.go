// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leftout lets a cache of several namespaces begin without one that the
// API server refuses. Who deletes a watched namespace deletes the Roles in it, and
// what is asked of it is refused for ever; without this, a process that starts then
// would wait for it, and serve nobody of the other namespaces. It is for
// every process that has such a cache.
package leftout

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

	"github.com/hostedbridge/hostedbridge/internal/scope"
)

// patience is for how long a refusal may be one of a moment: an API server that
// has just started does not know all Roles yet, and neither does one beside that
// which took them.
const patience = 5 * time.Second

// retry is after what time a refusal is asked again meanwhile. Left to itself an
// informer waits ever longer, up to half a minute.
const retry = 500 * time.Millisecond

// Namespaces are those of one cache. Its methods are safe for concurrent use.
type Namespaces struct {
	log *slog.Logger
	now func() time.Time
	// pause waits for retry, and reports false where ctx ended.
	pause func(ctx context.Context) bool

	mu sync.Mutex
	// answered are the kinds that were listed in some namespace.
	answered map[string]bool
}

// New returns those of one cache.
func New(log *slog.Logger) *Namespaces {
	return &Namespaces{log: log, now: time.Now, pause: pause, answered: map[string]bool{}}
}

func pause(ctx context.Context) bool {
	select {
	case <-time.After(retry):
		return true
	case <-ctx.Done():
		return false
	}
}

// NewCache is cache.New for namespaces that may be left out, of which there are
// none where fewer than two are watched.
func NewCache(watched scope.Namespaces, log *slog.Logger) cache.NewCacheFunc {
	if len(watched) < 2 {
		return cache.New
	}
	return func(config *rest.Config, o cache.Options) (cache.Cache, error) {
		o.NewInformer = New(log).newInformer
		c, err := cache.New(config, o)
		return atOnce{c}, err
	}
}

// atOnce is a cache whose informers of one kind begin in all namespaces at once.
// That of several namespaces waits in one until it has all before it begins in the
// next: where the first is one that is refused, there would be no other in which
// the same is answered.
type atOnce struct{ cache.Cache }

// GetInformer implements cache.Informers.
func (c atOnce) GetInformer(ctx context.Context, kind client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if i, err := c.Cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
		return i, err
	}
	return c.Cache.GetInformer(ctx, kind, options...)
}

// GetInformerForKind implements cache.Informers.
func (c atOnce) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, options ...cache.InformerGetOption) (cache.Informer, error) {
	if i, err := c.Cache.GetInformerForKind(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
		return i, err
	}
	return c.Cache.GetInformerForKind(ctx, kind, options...)
}

// newInformer is toolscache.NewSharedIndexInformer for namespaces that may be left
// out.
func (n *Namespaces) newInformer(lw toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	if plain, ok := lw.(*toolscache.ListWatch); ok {
		lw = n.Observe(plain, fmt.Sprintf("%T %s", kind, kind.GetObjectKind().GroupVersionKind().Kind), func() {})
	}
	return toolscache.NewSharedIndexInformer(lw, kind, resync, indexers)
}

// Observe returns lw, which lists one kind in one namespace, with a first list that
// is empty where it is refused for a while, and the same is answered elsewhere: an
// informer has then all that there is for it, and left is called. It goes on asking,
// and has what there is as soon as it is answered. What was answered once is never
// taken for empty: somebody else's mistake ends nothing that works.
func (n *Namespaces) Observe(lw *toolscache.ListWatch, kind string, left func()) *toolscache.ListWatch {
	o := &observed{Namespaces: n, lw: lw, kind: kind, left: left}
	next := *lw
	next.ListWithContextFunc, next.WatchFuncWithContext = o.list, o.watch
	return &next
}

// observed is one kind in one namespace.
type observed struct {
	*Namespaces

	lw   *toolscache.ListWatch
	kind string
	left func()

	// begun says that it was answered, or left out. refused is since when it is not
	// answered.
	begun   bool
	refused time.Time
	// empty says that the next list is the empty one.
	empty bool
}

// errLeftOut makes an informer that began by a watch go on with a list. It says that
// the question is wrong: whoever is between the two may wait for the end of a refusal,
// or for an answer.
var errLeftOut = apierrors.NewBadRequest("the namespace is left out")

func (o *observed) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if o.takeEmpty() {
		return &metav1.List{}, nil
	}
	var list runtime.Object
	err := o.ask(ctx, func() (err error) {
		list, err = o.lw.ListWithContextFunc(ctx, options)
		return err
	})
	if errors.Is(err, errLeftOut) {
		o.takeEmpty()
		return &metav1.List{}, nil
	}
	return list, err
}

func (o *observed) watch(ctx context.Context, options metav1.ListOptions) (w apiwatch.Interface, err error) {
	err = o.ask(ctx, func() error {
		w, err = o.lw.WatchFuncWithContext(ctx, options)
		return err
	})
	return w, err
}

// ask asks until there is an answer, the namespace is left out, or there is an
// error that is none of a moment.
func (o *observed) ask(ctx context.Context, question func() error) error {
	for {
		err := question()
		switch {
		case err == nil:
			o.answer()
			return nil
		case o.leave(ctx, err):
			return errLeftOut
		case !o.momentary() || !o.pause(ctx):
			return err
		}
	}
}

// momentary reports whether a refusal may still be one of a moment.
func (o *observed) momentary() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.begun && !o.refused.IsZero() && o.now().Sub(o.refused) < patience
}

// takeEmpty says whether to answer by an empty list, once.
func (o *observed) takeEmpty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	empty := o.empty
	o.empty = false
	return empty
}

// leave begins without the namespace, if it is time for that.
func (o *observed) leave(ctx context.Context, err error) bool {
	if !o.decide(err) {
		return false
	}
	o.log.ErrorContext(ctx, "a watched namespace is left out: it is refused while others are not; take it off --watch-namespaces if it is gone", "kind", o.kind, "error", err)
	o.left()
	return true
}

func (o *observed) answer() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun, o.answered[o.kind] = true, true
}

// decide says whether to begin without the namespace, after an error.
func (o *observed) decide(err error) bool {
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
	o.begun = o.answered[o.kind] && o.now().Sub(o.refused) >= patience
	o.empty = o.begun
	return o.begun
}

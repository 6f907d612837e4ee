// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch keeps a route.Table up to date with the API server. It is a
// shell: it reads, and package route decides.
//
// During an outage of the API server the last table stays: informers keep their
// objects, and a failed list replaces nothing. A list from the API server is
// valid even if it is empty: otherwise the revocation of the last key would be
// ignored.
//
// The package only reads; package status writes.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// settleTime is how long events are collected before the next table is made.
// The cost of a table depends on what changed, some 20 µs for one bridge; the
// pause keeps a burst of events from waking waiting requests with each of them.
const settleTime = 5 * time.Millisecond

// Watcher publishes route tables.
type Watcher struct {
	cache        cache.Cache
	log          *slog.Logger
	dirty        chan struct{}
	current      atomic.Pointer[route.Table]
	connectivity *connectivity

	mu      sync.Mutex
	index   *route.Index
	changed chan struct{}
	// followed says that the table is made of what the API server said to this
	// process. Until then it was confirmed when its source says, or never.
	followed bool
	restored time.Time
}

// New returns a watcher of those namespaces, and of the BridgePersons in the
// installation's. It does not ask the API server for anything yet. fetches says which packages
// servers fetch.
func New(config *rest.Config, watched namespaces.Set, installation string, fetches PackageOf, log *slog.Logger) (*Watcher, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	shared := true // Users of the cache's objects only read them.
	contact := newConnectivity(time.Now(), watchedKinds*len(watched.Queries())+1)
	c, err := cache.New(config, cache.Options{
		Scheme: scheme,
		// The mapper of its own would need the API server's word.
		Mapper:                       mapperOf(scheme),
		NewInformer:                  contact.newInformer(namespaces.NewRefusals(log)),
		DefaultUnsafeDisableDeepCopy: &shared,
		DefaultNamespaces:            namespaces.Each(watched, cache.Config{}),
		DefaultWatchErrorHandler: func(ctx context.Context, _ *toolscache.Reflector, err error) {
			logWatchError(ctx, log, err)
		},
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {
				Label:     labels.SelectorFromSet(v1alpha1.BridgePodLabels()),
				Transform: trimPod,
			},
			&v1alpha1.HostedBridge{}: {Transform: fetches.trimBridge},
			&v1alpha1.BridgePerson{}: {Namespaces: map[string]cache.Config{installation: {}}, Transform: trimPerson},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	return &Watcher{
		cache: c, log: log, index: route.NewIndex(), connectivity: contact,
		dirty: make(chan struct{}, 1), changed: make(chan struct{}),
	}, nil
}

// mapperOf maps the watched kinds to the names of their resources.
func mapperOf(scheme *runtime.Scheme) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(v1alpha1.GroupVersion.WithKind("BridgePerson"), meta.RESTScopeNamespace)
	mapper.Add(v1alpha1.GroupVersion.WithKind("HostedBridge"), meta.RESTScopeNamespace)
	// A cache of chosen namespaces asks for a list's kind, too.
	mapper.Add(v1alpha1.GroupVersion.WithKind("BridgePersonList"), meta.RESTScopeNamespace)
	mapper.Add(v1alpha1.GroupVersion.WithKind("HostedBridgeList"), meta.RESTScopeNamespace)
	return mapper
}

// Restore has the watcher publish a table of another time, until the API server
// has told of everything: then that takes its place as a whole. It reports
// whether the table was taken: not when the API server was faster.
func (w *Watcher) Restore(table *route.Table, confirmed time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.followed {
		return false
	}
	w.restored = confirmed
	w.replace(table)
	return true
}

// Confirmed returns when the API server last vouched for the table that Current
// returned before this call: now while it tells of changes, the time of New
// where it never did. Ask for Confirmed first and for Current then, and the
// table is at least as new.
func (w *Watcher) Confirmed() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.followed && !w.restored.IsZero() {
		return w.restored
	}
	return w.connectivity.confirmed(time.Now())
}

// Current returns the newest table, or nil before the first one.
func (w *Watcher) Current() *route.Table { return w.current.Load() }

// Changed returns a channel that is closed when a table newer than the one
// that Current returned before this call is published. Take the channel first
// and look at Current then, or a change between the two is missed.
func (w *Watcher) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// Bridge returns the bridge of a backend as the API server last showed it. The
// caller must not change it.
func (w *Watcher) Bridge(ctx context.Context, b route.Backend) (*effective.Bridge, error) {
	bridge := &v1alpha1.HostedBridge{}
	err := w.cache.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.Name}, bridge)
	if err == nil && bridge.UID != b.BridgeUID {
		err = fmt.Errorf("HostedBridge %s/%s is another one now", b.Namespace, b.Name)
	}
	return effective.Of(bridge), err
}

// Run publishes tables until ctx ends. Whatever goes wrong with the API server
// is retried by the informers.
func (w *Watcher) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.cache.Start(ctx) }()
	var telling sync.WaitGroup
	telling.Go(func() { w.logConnectivity(ctx) })
	defer telling.Wait()
	defer cancel()
	if err := w.startInformers(ctx); err != nil {
		stopped := ctx.Err() != nil // All errors after that are consequences.
		cancel()
		if err = errors.Join(err, <-ended); stopped {
			return nil
		}
		return err
	}
	w.publishUntil(ctx)
	return <-ended
}

// startInformers asks to be told of events, and returns when the index has everything
// that was there. A table before that would refuse those who are not in it yet, and admit
// people whose access was taken away.
func (w *Watcher) startInformers(ctx context.Context) error {
	pods, err := watchKind(ctx, w, &corev1.Pod{}, (*route.Index).SetPod, (*route.Index).DeletePod)
	if err != nil {
		return err
	}
	bridges, err := watchKind(ctx, w, &v1alpha1.HostedBridge{}, (*route.Index).SetBridge, (*route.Index).DeleteBridge)
	if err != nil {
		return err
	}
	persons, err := watchKind(ctx, w, &v1alpha1.BridgePerson{}, (*route.Index).SetPerson, (*route.Index).DeletePerson)
	if err != nil {
		return err
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), pods, bridges, persons) {
		return fmt.Errorf("list the routes: %w", context.Cause(ctx))
	}
	w.markDirty() // Also if there are no objects: an empty installation is ready.
	w.log.InfoContext(ctx, "routes are known")
	return nil
}

// logWatchError says that routes may be out of date. The informers try again
// by themselves.
func logWatchError(ctx context.Context, log *slog.Logger, err error) {
	if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || ctx.Err() != nil {
		return // The ordinary end of a watch.
	}
	log.WarnContext(ctx, "routes may be out of date", "error", err)
}

// watchKind keeps the index up to date with all objects of one kind. What it
// returns reports whether the index has all that the first list had.
func watchKind[T client.Object](ctx context.Context, w *Watcher, kind T, set, forget func(*route.Index, T)) (toolscache.InformerSynced, error) {
	// All kinds are listed at once, and waited for then.
	informer, err := w.cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch %T: %w", kind, err)
	}
	tell := func(f func(*route.Index, T), event any) {
		if gone, ok := event.(toolscache.DeletedFinalStateUnknown); ok {
			event = gone.Obj // Deleted while the watch was down.
		}
		object, ok := event.(T)
		if !ok {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		f(w.index, object)
		w.markDirty()
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell(set, object) },
		UpdateFunc: func(_, object any) { tell(set, object) },
		DeleteFunc: func(object any) { tell(forget, object) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch %T: %w", kind, err)
	}
	return registration.HasSynced, nil
}

// markDirty says that the table is out of date. A mark that is already there will
// do for both: the table that takes it comes after both events.
func (w *Watcher) markDirty() {
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

func (w *Watcher) publishUntil(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.dirty:
		}
		w.publish()
		select {
		case <-ctx.Done():
			return
		case <-time.After(settleTime):
		}
	}
}

// publish makes the next table known, if it differs from the last.
func (w *Watcher) publish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followed = true
	w.replace(w.index.Snapshot())
}

func (w *Watcher) replace(next *route.Table) {
	if next == w.current.Load() {
		return
	}
	w.current.Store(next)
	close(w.changed)
	w.changed = make(chan struct{})
}

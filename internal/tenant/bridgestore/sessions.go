// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// sessionsName is the ConfigMap with the ends of sessions, which an installation makes
	// empty, and sessionsKey the key of its data.
	sessionsName = "hosted-bridge-sessions"
	sessionsKey  = "ended.json"
	// maxEnded is how many owners of sessions it has. One takes some 33 bytes of the 1 MiB
	// that a ConfigMap may have.
	maxEnded = 20_000
	// everyone is the owner of all sessions.
	everyone = "*"
)

var errSessionsUnknown = errors.New("the ends of sessions were not read yet")

// ended are when sessions were ended, by their owner, in milliseconds of Unix time.
type ended map[string]int64

// Sessions are the ends of the consoles' sessions, in a ConfigMap that all replicas watch. It
// forgets an end when the last session has ended that began before it.
type Sessions struct {
	client client.Client
	cache  cache.Cache
	name   client.ObjectKey
	keep   time.Duration
	log    *slog.Logger
	// known is nil before the ConfigMap was looked for.
	known atomic.Pointer[ended]
}

// NewSessions returns the ends of an installation's sessions, which last no longer than keep.
// It does not ask the API server for anything yet.
func NewSessions(config *rest.Config, namespace string, keep time.Duration, log *slog.Logger) (*Sessions, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	// The mapper of its own would need the API server's word.
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMapList"), meta.RESTScopeNamespace)
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	watched, err := cache.New(config, cache.Options{
		Scheme: scheme, Mapper: mapper,
		DefaultWatchErrorHandler: func(ctx context.Context, _ *toolscache.Reflector, err error) {
			if ctx.Err() == nil && !errors.Is(err, io.EOF) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				log.WarnContext(ctx, "the ends of sessions may be out of date", slog.String("configMap", sessionsName), slog.Any("error", err))
			}
		},
		ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {
			Namespaces: map[string]cache.Config{namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", sessionsName)}},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	return &Sessions{client: c, cache: watched, name: client.ObjectKey{Namespace: namespace, Name: sessionsName}, keep: keep, log: log}, nil
}

// Run keeps the ends in memory until ctx ends.
func (s *Sessions) Run(ctx context.Context) error {
	stopped := make(chan error, 1)
	go func() { stopped <- s.cache.Start(ctx) }()
	if err := s.follow(ctx); err != nil && ctx.Err() == nil {
		return errors.Join(err, <-stopped)
	}
	return <-stopped
}

func (s *Sessions) follow(ctx context.Context) error {
	informer, err := s.cache.GetInformer(ctx, &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch the ends of sessions: %w", err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.note(ctx, o) },
		UpdateFunc: func(_, o any) { s.note(ctx, o) },
		// What it said stays in force.
	})
	if err != nil {
		return fmt.Errorf("watch the ends of sessions: %w", err)
	}
	if toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		s.known.CompareAndSwap(nil, &ended{}) // There is no such ConfigMap.
	}
	return nil
}

// note makes what a ConfigMap says known. Sessions are ended that it may have been about if it
// cannot be read: all that have begun.
func (s *Sessions) note(ctx context.Context, object any) {
	m, ok := object.(*corev1.ConfigMap)
	if !ok {
		return
	}
	all, err := endedIn(m)
	if err != nil {
		s.log.ErrorContext(ctx, "the ends of sessions cannot be read, so all sessions are ended", slog.String("configMap", m.Name), slog.Any("error", err))
		all = ended{everyone: time.Now().UnixMilli()}
	}
	s.known.Store(&all)
}

func endedIn(m *corev1.ConfigMap) (ended, error) {
	all := ended{}
	if text := m.Data[sessionsKey]; text != "" {
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return nil, fmt.Errorf("read %s: %w", sessionsKey, err)
		}
	}
	return all, nil
}

// EndedAt returns when the sessions of an owner were last ended, zero for never.
func (s *Sessions) EndedAt(owner string) (time.Time, error) {
	known := s.known.Load()
	if known == nil {
		return time.Time{}, errSessionsUnknown
	}
	if at := max((*known)[owner], (*known)[everyone]); at > 0 {
		return time.UnixMilli(at), nil
	}
	return time.Time{}, nil
}

// End ends the sessions of an owner that began until then.
func (s *Sessions) End(ctx context.Context, owner string, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		m := &corev1.ConfigMap{}
		if err := s.client.Get(ctx, s.name, m); err != nil {
			return fmt.Errorf("get the ConfigMap %s: %w", s.name.Name, err)
		}
		all, err := endedIn(m)
		if err != nil {
			all = ended{everyone: at.UnixMilli()}
		}
		text, err := json.Marshal(all.with(owner, at, s.keep))
		if err != nil {
			return fmt.Errorf("write the ends of sessions: %w", err)
		}
		before := m.DeepCopy()
		m.Data = map[string]string{sessionsKey: string(text)}
		err = s.client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(v1alpha1.FieldOwnerIngress))
		if err != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("patch the ConfigMap %s: %w", s.name.Name, err)
		}
		return err
	})
}

// with returns e with one more end, without those that are older than keep. If there are too
// many, all sessions are ended: none goes on that was ended.
func (e ended) with(owner string, at time.Time, keep time.Duration) ended {
	maps.DeleteFunc(e, func(_ string, of int64) bool { return of < at.Add(-keep).UnixMilli() })
	// Rounded up, so that a session of the same millisecond has ended too.
	e[owner] = max(e[owner], at.UnixMilli()+1)
	if len(e) > maxEnded {
		return ended{everyone: e[owner]}
	}
	return e
}

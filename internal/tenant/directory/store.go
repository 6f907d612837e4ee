// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package directory keeps what directories say by SCIM in BridgePersons and BridgeGroups.
// Each request that changes something is one write of one object, so that it is done or not,
// wherever a process ends; what follows from it is for the loops that watch these objects.
//
// One resource is read from the API server, so that a directory finds at each replica what
// it wrote at another one. Lists come from memory, which watches keep up to date.
package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/scim"
)

const (
	// timeout is longer than the API server needs for several writes of the largest group.
	timeout = 10 * time.Second
	// attempts is how often a change is made again because somebody else changed the object
	// meanwhile, and pause the longest time between two.
	attempts = 10
	pause    = 50 * time.Millisecond
)

// People are all BridgePersons: watch.Watcher.
type People interface {
	Persons(ctx context.Context) ([]v1alpha1.BridgePerson, error)
}

// Store keeps users and groups. It is safe for concurrent use.
type Store struct {
	*userStore
	*groupStore
}

// objects are those of the installation.
type objects struct {
	client    client.Client
	namespace string
	known     People
	now       func() time.Time
	log       *slog.Logger
	budgets   *budgets
}

// incarnation returns that of a user who is created now, after one of an earlier time. It is
// a time, so that it is another one also if an administrator deleted the former record.
func (o *objects) incarnation(former int64) int64 { return max(former+1, o.now().Unix()) }

// newStore returns the store of objects, with all groups in memory.
func newStore(o *objects, groups cache.Cache) *Store {
	return &Store{&userStore{o}, &groupStore{o, groups}}
}

// New returns the store of the installation in a namespace. It does not ask the API server
// for anything yet.
func New(config *rest.Config, namespace string, known People, log *slog.Logger) (*Store, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	// The mapper of its own would need the API server's word.
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	for _, kind := range []string{"BridgePerson", "BridgeGroup", "BridgeGroupList"} {
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // How often a directory may ask is limited before it gets here.
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	groups, err := cache.New(config, cache.Options{
		Scheme: scheme, Mapper: mapper, DefaultUnsafeDisableDeepCopy: new(true), // Its groups are only read.
		ByObject: map[client.Object]cache.ByObject{&v1alpha1.BridgeGroup{}: {
			Namespaces: map[string]cache.Config{namespace: {}}, Transform: cache.TransformStripManagedFields(),
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	return newStore(&objects{client: c, namespace: namespace, known: known, now: time.Now, log: log, budgets: &budgets{of: map[string]*budget{}}}, groups), nil
}

// key returns the name of an object of the installation.
func (o *objects) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: o.namespace, Name: name}
}

// write writes a change unless the object has changed since it was read. Nothing is written
// when nothing changed.
func (o *objects) write(ctx context.Context, before, after client.Object) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return o.client.Patch(ctx, after, patch, client.FieldOwner(v1alpha1.FieldOwnerIngress))
}

// retry does something until no other writer came between.
func retry(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var err error
	for range attempts {
		if err = do(); !apierrors.IsConflict(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(rand.N(pause)): //nolint:gosec // A pause is no secret.
		}
	}
	return err
}

// missing returns the problem of an object that is not there.
func missing(err error) error {
	if apierrors.IsNotFound(err) {
		return scim.ErrNotFound
	}
	return err
}

// version returns the version of an object, which each change of its spec changes.
func version(o metav1.Object) string {
	uid := string(o.GetUID())
	return fmt.Sprintf(`W/"%s-%d"`, uid[:min(len(uid), 8)], o.GetGeneration())
}

// Run keeps the groups in memory, and makes what is stored fit the configuration of the
// directories, until ctx ends.
func (s *Store) Run(ctx context.Context, directories []scim.Directory) error {
	ended := make(chan error, 1)
	go func() { ended <- s.cache.Start(ctx) }()
	if _, err := s.cache.GetInformer(ctx, &v1alpha1.BridgeGroup{}, cache.BlockUntilSynced(false)); err != nil && ctx.Err() == nil {
		return errors.Join(fmt.Errorf("watch BridgeGroups: %w", err), <-ended)
	}
	if s.cache.WaitForCacheSync(ctx) {
		s.settleAll(ctx, directories)
	}
	return <-ended
}

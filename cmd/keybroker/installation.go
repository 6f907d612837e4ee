// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/recovery"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/rotation"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/store"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/internal/scope"
)

const (
	// pageSize is how many objects are listed at once: of metadata alone, some
	// hundred kilobytes.
	pageSize = 500

	// listTimeout is for one page.
	listTimeout = 30 * time.Second

	component = "keybroker"
)

// installation is the API server and the master key as subcommands use them.
type installation struct {
	*keybroker.Cluster

	client client.Client
	keys   *masterkey.Source
	store  *store.Store
	system string
	// watched are where HostedBridges are looked after.
	watched scope.Namespaces
}

var _ recovery.Installation = (*installation)(nil)

// connect opens the master key and reaches the API server. Nothing that these
// log is of use to whoever runs a subcommand: what a command finds it reports.
// It does not wait for a transit engine that is away, as the server does.
func connect(ctx context.Context, o *Options) (*installation, error) {
	quiet := slog.New(slog.DiscardHandler)
	klog.SetSlogLogger(quiet)
	ctrl.SetLogger(logr.Discard())
	keys, err := masterkey.Open(ctx, o.masterKey(quiet))
	if err != nil {
		return nil, err
	}
	if err := keys.Err(); err != nil {
		return nil, fmt.Errorf("master key: %w", err)
	}
	config, err := restConfig(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	cluster, err := keybroker.NewCluster(config)
	if err != nil {
		return nil, err
	}
	config.Timeout, config.QPS = listTimeout, -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	s, err := store.New(store.Config{
		Secrets: cluster, Keys: keys.Keys, Cluster: o.ClusterID, Random: rand.Reader, Now: time.Now, Log: quiet,
	})
	if err != nil {
		return nil, err
	}
	return &installation{Cluster: cluster, client: c, keys: keys, store: s, system: o.Namespace, watched: o.WatchNamespaces}, nil
}

// attend connects and works on the installation, with the keys of each moment.
func attend(ctx context.Context, o *Options, work func(ctx context.Context, i *installation) error) error {
	i, err := connect(ctx, o)
	if err != nil {
		return err
	}
	return following(ctx, i.keys, func(ctx context.Context) error { return work(ctx, i) })
}

// following follows the master key while there is work. What takes long may
// begin before a rotation and end after it: sealing under the version of the
// beginning would keep the rotation from ending, and what others seal meanwhile
// would not open.
func following(ctx context.Context, keys *masterkey.Source, work func(ctx context.Context) error) error {
	followed, end := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { _ = keys.Run(followed) }) // It has none: what cannot be read stays as it was.
	defer group.Wait()
	defer end()
	return work(ctx)
}

// Bridges implements admin.BridgeLister.
func (i *installation) Bridges(ctx context.Context, namespace string) ([]store.Bridge, error) {
	var bridges []store.Bridge
	kind := v1alpha1.GroupVersion.WithKind("HostedBridgeList")
	err := i.pages(ctx, metav1.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}, func(m *metav1.PartialObjectMetadata) {
		bridges = append(bridges, store.Bridge{Namespace: m.Namespace, Name: m.Name, UID: m.UID})
	}, namespace)
	if err != nil || !i.mayShare(namespace) {
		return bridges, err
	}
	kind = v1alpha1.GroupVersion.WithKind("SharedServerList")
	err = i.pagesOf(ctx, metav1.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}, func(m *metav1.PartialObjectMetadata) {
		bridges = append(bridges, store.Shared(m.Namespace, m.Name, m.UID))
	}, client.InNamespace(i.system))
	return bridges, err
}

// mayShare reports whether SharedServers may be in the namespace, or in any where it is empty.
func (i *installation) mayShare(namespace string) bool {
	return namespace == "" || namespace == i.system
}

// Belongings implements admin.Installation.
func (i *installation) Belongings(ctx context.Context, namespace string) ([]recovery.Belonging, error) {
	var all []recovery.Belonging
	kind, labelled := metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, client.MatchingLabels{v1alpha1.LabelName: v1alpha1.NameValue}
	add := func(m *metav1.PartialObjectMetadata) {
		if owner, known := store.OwnerOf(m.Namespace, metav1.GetControllerOfNoCopy(m)); known {
			all = append(all, recovery.Belonging{Namespace: m.Namespace, Name: m.Name, Owner: owner.Name, OwnerUID: owner.UID})
		}
	}
	err := i.pages(ctx, kind, add, namespace, labelled)
	if err == nil && namespace == "" && !i.watched.Contain(i.system) {
		err = i.pagesOf(ctx, kind, add, labelled, client.InNamespace(i.system))
	}
	return all, err
}

// pages lists the metadata of objects of a namespace, of all watched ones if it is
// empty, and calls do for each.
func (i *installation) pages(ctx context.Context, kind metav1.TypeMeta, do func(*metav1.PartialObjectMetadata), namespace string, options ...client.ListOption) error {
	if namespace != "" {
		return i.pagesOf(ctx, kind, do, append(options, client.InNamespace(namespace))...)
	}
	for _, each := range i.watched.Queries() {
		if err := i.pagesOf(ctx, kind, do, append(slices.Clone(options), client.InNamespace(each))...); err != nil {
			return err
		}
	}
	return nil
}

func (i *installation) pagesOf(ctx context.Context, kind metav1.TypeMeta, do func(*metav1.PartialObjectMetadata), options ...client.ListOption) error {
	token := ""
	for {
		page := &metav1.PartialObjectMetadataList{TypeMeta: kind}
		if err := i.client.List(ctx, page, append(options, client.Limit(pageSize), client.Continue(token))...); err != nil {
			return err
		}
		for n := range page.Items {
			do(&page.Items[n])
		}
		if token = page.Continue; token == "" {
			return nil
		}
	}
}

// BridgeUID implements admin.Installation.
func (i *installation) BridgeUID(ctx context.Context, namespace, name string) (types.UID, error) {
	b, err := i.bridge(ctx, namespace, name)
	if b == nil {
		return "", err
	}
	return b.UID, nil
}

// bridge returns the HostedBridge, nil if there is none.
func (i *installation) bridge(ctx context.Context, namespace, name string) (*recovery.Bridge, error) {
	if shared, ok := (store.Bridge{Name: name}).SharedName(); ok {
		return i.sharedServer(ctx, namespace, shared)
	}
	b, err := i.Cluster.Bridge(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get HostedBridge: %w", err)
	}
	return &recovery.Bridge{
		Bridge: store.Bridge{Namespace: namespace, Name: name, UID: b.UID},
		UserID: string(b.User()), Deleting: b.DeletionTimestamp != nil,
	}, nil
}

// sharedServer returns a SharedServer, nil if it does not exist.
func (i *installation) sharedServer(ctx context.Context, namespace, name string) (*recovery.Bridge, error) {
	s := &v1alpha1.SharedServer{}
	err := i.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
	if apierrors.IsNotFound(err) || namespace != i.system {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get SharedServer: %w", err)
	}
	return &recovery.Bridge{Bridge: store.Shared(namespace, name, s.UID), Deleting: s.DeletionTimestamp != nil}, nil
}

// pods lists the installation's keybrokers.
func (i *installation) pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := i.client.List(ctx, &list, client.InNamespace(i.system),
		client.MatchingLabels{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: component})
	return list.Items, err
}

// count counts the envelopes of all HostedBridges.
func (i *installation) count(ctx context.Context) (store.KeyUsage, error) {
	return store.CountKeys(ctx, i, i.store)
}

// ring returns the ring of the master key as it is now.
func (i *installation) ring(ctx context.Context) (rotation.RingState, error) {
	if err := i.keys.Reload(ctx); err != nil {
		return rotation.RingState{}, err
	}
	return rotation.RingState(i.keys.Status()), nil
}

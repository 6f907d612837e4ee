// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation is the API server and the master key as the keybroker's subcommands use them.
package installation

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
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
)

const (
	// pageSize is how many objects are listed at once: of metadata alone, some
	// hundred kilobytes.
	pageSize = 500

	// listTimeout is for one page.
	listTimeout = 30 * time.Second

	component = "keybroker"
)

// Options say which installation it is.
type Options struct {
	Keys       masterkey.Options
	Kubeconfig string
	ClusterID  string
	// Namespace is the installation's own, and Watched are where HostedBridges are looked after.
	Namespace string
	Watched   namespaces.Set
}

// Installation is what subcommands work on.
type Installation struct {
	*keybroker.Cluster

	Keys  *masterkey.Source
	Store *secretstore.Store

	client  client.Client
	system  string
	watched namespaces.Set
}

var _ recovery.Installation = (*Installation)(nil)

// silence discards what libraries log, and returns a log that discards too. A subcommand
// reports what it finds; nothing else is of use to the person who runs it.
func silence() *slog.Logger {
	quiet := slog.New(slog.DiscardHandler)
	klog.SetSlogLogger(quiet)
	ctrl.SetLogger(logr.Discard())
	return quiet
}

// Connect opens the master key and reaches the API server. It does not wait for a transit
// engine that is away, as the server does.
func Connect(ctx context.Context, o Options) (*Installation, error) {
	quiet := silence()
	o.Keys.Log = quiet
	keys, err := masterkey.Open(ctx, o.Keys)
	if err != nil {
		return nil, err
	}
	if err := keys.Err(); err != nil {
		return nil, fmt.Errorf("master key: %w", err)
	}
	config, err := keybroker.ClientConfig(o.Kubeconfig)
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
	s, err := secretstore.New(secretstore.Config{
		Secrets: cluster, Keys: keys.Keys, Cluster: o.ClusterID, Random: rand.Reader, Now: time.Now, Log: quiet,
	})
	if err != nil {
		return nil, err
	}
	return &Installation{Cluster: cluster, client: c, Keys: keys, Store: s, system: o.Namespace, watched: o.Watched}, nil
}

// Attend connects and works on the installation, with the keys of each moment.
func Attend(ctx context.Context, o Options, work func(ctx context.Context, i *Installation) error) error {
	i, err := Connect(ctx, o)
	if err != nil {
		return err
	}
	return following(ctx, i.Keys, func(ctx context.Context) error { return work(ctx, i) })
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

// Bridges implements recovery.Installation.
func (i *Installation) Bridges(ctx context.Context, namespace string) ([]secretstore.Bridge, error) {
	var bridges []secretstore.Bridge
	kind := v1alpha1.GroupVersion.WithKind("HostedBridgeList")
	err := i.pages(ctx, metav1.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}, func(m *metav1.PartialObjectMetadata) {
		bridges = append(bridges, secretstore.Bridge{Namespace: m.Namespace, Name: m.Name, UID: m.UID})
	}, namespace)
	if err != nil || !i.mayShare(namespace) {
		return bridges, err
	}
	kind = v1alpha1.GroupVersion.WithKind("SharedServerList")
	err = i.pagesOf(ctx, metav1.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}, func(m *metav1.PartialObjectMetadata) {
		bridges = append(bridges, secretstore.Shared(m.Namespace, m.Name, m.UID))
	}, client.InNamespace(i.system))
	return bridges, err
}

// mayShare reports whether SharedServers may be in the namespace, or in any where it is empty.
func (i *Installation) mayShare(namespace string) bool {
	return namespace == "" || namespace == i.system
}

// Belongings implements recovery.Installation.
func (i *Installation) Belongings(ctx context.Context, namespace string) ([]recovery.Belonging, error) {
	var all []recovery.Belonging
	kind, labelled := metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, client.MatchingLabels{v1alpha1.LabelName: v1alpha1.NameValue}
	add := func(m *metav1.PartialObjectMetadata) {
		if owner, known := secretstore.OwnerOf(m.Namespace, metav1.GetControllerOfNoCopy(m)); known {
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
func (i *Installation) pages(ctx context.Context, kind metav1.TypeMeta, do func(*metav1.PartialObjectMetadata), namespace string, options ...client.ListOption) error {
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

func (i *Installation) pagesOf(ctx context.Context, kind metav1.TypeMeta, do func(*metav1.PartialObjectMetadata), options ...client.ListOption) error {
	empty := func() *metav1.PartialObjectMetadataList { return &metav1.PartialObjectMetadataList{TypeMeta: kind} }
	return namespaces.EachPage(ctx, i.client, empty, func(page *metav1.PartialObjectMetadataList) error {
		for n := range page.Items {
			do(&page.Items[n])
		}
		return nil
	}, append(options, client.Limit(pageSize))...)
}

// BridgeUID implements recovery.Installation.
func (i *Installation) BridgeUID(ctx context.Context, namespace, name string) (types.UID, error) {
	b, err := i.Find(ctx, namespace, name)
	if b == nil {
		return "", err
	}
	return b.UID, nil
}

// Find returns the HostedBridge, or nil if it does not exist.
func (i *Installation) Find(ctx context.Context, namespace, name string) (*recovery.Bridge, error) {
	if shared, ok := (secretstore.Bridge{Name: name}).SharedName(); ok {
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
		Bridge: secretstore.Bridge{Namespace: namespace, Name: name, UID: b.UID},
		UserID: string(b.User()), Deleting: b.DeletionTimestamp != nil,
	}, nil
}

// sharedServer returns a SharedServer, nil if it does not exist.
func (i *Installation) sharedServer(ctx context.Context, namespace, name string) (*recovery.Bridge, error) {
	s := &v1alpha1.SharedServer{}
	err := i.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
	if apierrors.IsNotFound(err) || namespace != i.system {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get SharedServer: %w", err)
	}
	return &recovery.Bridge{Bridge: secretstore.Shared(namespace, name, s.UID), Deleting: s.DeletionTimestamp != nil}, nil
}

// Pods lists the installation's keybrokers.
func (i *Installation) Pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := i.client.List(ctx, &list, client.InNamespace(i.system),
		client.MatchingLabels{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: component})
	return list.Items, err
}

// Count counts the envelopes of all HostedBridges.
func (i *Installation) Count(ctx context.Context) (secretstore.KeyUsage, error) {
	return secretstore.CountKeys(ctx, i, i.Store)
}

// Ring returns the ring of the master key as it is now.
func (i *Installation) Ring(ctx context.Context) (rotation.RingState, error) {
	if err := i.Keys.Reload(ctx); err != nil {
		return rotation.RingState{}, err
	}
	return rotation.RingState(i.Keys.Status()), nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// bundler looks after the ProgramBundles that bridges need.
type bundler struct {
	client    client.Client
	namespace string
}

// decide returns what to do about a bridge, and s with the bundles of its programs, whose faults it
// adds to o. Those that an accepted bridge lacks are created.
func (b bundler) decide(
	ctx context.Context, o *bridgestate.Observed, s bridgeobjects.Settings, now time.Time,
) (bridgestate.Plan, bridgeobjects.Settings, error) {
	var err error
	if s.Bundles, err = b.observe(ctx, o.Bridge, s.Bundles.Settings); err != nil {
		return bridgestate.Plan{}, s, fmt.Errorf("observe bundles: %w", err)
	}
	s.Bundles.Mounted = o.Mounted
	s.Bundles.Refused = refused(s.Bundles, now)
	for _, pod := range o.Pods {
		if err := b.unmount(ctx, &s.Bundles, pod.Unmounted, now); err != nil {
			return bridgestate.Plan{}, s, err
		}
	}
	o.NotInstalled = s.Bundles.NotInstalled(o.Bridge)
	p := bridgestate.Decide(*o, now)
	if p.Rejected == (bridgestate.Finding{}) {
		err = b.create(ctx, o.Bridge, s.Bundles, now)
	}
	return p, s, err
}

// unmount has the servers' next pod start programs from the store's files whose images a node could
// not mount, and notes that of their bundles, so that no other pod tries it for a while.
func (b bundler) unmount(ctx context.Context, bundles *bundling.Bundles, servers []string, now time.Time) error {
	for _, server := range servers {
		image := bundles.Mounted[server]
		if image == "" {
			continue
		}
		bundles.Mounted[server] = ""
		for _, bundle := range bundles.Known {
			if bundle.Status.Reference != image || bundles.Refused[image] {
				continue
			}
			noted := bundle.DeepCopy()
			metav1.SetMetaDataAnnotation(&noted.ObjectMeta, v1alpha1.AnnotationImageRefused, now.UTC().Format(time.RFC3339))
			if err := b.client.Patch(ctx, noted, client.MergeFrom(bundle), client.FieldOwner(v1alpha1.FieldOwnerOperator)); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("annotate ProgramBundle %s: %w", bundle.Name, err)
			}
		}
	}
	return nil
}

// refusedFor is how long no new pod mounts an image that a node could not mount: a registry that is
// away, or does not know the nodes, costs a bridge that wakes some seconds and a second pod.
const refusedFor = time.Hour

// refused returns the images that nodes could not mount lately.
func refused(bundles bundling.Bundles, now time.Time) map[string]bool {
	images := map[string]bool{}
	for _, bundle := range bundles.Known {
		if at := bundle.ImageRefused(); bundle.Status.Reference != "" && now.Sub(at) < refusedFor {
			images[bundle.Status.Reference] = true
		}
	}
	return images
}

// observe returns the existing bundles of a bridge's programs.
func (b bundler) observe(ctx context.Context, bridge *effective.Bridge, s bundling.Settings) (bundling.Bundles, error) {
	bundles := bundling.Bundles{Settings: s, Known: map[string]*v1alpha1.ProgramBundle{}}
	for _, spec := range bundles.Missing(bridge) {
		name := bundling.NameOf(spec)
		o := &v1alpha1.ProgramBundle{}
		err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: name}, o, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return bundles, fmt.Errorf("get ProgramBundle %s: %w", name, err)
		}
		if o.DeletionTimestamp == nil && o.Spec == spec {
			bundles.Known[name] = o
		}
	}
	return bundles, nil
}

// create creates the bundles that a bridge lacks, so that its programs are installed before they
// are called. From now on they are known.
func (b bundler) create(ctx context.Context, bridge *effective.Bridge, bundles bundling.Bundles, now time.Time) error {
	for _, spec := range bundles.Missing(bridge) {
		name := bundling.NameOf(spec)
		object := &v1alpha1.ProgramBundle{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}}
		if err := b.client.Patch(ctx, object, apply.Spec(spec), client.FieldOwner(v1alpha1.FieldOwnerOperator)); err != nil {
			return fmt.Errorf("create ProgramBundle %s: %w", name, err)
		}
		bundles.Known[name] = &v1alpha1.ProgramBundle{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now)}, Spec: spec}
	}
	return nil
}

// bridgesOfBundle maps a ProgramBundle to the HostedBridges whose programs are started from it.
func (m eventMapper) bridgesOfBundle(ctx context.Context, o client.Object) []reconcile.Request {
	bundle, ok := o.(*v1alpha1.ProgramBundle)
	if !ok || bundle.Namespace != m.settings.Namespace {
		return nil
	}
	return m.requests(ctx, client.MatchingFields{indexPackage: bundling.KeyOf(bundle.Spec.Install)})
}

// UsersOf returns what finds the HostedBridges that have a server of a package, in a cache with
// the indexes of Indexes.
func UsersOf(reader client.Reader) func(context.Context, v1alpha1.ProgramBundleSpec) ([]v1alpha1.HostedBridge, error) {
	return func(ctx context.Context, spec v1alpha1.ProgramBundleSpec) ([]v1alpha1.HostedBridge, error) {
		var list v1alpha1.HostedBridgeList
		if err := reader.List(ctx, &list, client.MatchingFields{indexPackage: bundling.KeyOf(spec.Install)}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list HostedBridges of a package: %w", err)
		}
		return list.Items, nil
	}
}

// packages returns the values of indexPackage.
func packages(b *v1alpha1.HostedBridge) []string { return bundling.Packages(effective.Of(b)) }

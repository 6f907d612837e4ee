// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

const (
	// trustName and trustKey are where the keybroker publishes its certificate.
	trustName = "hosted-bridge-ca"
	trustKey  = "ca.crt"
)

// observe reads what decisions depend on, and makes no decision.
func (r *Reconciler) observe(
	ctx context.Context, b *effective.Bridge, claims []bridgestate.Claim, now time.Time,
) (bridgestate.Observed, error) {
	o := bridgestate.Observed{
		Bridge: b, Tiers: r.Settings.Tiers, Lacking: r.Settings.Lacking(),
		Idling: bridgestate.Idling{MinIdleTimeout: r.Settings.MinIdleTimeout, FollowedSince: r.followedFrom}, Claims: claims,
	}
	var rivals v1alpha1.HostedBridgeList
	if err := r.Client.List(ctx, &rivals, client.MatchingFields{indexPerson: string(b.User())}, client.UnsafeDisableDeepCopy); err != nil {
		return o, fmt.Errorf("list HostedBridges of the user: %w", err)
	}
	o.Rivals = rivals.Items

	var err error
	if o.Sharers, err = r.sharers(ctx, b.HostedBridge); err != nil {
		return o, err
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(b.Namespace), client.MatchingFields{indexPodBridge: string(b.UID)}); err != nil {
		return o, fmt.Errorf("list pods: %w", err)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; !ended(pod) {
			o.Pods = append(o.Pods, observedPod(pod))
		}
	}

	if o.Waking, err = r.waking(ctx, b.HostedBridge, now); err != nil {
		return o, err
	}
	if o.Trust, err = r.trust(ctx); err != nil {
		return o, err
	}
	if o.KeybrokerReady, err = r.keybrokerReady(ctx); err != nil {
		return o, err
	}
	if o.Isolation, err = r.isolation(ctx, b.HostedBridge); err != nil {
		return o, err
	}
	o.WorkloadExists, o.Mounted, err = r.workload(ctx, b.HostedBridge)
	return o, err
}

func (r *Reconciler) trust(ctx context.Context) (string, error) {
	var ca corev1.ConfigMap
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Settings.Namespace, Name: trustName}, &ca)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("get ConfigMap %s: %w", trustName, err)
	}
	return ca.Data[trustKey], nil
}

// workload returns whether the bridge has a Deployment of its own, and the images of bundles that its
// pod mounts, nil without a pod.
func (r *Reconciler) workload(ctx context.Context, b *v1alpha1.HostedBridge) (exists bool, mounted map[string]string, err error) {
	d := &appsv1.Deployment{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: v1alpha1.WorkloadName(b.Name)}, d, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return false, nil, fmt.Errorf("get Deployment: %w", err)
	}
	exists = err == nil && metav1.IsControlledBy(d, b)
	if exists && ptr.Deref(d.Spec.Replicas, 0) > 0 {
		mounted = bridgeobjects.MountedImages(d.Spec.Template.Spec)
	}
	return exists, mounted, nil
}

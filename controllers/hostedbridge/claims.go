// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// claims returns the PersistentVolumeClaims of the bridge's servers, also of those
// that an earlier bridge of its name retained.
func (r *Reconciler) claims(ctx context.Context, b *v1alpha1.HostedBridge) ([]bridgestate.Claim, error) {
	var list corev1.PersistentVolumeClaimList
	err := r.Client.List(ctx, &list, client.InNamespace(b.Namespace),
		client.MatchingFields{indexClaimBridge: v1alpha1.InstanceLabelValue(b.Name)})
	if err != nil {
		return nil, fmt.Errorf("list PersistentVolumeClaims: %w", err)
	}
	var claims []bridgestate.Claim
	for i := range list.Items {
		o := &list.Items[i]
		claims = append(claims, bridgestate.Claim{
			Name: o.Name, UID: o.UID, Size: o.Spec.Resources.Requests[corev1.ResourceStorage],
			Class: ptr.Deref(o.Spec.StorageClassName, ""), Owned: metav1.IsControlledBy(o, b),
			Foreign: !claimBelongs(o, b), Deleting: o.DeletionTimestamp != nil,
		})
	}
	return claims, nil
}

// claimBelongs reports whether a claim is the bridge's: the bridge controls it, or
// nobody does and it was made for the same user under the same name.
func claimBelongs(o metav1.Object, b *v1alpha1.HostedBridge) bool {
	if metav1.IsControlledBy(o, b) {
		return true
	}
	return apply.Installed(o) && o.GetLabels()[v1alpha1.LabelInstance] == v1alpha1.InstanceLabelValue(b.Name) &&
		o.GetAnnotations()[v1alpha1.AnnotationUserID] == string(b.User())
}

// drop deletes the claims that go with servers which left the spec. A claim that a
// pod has stays until the pod is gone.
func (r *Reconciler) drop(ctx context.Context, b *v1alpha1.HostedBridge, p bridgestate.Plan) error {
	for _, c := range p.Dropped {
		o := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: c.Name}}
		if err := r.applier().Delete(ctx, c.UID, o); err != nil {
			return err
		}
	}
	return nil
}

// bridgesOfClaim maps a claim to the HostedBridges of its user.
func (m eventMapper) bridgesOfClaim(ctx context.Context, claim client.Object) []reconcile.Request {
	user := claim.GetAnnotations()[v1alpha1.AnnotationUserID]
	return m.requests(ctx, client.InNamespace(claim.GetNamespace()), client.MatchingFields{indexPerson: user})
}

// stripClaim keeps the fields of a claim that decisions depend on.
func stripClaim(object any) (any, error) {
	o, ok := object.(*corev1.PersistentVolumeClaim)
	if !ok {
		return object, nil
	}
	kept := &corev1.PersistentVolumeClaim{ObjectMeta: applied(&o.ObjectMeta)}
	kept.Labels = o.Labels
	if user, ok := o.Annotations[v1alpha1.AnnotationUserID]; ok {
		if kept.Annotations == nil {
			kept.Annotations = map[string]string{}
		}
		kept.Annotations[v1alpha1.AnnotationUserID] = user
	}
	kept.Spec.StorageClassName = o.Spec.StorageClassName
	kept.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: o.Spec.Resources.Requests[corev1.ResourceStorage]}
	return kept, nil
}

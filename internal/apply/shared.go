// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Shared applies an object that bridges share, so that none of them can own it.
// An object of that name which lacks the installation's labels, or has a
// controller, is not changed, and the error is a ForeignError. As with Object,
// an object that is created between the read and the write is adopted.
func (a *Applier) Shared(ctx context.Context, object runtime.ApplyConfiguration) error {
	c, ok := object.(configuration)
	if !ok {
		return fmt.Errorf("apply %T: not a generated apply configuration", object)
	}
	existing := &metav1.PartialObjectMetadata{}
	existing.SetGroupVersionKind(schema.FromAPIVersionAndKind(*c.GetAPIVersion(), *c.GetKind()))
	err := a.Live.Get(ctx, types.NamespacedName{Namespace: *c.GetNamespace(), Name: *c.GetName()}, existing)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("look at %s: %w", describe(c), err)
	}
	if err == nil && !Installed(existing) {
		return foreignShared(describe(c), existing)
	}
	if err := a.Client.Apply(ctx, object, a.FieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s: %w", describe(c), err)
	}
	return nil
}

// Remove deletes an object that Shared applied, and no object that has taken
// its name since it was read.
func (a *Applier) Remove(ctx context.Context, seen client.Object) error {
	if !Installed(seen) {
		return foreignShared(seen.GetName(), seen)
	}
	uid := seen.GetUID()
	err := a.Client.Delete(ctx, seen, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %s: %w", seen.GetName(), err)
	}
	return nil
}

// Installed reports whether an object that no HostedBridge owns is the
// installation's.
func Installed(o metav1.Object) bool {
	l := o.GetLabels()
	return l[v1alpha1.LabelName] == v1alpha1.NameValue && l[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue &&
		metav1.GetControllerOf(o) == nil
}

func foreignShared(object string, o metav1.Object) *ForeignError {
	e := &ForeignError{Object: object}
	if controller := metav1.GetControllerOf(o); controller != nil {
		e.Controller = controller.Kind + " " + controller.Name
	}
	return e
}

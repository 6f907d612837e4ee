// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply writes a bridge's objects by server-side apply and changes no
// objects of other owners. It is a shell, and a leaf: any writer of such
// objects may use it.
package apply

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Applier writes objects.
type Applier struct {
	// Client writes, and reads the metadata of objects. If it reads from a
	// cache, that may hold only the installation's own objects.
	Client client.Client
	// Live reads objects that the cache does not hold.
	Live client.Reader
	// FieldOwner is the name under which fields are owned.
	FieldOwner client.FieldOwner
}

// configuration is the interface of all generated apply configurations.
type configuration interface {
	runtime.ApplyConfiguration
	GetKind() *string
	GetAPIVersion() *string
	GetName() *string
	GetNamespace() *string
}

// Object applies object, which names owner as its controller, and fills it with
// the API server's answer. If the existing object already has all of it, Object
// returns that without a request. An existing object that owner does not
// control is not changed, and the error is a ForeignError.
//
// Between the read and the write another client may create the object. If it
// has a controller the API server refuses a second one. If it has none we adopt
// it; this is the only case that is not excluded.
func (a *Applier) Object(ctx context.Context, owner client.Object, object runtime.ApplyConfiguration) (client.Object, error) {
	return a.Kept(ctx, owner, object, func(existing metav1.Object) bool { return metav1.IsControlledBy(existing, owner) })
}

// Kept is Object for an object that may outlive its owner, which then does not
// control it. belongs reports whether an existing object is the owner's.
func (a *Applier) Kept(ctx context.Context, owner client.Object, object runtime.ApplyConfiguration, belongs func(metav1.Object) bool,
) (client.Object, error) {
	c, ok := object.(configuration)
	if !ok {
		return nil, fmt.Errorf("apply %T: not a generated apply configuration", object)
	}
	content, digest, err := mark(c)
	if err != nil {
		return nil, err
	}
	existing, err := a.existing(ctx, c, belongs)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", describe(c), err)
	}
	if existing != nil && !belongs(existing) {
		kind, err := a.Client.GroupVersionKindFor(owner)
		if err != nil {
			return nil, fmt.Errorf("apply %s: %w", describe(c), err)
		}
		return nil, foreign(describe(c), metav1.GetControllerOf(existing), kind, owner)
	}
	if existing != nil && a.unchanged(existing, content, digest) {
		return existing, nil
	}
	if err := a.Client.Apply(ctx, object, a.FieldOwner, client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("apply %s: %w", describe(c), err)
	}
	return nil, nil
}

// Existing applies fields of a bridge's object that another controller creates,
// as a Deployment's controller creates pods. The object is the one with that
// UID, which the configuration must have too: a deleted object is not created
// again, and another one of its name is not changed. Neither is an error.
func (a *Applier) Existing(ctx context.Context, uid types.UID, object runtime.ApplyConfiguration) error {
	c, ok := object.(configuration)
	if !ok {
		return fmt.Errorf("apply %T: not a generated apply configuration", object)
	}
	if said, err := uidOf(c); err != nil || uid == "" || said != uid {
		return fmt.Errorf("apply %s: the configuration does not say which object it is for", describe(c))
	}
	err := a.Client.Apply(ctx, object, a.FieldOwner, client.ForceOwnership)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("apply %s: %w", describe(c), err)
	}
	return nil
}

// Delete deletes an object that another controller makes and makes again, as a
// Deployment's controller does pods. The object is the one with that UID: a
// deleted one, or another one of its name, is left alone. Neither is an error.
func (a *Applier) Delete(ctx context.Context, uid types.UID, object client.Object) error {
	if uid == "" {
		return fmt.Errorf("delete %T %s: its UID is not known", object, object.GetName())
	}
	err := a.Client.Delete(ctx, object, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// DeleteAsRead deletes an object as it was read. One that is gone, or has changed since, is left
// alone: whoever decided looks at it again first.
func DeleteAsRead(ctx context.Context, c client.Writer, o client.Object) error {
	uid, version := o.GetUID(), o.GetResourceVersion()
	err := c.Delete(ctx, o, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %T %s/%s: %w", o, o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

// uidOf reads the UID, for which generated configurations have no accessor.
func uidOf(c configuration) (types.UID, error) {
	encoded, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	var said metav1.PartialObjectMetadata
	err = json.Unmarshal(encoded, &said)
	return said.UID, err
}

// existing returns the object with c's name, nil if it does not exist. The
// cache counts only if it shows an object of owner's: it does not hold foreign
// ones, and may be late.
func (a *Applier) existing(ctx context.Context, c configuration, belongs func(metav1.Object) bool) (client.Object, error) {
	m := held(c)
	key := types.NamespacedName{Namespace: *c.GetNamespace(), Name: *c.GetName()}
	err := a.Client.Get(ctx, key, m)
	if err == nil && belongs(m) {
		return m, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	m = held(c)
	err = a.Live.Get(ctx, key, m)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return m, err
}

// held returns the form in which a cache holds the object: its metadata alone,
// except for a Deployment, whose status is read, and a claim, whose size is.
func held(c configuration) client.Object {
	switch c.(type) {
	case *appsv1ac.DeploymentApplyConfiguration:
		return &appsv1.Deployment{}
	case *corev1ac.PersistentVolumeClaimApplyConfiguration:
		return &corev1.PersistentVolumeClaim{}
	}
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(schema.FromAPIVersionAndKind(*c.GetAPIVersion(), *c.GetKind()))
	return m
}

func describe(c configuration) string { return *c.GetKind() + " " + *c.GetName() }

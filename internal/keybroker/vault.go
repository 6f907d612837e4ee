// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/desired"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

const (
	// saltKey is the key of the salt in its Secret.
	saltKey = "salt"

	// maxTries is how often a write is tried that others' writes overtake:
	// two replicas and the operator, each of which writes rarely.
	maxTries = 5
)

// Secrets are the Secrets of the API server, live. Errors are the API
// server's.
type Secrets interface {
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	CreateSecret(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error)
	// SetKey sets one key of the Secret, which must be as it was read:
	// otherwise the error is a conflict.
	SetKey(ctx context.Context, secret *corev1.Secret, key string, value []byte) error
}

// vault keeps users' secrets, sealed, in Secrets of their namespaces.
type vault struct {
	secrets Secrets
	keys    *envelope.Keys
	// cluster names the installation in what is sealed.
	cluster string
	random  io.Reader
}

// seal stores value as the secret called name of the bridge.
func (v *vault) seal(ctx context.Context, b bridgeRef, name string, value []byte) error {
	for range maxTries {
		err := v.sealOnce(ctx, b, name, value)
		if !apierrors.IsConflict(err) {
			return err
		}
	}
	return fmt.Errorf("%w: seal for HostedBridge %s/%s", errConflict, b.namespace, b.name)
}

// sealOnce is seal, and its error a conflict when somebody else wrote
// meanwhile.
func (v *vault) sealOnce(ctx context.Context, b bridgeRef, name string, value []byte) error {
	store, err := v.owned(ctx, b, desired.Envelopes(b.name))
	if err != nil {
		return absent(err, errNotPrepared, "Secret", b.namespace, desired.Envelopes(b.name))
	}
	user, err := v.userToSeal(ctx, b, len(store.Data) == 0)
	if err != nil {
		return err
	}
	sealed, err := envelope.Seal(ctx, v.random, user, name, value)
	if err != nil {
		return err
	}
	err = v.secrets.SetKey(ctx, store, name, sealed)
	switch {
	case err == nil || apierrors.IsConflict(err):
		return err
	case apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err):
		return fmt.Errorf("%w: patch Secret %s/%s: %w", errTooMuch, store.Namespace, store.Name, err)
	}
	return absent(err, errNotPrepared, "Secret", store.Namespace, store.Name)
}

// open returns the bridge's secrets. All or none: a bridge that starts with
// some of its secrets would look healthy and fail its calls.
func (v *vault) open(ctx context.Context, b bridgeRef) (map[string][]byte, error) {
	opened := map[string][]byte{}
	store, err := v.owned(ctx, b, desired.Envelopes(b.name))
	if apierrors.IsNotFound(err) || err == nil && len(store.Data) == 0 {
		return opened, nil // Nothing was sealed yet.
	}
	if err != nil {
		return nil, absent(err, errInternal, "Secret", b.namespace, desired.Envelopes(b.name))
	}
	user, err := v.user(ctx, b)
	if err != nil {
		return nil, absent(err, errSaltMissing, "Secret", b.namespace, desired.Salt(b.name))
	}
	for name, sealed := range store.Data {
		opened[name], err = envelope.Open(ctx, user, name, sealed)
		if err != nil {
			wipe(opened)
			return nil, fmt.Errorf("%w: Secret %s/%s: %w", errUnreadable, b.namespace, store.Name, err)
		}
	}
	return opened, nil
}

// userToSeal returns the user's keys and makes the salt where none is needed
// to open what is there. A new salt beside old envelopes would hide that they
// are lost until the bridge starts next.
func (v *vault) userToSeal(ctx context.Context, b bridgeRef, first bool) (*envelope.User, error) {
	user, err := v.user(ctx, b)
	if first && apierrors.IsNotFound(err) {
		if err := v.createSalt(ctx, b); err != nil {
			return nil, err
		}
		user, err = v.user(ctx, b)
	}
	if err != nil {
		return nil, absent(err, errSaltMissing, "Secret", b.namespace, desired.Salt(b.name))
	}
	return user, nil
}

// user returns the user's keys, of the salt that is stored.
func (v *vault) user(ctx context.Context, b bridgeRef) (*envelope.User, error) {
	salt, err := v.owned(ctx, b, desired.Salt(b.name))
	if err != nil {
		return nil, err
	}
	user, err := v.keys.User(v.cluster, string(b.uid), salt.Data[saltKey])
	if err != nil {
		return nil, fmt.Errorf("%w: Secret %s/%s: %w", errUnreadable, b.namespace, salt.Name, err)
	}
	return user, nil
}

// createSalt makes the user's salt, which goes with the HostedBridge and
// cannot be changed. That another replica was first is no error.
func (v *vault) createSalt(ctx context.Context, b bridgeRef) error {
	salt := make([]byte, envelope.SaltSize)
	if _, err := io.ReadFull(v.random, salt); err != nil {
		return fmt.Errorf("choose salt: %w", err)
	}
	yes := true
	_, err := v.secrets.CreateSecret(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.namespace, Name: desired.Salt(b.name),
			Labels: map[string]string{
				v1alpha1.LabelName:      v1alpha1.NameValue,
				v1alpha1.LabelManagedBy: v1alpha1.FieldOwnerKeybroker,
				v1alpha1.LabelInstance:  desired.Instance(b.name),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: bridgeKind,
				Name: b.name, UID: b.uid, Controller: &yes,
			}},
		},
		Immutable: &yes,
		Type:      corev1.SecretTypeOpaque,
		Data:      map[string][]byte{saltKey: salt},
	})
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("%w: create Secret %s/%s: %w", errClusterAway, b.namespace, desired.Salt(b.name), err)
}

// owned returns the Secret if it belongs to the bridge. The API server's
// errors are returned as they are.
func (v *vault) owned(ctx context.Context, b bridgeRef, name string) (*corev1.Secret, error) {
	secret, err := v.secrets.Secret(ctx, b.namespace, name)
	if err != nil {
		return nil, err
	}
	owner := metav1.GetControllerOfNoCopy(secret)
	if owner == nil || !isBridge(owner) || owner.UID != b.uid {
		return nil, fmt.Errorf("%w: Secret %s/%s", errNotOwned, b.namespace, name)
	}
	if secret.DeletionTimestamp != nil {
		return nil, fmt.Errorf("%w: Secret %s/%s is being deleted", errNotPrepared, b.namespace, name)
	}
	return secret, nil
}

// wipe overwrites secrets that are not needed any more. It is best effort: the
// runtime may have copied them.
func wipe(secrets map[string][]byte) {
	for _, value := range secrets {
		clear(value)
	}
}

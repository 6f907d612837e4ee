// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Secrets are the API server's for the store of the keybroker, through the client of a
// test, so that a test sees and interrupts every write.
type Secrets struct{ client.Client }

// Secret reads a Secret.
func (s Secrets) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
}

// CreateSecret creates a Secret.
func (s Secrets) CreateSecret(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	return secret, s.Create(ctx, secret)
}

// PatchSecret sets these keys of a Secret that has not changed since it was read.
func (s Secrets) PatchSecret(ctx context.Context, secret *corev1.Secret, data map[string][]byte) (*corev1.Secret, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]string{"resourceVersion": secret.ResourceVersion}, "data": data})
	if err != nil {
		return nil, err
	}
	after := secret.DeepCopy()
	return after, s.Patch(ctx, after, client.RawPatch(types.MergePatchType, patch))
}

// DeleteSecret deletes this Secret and no other of its name.
func (s Secrets) DeleteSecret(ctx context.Context, secret *corev1.Secret) error {
	return s.Delete(ctx, secret, client.Preconditions{UID: &secret.UID})
}

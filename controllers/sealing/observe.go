// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// observe reads the Secrets of spec.secretRefs. In the installation's own
// namespace it reads none: the master key is one of them.
func (r *Reconciler) observe(ctx context.Context, b *v1alpha1.HostedBridge) (map[string]source, error) {
	sources := map[string]source{}
	for _, ref := range b.Spec.SecretRefs {
		if b.Namespace == r.Settings.Namespace {
			sources[ref.Name] = source{Refused: "this is the installation's own namespace: put the HostedBridge into another"}
			continue
		}
		secret := &corev1.Secret{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: ref.Name}, secret)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return sources, fmt.Errorf("get Secret %s: %w", ref.Name, err)
		}
		sources[ref.Name] = observedSource(secret)
	}
	return sources, nil
}

func observedSource(secret *corev1.Secret) source {
	s := source{
		UID: secret.UID, ResourceVersion: secret.ResourceVersion,
		Deleting: secret.DeletionTimestamp != nil, Refused: refusal(secret),
	}
	if s.Refused == "" {
		s.Data = secret.Data
	}
	return s
}

// refusal says why the Secret may not become a user's secret. A Secret that the
// installation made belongs to it or to another user, and a token of a
// ServiceAccount gives access to the API server.
func refusal(secret *corev1.Secret) string {
	owner := metav1.GetControllerOfNoCopy(secret)
	switch {
	case owner != nil && secretstore.IsBridge(owner), secret.Labels[v1alpha1.LabelName] == v1alpha1.NameValue:
		return "it belongs to the installation"
	case secret.Type == corev1.SecretTypeServiceAccountToken:
		return "it is the token of a ServiceAccount"
	}
	return ""
}

// wipe overwrites plaintexts that are not needed any more. It is best effort:
// the runtime may have copied them.
func wipe(sources map[string]source) {
	for _, s := range sources {
		for _, value := range s.Data {
			clear(value)
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CopyOf returns the Secret as a backup has it.
func CopyOf(t *testing.T, m *Memory, namespace, name string) *corev1.Secret {
	t.Helper()
	secret, err := m.Secret(t.Context(), namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	secret.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	return secret
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"maps"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	system  = "hosted-bridge-system"
	ringRef = "hosted-bridge-master-key"

	// canary is the value of a secret, which nothing may show.
	canary = "hb-canary-5b0e7a"
)

// ringSecret is a ring in a Secret.
func ringSecret(data map[string]string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: ringRef}, Data: map[string][]byte{}}
	for name, content := range data {
		secret.Data[name] = []byte(content)
	}
	return secret
}

func texts(data map[string][]byte) map[string]string {
	m := map[string]string{}
	for name := range maps.Keys(data) {
		m[name] = string(data[name])
	}
	return m
}

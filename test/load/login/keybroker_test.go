// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package login

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/test/load/broker"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// startKeybroker starts what signs access tokens, and gives the ingress what it
// proves itself by there.
func (w *world) startKeybroker(t *testing.T) *program {
	t.Helper()
	ring := filepath.Join(w.dir, "ring")
	authority, address := broker.Ring(t, ring), freeAddr(t)
	p := w.start(t, "keybroker", "--kubeconfig="+w.kubeconfig, "--namespace="+w.namespace, "--master-key-dir="+ring,
		"--listen="+address, "--probe-listen="+freeAddr(t), "--drain-delay=0s")
	p.awaitListener(t, address)
	w.keybroker = broker.Front(t, authority, w.namespace, address)
	testenv.ExpectApplied(t, w.client, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: broker.Account}})
	w.secret(t, "token", broker.Token(t, w.client, w.namespace))
	return p
}

func (w *world) token() string { return filepath.Join(w.dir, "token") }

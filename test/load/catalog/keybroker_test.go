// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package catalog

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/test/load/broker"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// startKeybroker starts what an ingress has its certificate from, without which
// it is not ready and keeps no connection, and gives it a token.
func (w *world) startKeybroker(t *testing.T) {
	t.Helper()
	ring := filepath.Join(w.dir, "ring")
	authority, address := broker.Ring(t, ring), freeAddr(t)
	p := w.start(t, "keybroker", "--kubeconfig="+w.kubeconfig, "--namespace="+w.namespace, "--master-key-dir="+ring,
		"--listen="+address, "--probe-listen="+freeAddr(t), "--drain-delay=0s")
	awaitListener(t, p, address)
	w.keybroker = broker.Front(t, authority, w.namespace, address)
	testenv.ExpectApplied(t, w.client, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: broker.Account}})
	if err := os.WriteFile(w.token(), []byte(broker.Token(t, w.client, w.namespace)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) token() string { return filepath.Join(w.dir, "token") }

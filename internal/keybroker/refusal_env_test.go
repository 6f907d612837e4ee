// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package keybroker

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// What the real API server refuses, in its own words.
func TestRefusalsOfARealAPIServer(t *testing.T) {
	i, admin := install(t), testenv.Client(t)
	for _, test := range []struct {
		name   string
		refuse func(t *testing.T, b *v1alpha1.HostedBridge)
		says   string
	}{
		{"a quota that is used up", func(t *testing.T, b *v1alpha1.HostedBridge) {
			none := corev1.ResourceList{"count/secrets": resource.MustParse("0")}
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "few"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
			testenv.ExpectApplied(t, admin, quota)
			// There is no controller that counts.
			quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
			must.Succeed(t, admin.Status().Update(t.Context(), quota))
		}, "exceeded quota: few, requested: count/secrets=1"},
		{"a namespace that goes", func(t *testing.T, b *v1alpha1.HostedBridge) {
			remove(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.Namespace}})
		}, "because it is being terminated"},
		{"envelopes that somebody made immutable", func(t *testing.T, b *v1alpha1.HostedBridge) {
			put(t, i.handler, path(b, "OTHER"), canary, http.StatusCreated)
			envelopes := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: v1alpha1.EnvelopesSecretName("alice")}}
			testenv.ExpectChanged(t, admin, envelopes, func() { envelopes.Immutable = new(true) })
		}, "Invalid (422), FieldValueForbidden data"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := bridge(t, testenv.Namespace(t, admin), "alice")
			test.refuse(t, b)
			code, _ := refusal(t, put(t, i.handler, path(b, "TOKEN"), canary, http.StatusInternalServerError))
			err := i.set(t, reference(b), "TOKEN", []byte(canary))
			if code != "cluster_refused" || !errors.Is(err, secretstore.ErrForbidden) || !strings.Contains(fmt.Sprint(err), test.says) {
				t.Errorf("%s, error %v, want %q", code, err, test.says)
			}
		})
	}
}

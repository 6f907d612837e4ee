// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TakeRole deletes a RoleBinding, as the end of its namespace does, and returns
// what makes it again.
func TakeRole(t *testing.T, c client.Client, namespace, name string) (giveBack func()) {
	t.Helper()
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	ExpectExists(t, c, binding)
	must.Succeed(t, c.Delete(t.Context(), binding.DeepCopy()))
	return func() {
		t.Helper()
		binding.ResourceVersion, binding.UID = "", ""
		ExpectApplied(t, c, binding)
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// Namespace makes a namespace for one test. An API server without controllers
// never empties a namespace, so each test has its own and leaves it.
func Namespace(t testing.TB, c client.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must.Succeed(t, c.Create(t.Context(), namespace))
	return namespace.Name
}

// ExpectApplied creates each object, or updates one that was read before.
func ExpectApplied(t testing.TB, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		var err error
		if object.GetUID() == "" {
			err = c.Create(t.Context(), object)
		} else {
			err = c.Update(t.Context(), object)
		}
		if err != nil {
			t.Fatalf("apply %T %s: %v", object, client.ObjectKeyFromObject(object), err)
		}
	}
}

// ExpectPresent creates each object that nobody has made yet.
func ExpectPresent(t testing.TB, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); client.IgnoreAlreadyExists(err) != nil {
			t.Fatalf("create %T %s: %v", object, client.ObjectKeyFromObject(object), err)
		}
	}
}

// ExpectReconciled runs the reconciler once for the object.
func ExpectReconciled(t testing.TB, r reconcile.Reconciler, object client.Object) reconcile.Result {
	t.Helper()
	result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	if err != nil {
		t.Fatalf("reconcile %s: %v", client.ObjectKeyFromObject(object), err)
	}
	return result
}

// ExpectConditions compares a bridge's conditions, as "True Reason" by type,
// with what the API server has, and reads the bridge again into b.
func ExpectConditions(t testing.TB, c client.Client, b *v1alpha1.HostedBridge, want map[string]string) {
	t.Helper()
	ExpectExists(t, c, b)
	for kind, expected := range want {
		got := "absent"
		if condition := meta.FindStatusCondition(b.Status.Conditions, kind); condition != nil {
			got = string(condition.Status) + " " + condition.Reason
		}
		if got != expected {
			t.Errorf("condition %s of %s is %q, want %q", kind, b.Name, got, expected)
		}
	}
}

// ExpectExists reads the object again.
func ExpectExists(t testing.TB, c client.Client, object client.Object) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatalf("get %T %s: %v", object, client.ObjectKeyFromObject(object), err)
	}
}

// ExpectChanged reads an object, changes it and writes it, again and again if a process
// writes it in between.
func ExpectChanged(t testing.TB, c client.Client, object client.Object, change func()) {
	t.Helper()
	expectChanged(t, c, object, change, func() error { return c.Update(t.Context(), object) })
}

// ExpectStatusChanged is ExpectChanged for the status.
func ExpectStatusChanged(t testing.TB, c client.Client, object client.Object, change func()) {
	t.Helper()
	expectChanged(t, c, object, change, func() error { return c.Status().Update(t.Context(), object) })
}

func expectChanged(t testing.TB, c client.Client, object client.Object, change func(), write func() error) {
	t.Helper()
	wait.Until(t, "the change is written", func() bool {
		ExpectExists(t, c, object)
		change()
		err := write()
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// ExpectMissing fails if the object exists.
func ExpectMissing(t testing.TB, c client.Client, object client.Object) {
	t.Helper()
	err := c.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(object), object)
	if !apierrors.IsNotFound(err) {
		t.Errorf("%T %s should not exist (error %v)", object, client.ObjectKeyFromObject(object), err)
	}
}

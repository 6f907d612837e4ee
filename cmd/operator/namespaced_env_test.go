// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// namespacedBridge is alice's, of whom there may be one in each namespace.
func namespacedBridge(namespace string) *v1alpha1.HostedBridge {
	return &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "in-" + namespace},
		Spec: v1alpha1.HostedBridgeSpec{
			UserID:     v1alpha1.UserID("user-of-" + namespace),
			SecretRefs: []v1alpha1.SecretRef{{Name: "source"}},
			Servers:    []v1alpha1.Server{{Name: "one", Transport: v1alpha1.Transport{URL: "https://mcp.example.com/mcp"}}},
		},
	}
}

func TestRunInNamespacedMode(t *testing.T) {
	c := installNamespaced(t)
	// It was there first, and has the user id of the one that is looked after.
	other := namespacedBridge(testenv.Elsewhere)
	other.Spec.UserID = "user-of-" + testenv.Tenants
	testenv.ExpectApplied(t, c, other)

	logs, stop := runNamespaced(t)
	for _, namespace := range []string{testenv.Tenants, testenv.Trials} {
		b := namespacedBridge(namespace)
		testenv.ExpectApplied(t, c, b)
		d := awaitDeployment(t, c, b)
		wait.Until(t, "the bridge is accepted, and the keybroker is seen", func() bool {
			testenv.ExpectExists(t, c, b)
			sealed := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSecretsSealed)
			return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionAccepted) && sealed != nil && sealed.Reason == v1alpha1.ReasonSealing
		})
		expectTold(t, c, b, d)
		expectWarned(t, c, namespace)
	}
	expectChecked(t, c, testenv.System)
	expectUntouched(t, c, other)
	running := logs.Bytes()
	stop()
	if bytes.Contains(running, []byte("forbidden")) || bytes.Contains(running, []byte(`"level":"ERROR"`)) {
		t.Errorf("the log has errors:\n%s", running)
	}
}

// installNamespaced makes what an operator needs that looks after two namespaces,
// with an API server where nothing is granted for the whole cluster.
func installNamespaced(t *testing.T) client.Client {
	t.Helper()
	p := testenv.StartControlPlane(t)
	t.Setenv("KUBECONFIG", p.InstallNamespaced("../..", "operator"))
	c := p.Client()
	testenv.ExpectApplied(t, c, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "hosted-bridge-ca"},
		Data:       map[string]string{"ca.crt": "certificate"},
	}, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: testenv.System, Name: "hosted-bridge-keybroker-a",
			Labels: map[string]string{discoveryv1.LabelServiceName: "hosted-bridge-keybroker"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
	})
	return c
}

// runNamespaced runs an operator that looks after two namespaces.
func runNamespaced(t *testing.T) (logs *logtest.Log, stop func()) {
	t.Helper()
	var o Options
	o.Declare()
	o.ProbeListen, o.MetricsListen = "127.0.0.1:0", "127.0.0.1:0"
	o.Namespace, o.WatchNamespaces = testenv.System, namespaces.Set{testenv.Tenants, testenv.Trials}
	logs = &logtest.Log{}
	return logs, testenv.Run(t, func(ctx context.Context) error { return run(ctx, o, slog.New(slog.NewJSONHandler(logs, nil))) })
}

func awaitDeployment(t *testing.T, c client.Client, b *v1alpha1.HostedBridge) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name + "-bridge"}}
	// An informer asks for a namespace that it was refused once in half a minute.
	wait.Until(t, "the Deployment of "+b.Name+" is made", func() bool { return c.Get(t.Context(), client.ObjectKeyFromObject(d), d) == nil })
	return d
}

// TestOtherNamespacesAreLookedAfterWhereOneIsGone starts an operator after a
// watched namespace was deleted, and with it the Role there.
func TestOtherNamespacesAreLookedAfterWhereOneIsGone(t *testing.T) {
	c := installNamespaced(t)
	giveBack := testenv.TakeRole(t, c, testenv.Trials, "hosted-bridge-operator-tenants")
	there, late := namespacedBridge(testenv.Tenants), namespacedBridge(testenv.Trials)
	testenv.ExpectApplied(t, c, there, late)

	logs, _ := runNamespaced(t)
	awaitDeployment(t, c, there)
	if said := logs.Bytes(); !bytes.Contains(said, []byte("is left out")) || !bytes.Contains(said, []byte(`in the namespace \"trials\"`)) {
		t.Errorf("the log does not name the namespace:\n%s", said)
	}
	expectUntouched(t, c, late)
	giveBack()
	awaitDeployment(t, c, late)
}

// expectUntouched expects that nothing was made of a bridge, or said of it.
func expectUntouched(t *testing.T, c client.Client, b *v1alpha1.HostedBridge) {
	t.Helper()
	testenv.ExpectExists(t, c, b)
	if len(b.Status.Conditions) > 0 || b.Status.Phase != "" {
		t.Errorf("the status of a bridge elsewhere is %+v", b.Status)
	}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ConfigMapList{}, &corev1.EventList{}, &corev1.ServiceAccountList{}} {
		must.Succeed(t, c.List(t.Context(), list, client.InNamespace(b.Namespace)))
		if n := meta.LenList(list); n > 0 {
			t.Errorf("%d of %T elsewhere", n, list)
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package tenantnamespace_test

import (
	"context"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/tenantnamespace"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.MainOfController(m)) }

// start runs the controller with caches as the operator has them, and returns a
// client without any.
func start(t *testing.T) client.Client {
	t.Helper()
	return startAs(t, false)
}

func startAs(t *testing.T, removeOnly bool) client.Client {
	t.Helper()
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})}
	objects := tenantnamespace.CacheOptions()
	objects[&corev1.Pod{}] = own
	m, err := ctrl.NewManager(testenv.Config(), ctrl.Options{
		Scheme: testenv.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{ByObject: objects, ReaderFailOnMissingInformer: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &tenantnamespace.Reconciler{
		Client: m.GetClient(), Live: m.GetAPIReader(), RemoveOnly: removeOnly,
		Network: bridgeobjects.Network{
			Namespace: "hosted-bridge-system",
			DNS:       bridgeobjects.DNS{Namespace: "kube-system", Labels: map[string]string{"k8s-app": "kube-dns"}, Port: 53},
		},
	}
	must.Succeed(t, r.Setup(m))
	testenv.Run(t, m.Start)
	return testenv.Client(t)
}

func bridge(namespace, name string) *v1alpha1.HostedBridge {
	return &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.HostedBridgeSpec{UserID: v1alpha1.UserID(namespace + "-" + name)}}
}

func policy(namespace string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: bridgeobjects.PolicyName}}
}

func podOf(namespace string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "alice-bridge-1", Labels: map[string]string{
			v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: v1alpha1.ComponentBridge, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "bridge", Image: "bridge"}}},
	}
}

func exists(t *testing.T, c client.Client, o client.Object) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

func TestANamespaceHasItsPolicyWhileItHasTenants(t *testing.T) {
	c := start(t)
	namespace := testenv.Namespace(t, c)
	alice, bob, p := bridge(namespace, "alice"), bridge(namespace, "bob"), policy(namespace)
	pod := podOf(namespace)
	testenv.ExpectApplied(t, c, alice, bob, pod)
	wait.Until(t, "the policy is made", func() bool { return exists(t, c, p) })
	if p.Spec.PodSelector.MatchLabels[v1alpha1.LabelComponent] != v1alpha1.ComponentBridge || len(p.Spec.PolicyTypes) != 2 {
		t.Errorf("policy %v", p.Spec)
	}
	version := p.ResourceVersion

	// What is changed is changed back.
	p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{})
	rules := len(p.Spec.Egress)
	testenv.ExpectApplied(t, c, p)
	wait.Until(t, "the change is undone", func() bool { return exists(t, c, p) && len(p.Spec.Egress) == rules-1 })
	if p.ResourceVersion == version {
		t.Error("nothing was written")
	}
	version = p.ResourceVersion

	// Neither another bridge nor the end of one writes anything.
	carol := bridge(namespace, "carol")
	testenv.ExpectApplied(t, c, carol)
	for _, b := range []client.Object{alice, carol} {
		must.Succeed(t, c.Delete(t.Context(), b))
	}
	other := testenv.Namespace(t, c)
	testenv.ExpectApplied(t, c, bridge(other, "dave"))
	wait.Until(t, "what came later is done", func() bool { return exists(t, c, policy(other)) })
	if !exists(t, c, p) || p.ResourceVersion != version {
		t.Errorf("the policy was written again: version %s, want %s", p.ResourceVersion, version)
	}

	// The pod of a bridge that is gone is held until it is gone too.
	must.Succeed(t, c.Delete(t.Context(), bob))
	later := testenv.Namespace(t, c)
	testenv.ExpectApplied(t, c, bridge(later, "erin"))
	wait.Until(t, "what came after the last bridge is done", func() bool { return exists(t, c, policy(later)) })
	if !exists(t, c, p) {
		t.Error("a pod still runs and is not held")
	}
	must.Succeed(t, c.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	wait.Until(t, "the policy is removed", func() bool { return !exists(t, c, policy(namespace)) })
}

// TestThePolicyHoldsAPodThatTheCacheDoesNotKnow has the last bridge deleted right after
// its pod was made.
func TestThePolicyHoldsAPodThatTheCacheDoesNotKnow(t *testing.T) {
	c := must.Value(client.NewWithWatch(testenv.Config(), client.Options{Scheme: testenv.Scheme()}))(t)
	namespace := testenv.Namespace(t, c)
	p, pod := policy(namespace), podOf(namespace)
	p.Labels = map[string]string{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}
	testenv.ExpectApplied(t, c, p, pod)
	late := interceptor.NewClient(c, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, pods := list.(*corev1.PodList); pods {
			return nil
		}
		return c.List(ctx, list, opts...)
	}})
	r := &tenantnamespace.Reconciler{Client: late, Live: c}
	request := reconcile.Request{NamespacedName: client.ObjectKey{Name: namespace}}
	must.Value(r.Reconcile(t.Context(), request))(t)
	if !exists(t, c, p) {
		t.Fatal("a pod runs and is not held")
	}
	must.Succeed(t, c.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	must.Value(r.Reconcile(t.Context(), request))(t)
	if exists(t, c, p) {
		t.Error("the policy is left")
	}
}

func TestSomebodyElsesPolicyIsLeftAlone(t *testing.T) {
	c := start(t)
	namespace := testenv.Namespace(t, c)
	foreign := policy(namespace)
	foreign.Spec.PodSelector = metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}}
	alice := bridge(namespace, "alice")
	testenv.ExpectApplied(t, c, foreign, alice)
	other := testenv.Namespace(t, c)
	testenv.ExpectApplied(t, c, bridge(other, "bob"))
	wait.Until(t, "what came later is done", func() bool { return exists(t, c, policy(other)) })
	must.Succeed(t, c.Delete(t.Context(), alice))
	later := testenv.Namespace(t, c)
	testenv.ExpectApplied(t, c, bridge(later, "carol"))
	wait.Until(t, "what came after the last bridge is done", func() bool { return exists(t, c, policy(later)) })
	found := policy(namespace)
	if !exists(t, c, found) || found.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the policy was touched: %v", found)
	}
}

func TestAPolicyThatWasLeftIsRemoved(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	left := policy(namespace)
	left.Labels = map[string]string{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}
	testenv.ExpectApplied(t, c, left)
	start(t)
	wait.Until(t, "it is removed", func() bool {
		return apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(left), left))
	})
}

// TestAnInstallationThatMakesNoPoliciesRemovesThem has tenants in the namespaces,
// whose policies one before it made.
func TestAnInstallationThatMakesNoPoliciesRemovesThem(t *testing.T) {
	c := testenv.Client(t)
	namespace, other := testenv.Namespace(t, c), testenv.Namespace(t, c)
	left, foreign := policy(namespace), policy(other)
	left.Labels = map[string]string{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}
	testenv.ExpectApplied(t, c, left, foreign, bridge(namespace, "alice"), bridge(other, "bob"))
	startAs(t, true)
	wait.Until(t, "it is removed", func() bool { return !exists(t, c, policy(namespace)) })
	// One that comes later goes too, and nobody else's.
	again := policy(namespace)
	again.Labels = left.Labels
	testenv.ExpectApplied(t, c, again, bridge(namespace, "carol"))
	wait.Until(t, "it is removed again", func() bool { return !exists(t, c, policy(namespace)) })
	if !exists(t, c, policy(other)) {
		t.Error("somebody else's policy is removed")
	}
}

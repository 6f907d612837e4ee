// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/hostedbridge"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.MainOfController(m)) }

// fixture is a reconciler on a real API server, without a cache: it reads what
// was just written, so that a test says exactly what it reconciles with.
type fixture struct {
	client.Client
	*hostedbridge.Reconciler
	reconciler reconcile.Reconciler
	clock      *clocktesting.FakeClock
	events     *events.FakeRecorder
	namespace  string
	// elsewhere is another namespace whose bridges the controller sees, empty for none.
	elsewhere string
}

// newFixture returns a fixture in namespaces of its own, with a keybroker that
// is ready and has published its certificate.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixtureWithoutTrust(t)
	f.publishTrust(t)
	f.keybroker(t, "a", new(true))
	return f
}

func newFixtureWithoutTrust(t *testing.T) *fixture {
	t.Helper()
	direct := must.Value(client.NewWithWatch(testenv.Config(), client.Options{Scheme: testenv.Scheme()}))(t)
	f := &fixture{
		clock:     clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		events:    events.NewFakeRecorder(64),
		namespace: testenv.Namespace(t, direct),
	}
	f.Reconciler = &hostedbridge.Reconciler{
		Recorder: f.events, Clock: f.clock, Live: direct,
		Settings: hostedbridge.Settings{
			Settings: bridgeobjects.Settings{
				BridgeImage: "hosted-bridge/bridge:test", KeybrokerURL: "https://keys:8443",
				RuntimeImageNode: "hosted-bridge/runtime-node:test", RuntimeImagePython: "hosted-bridge/runtime-python:test",
			},
			BaseURL:   "https://mcp.example.com",
			Namespace: testenv.Namespace(t, direct),
			Tiers:     quota.Defaults(),
		},
	}
	f.Settings.CatalogNamespace = f.Settings.Namespace
	f.use(indexed(direct))
	return f
}

// use makes the reconciler read and write through c.
func (f *fixture) use(c client.Client) {
	f.Client, f.Reconciler.Client = c, c
	f.reconciler = reconcile.AsReconciler[*v1alpha1.HostedBridge](c, f.Reconciler)
}

func (f *fixture) publishTrust(t *testing.T) {
	t.Helper()
	testenv.ExpectApplied(t, f.Client, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: "hosted-bridge-ca"},
		Data:       map[string]string{"ca.crt": "certificate"},
	})
}

// keybroker makes the EndpointSlice of that name say of one keybroker each
// whether it is ready. A nil is not known.
func (f *fixture) keybroker(t *testing.T, slice string, ready ...*bool) {
	t.Helper()
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.Settings.Namespace, Name: "hosted-bridge-keybroker-" + slice,
	}}
	if err := f.Get(t.Context(), client.ObjectKeyFromObject(s), s); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	s.Labels = map[string]string{"kubernetes.io/service-name": "hosted-bridge-keybroker"}
	s.AddressType = discoveryv1.AddressTypeIPv4
	s.Endpoints = nil
	for i, r := range ready {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.0.0.%d", i+1)},
			Conditions: discoveryv1.EndpointConditions{Ready: r},
		})
	}
	testenv.ExpectApplied(t, f.Client, s)
}

// named returns an object that has no more than b's name.
func named(b *v1alpha1.HostedBridge) *v1alpha1.HostedBridge {
	return &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
}

// report writes what the keybroker would write of the bridge's secrets, about
// its spec as it is.
func (f *fixture) report(t *testing.T, b *v1alpha1.HostedBridge, keyVersion int32, s v1alpha1.SecretsStatus) {
	t.Helper()
	testenv.ExpectExists(t, f.Client, b)
	s.ObservedGeneration = b.Generation
	status := apply.Status(v1alpha1.HostedBridgeStatus{KeyVersion: &keyVersion, Secrets: &s})
	must.Succeed(t, f.Status().Patch(t.Context(), named(b), status, client.FieldOwner(v1alpha1.FieldOwnerKeybroker), client.ForceOwnership))
}

// bridge returns a bridge called name whose user id no other test has.
func (f *fixture) bridge(name string, change ...func(*v1alpha1.HostedBridgeSpec)) *v1alpha1.HostedBridge {
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
		Spec: v1alpha1.HostedBridgeSpec{
			UserID:  v1alpha1.UserID(f.namespace + "-" + name),
			Servers: servers("everything"),
		},
	}
	for _, c := range change {
		c(&b.Spec)
	}
	return b
}

func servers(names ...string) []v1alpha1.Server {
	list := make([]v1alpha1.Server, 0, len(names))
	for _, n := range names {
		list = append(list, v1alpha1.Server{Name: n, Transport: v1alpha1.Transport{URL: "https://" + n + ".example.com/mcp"}})
	}
	return list
}

// change applies change to the stored spec.
func (f *fixture) change(t *testing.T, b *v1alpha1.HostedBridge, change func(*v1alpha1.HostedBridgeSpec)) {
	t.Helper()
	testenv.ExpectChanged(t, f.Client, b, func() { change(&b.Spec) })
}

// expect reconciles once and compares the conditions.
func (f *fixture) expect(t *testing.T, b *v1alpha1.HostedBridge, phase v1alpha1.Phase, conditions map[string]string) {
	t.Helper()
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectConditions(t, f.Client, b, conditions)
	if b.Status.Phase != phase {
		t.Errorf("phase of %s is %q, want %q", b.Name, b.Status.Phase, phase)
	}
}

// children returns the objects that a bridge called name has, empty.
func (f *fixture) children(name string) (*corev1.ServiceAccount, *appsv1.Deployment) {
	m := metav1.ObjectMeta{Namespace: f.namespace, Name: v1alpha1.WorkloadName(name)}
	return &corev1.ServiceAccount{ObjectMeta: m}, &appsv1.Deployment{ObjectMeta: m}
}

// configMap returns the ConfigMap that a bridge called name has, empty.
func (f *fixture) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: v1alpha1.WorkloadName(name)}}
}

// roll does what the Deployment controller and the kubelet would: it brings the
// Deployment's status and pods to what its spec wants.
func (f *fixture) roll(t *testing.T, b *v1alpha1.HostedBridge) {
	t.Helper()
	_, d := f.children(b.Name)
	var n int32
	testenv.ExpectStatusChanged(t, f.Client, d, func() {
		n = *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	})
	pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy()}
	pod.Namespace, pod.Name = f.namespace, d.Name+"-1"
	if n == 0 {
		now := int64(0)
		must.Succeed(t, f.Delete(t.Context(), pod, &client.DeleteOptions{GracePeriodSeconds: &now}))
		return
	}
	pod.Spec = corev1.PodSpec{Containers: []corev1.Container{{Name: "bridge", Image: "bridge"}}}
	testenv.ExpectApplied(t, f.Client, pod)
	// As a kubelet does it: the operator may have annotated the pod meanwhile.
	before := pod.DeepCopy()
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	must.Succeed(t, f.Status().Patch(t.Context(), pod, client.StrategicMergeFrom(before)))
}

// indexed reads by the controller's indexes.
func indexed(c client.WithWatch) testenv.Indexed {
	return testenv.Indexed{WithWatch: c, Values: func(o client.Object, field string) []string {
		for _, index := range hostedbridge.Indexes() {
			if index.Field == field && reflect.TypeOf(index.Object) == reflect.TypeOf(o) {
				return index.Values(o)
			}
		}
		return nil
	}}
}

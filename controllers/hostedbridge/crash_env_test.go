// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const (
	// writesPerProvision is how many writes a new bridge costs: ServiceAccount,
	// ConfigMap, Deployment, status.
	writesPerProvision = 4
	// writesPerChange is how many a change of one of its objects costs: that
	// object, status.
	writesPerChange = 2
)

func TestACrashAfterAnyWriteIsRepaired(t *testing.T) {
	steps := map[string]func(*v1alpha1.HostedBridgeSpec){
		"while it is made":      nil,
		"while it is suspended": func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateSuspended },
		"while it is changed":   func(s *v1alpha1.HostedBridgeSpec) { s.Servers = servers("one", "two") },
	}
	for name, change := range steps {
		want, writes := provisioned(t, change, 1000), writesOf(change)
		for n := 1; n <= writes; n++ {
			t.Run(fmt.Sprintf("%s, after write %d", name, n), func(t *testing.T) {
				if diff := cmp.Diff(want, provisioned(t, change, n)); diff != "" {
					t.Errorf("it is not what it is without a crash (-without +with):\n%s", diff)
				}
			})
		}
	}
}

func writesOf(change func(*v1alpha1.HostedBridgeSpec)) int {
	if change == nil {
		return writesPerProvision
	}
	return writesPerChange
}

// provisioned makes a bridge, changes it where there is a change, crashes after
// the n-th write of the last step, reconciles anew and returns all that is in
// its namespace then.
func provisioned(t *testing.T, change func(*v1alpha1.HostedBridgeSpec), n int) []string {
	t.Helper()
	f := newFixture(t)
	sound := f.Client
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	if change != nil {
		testenv.ExpectReconciled(t, f.reconciler, b)
		f.change(t, b, change)
	}
	c := &testenv.Crash{Limit: n}
	f.use(indexed(c.Client(sound.(testenv.Indexed).WithWatch)))
	_, err := f.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
	if c.Dead() != errors.Is(err, testenv.ErrCrash) {
		t.Fatalf("%d writes, error %v", c.Writes, err)
	}
	if want := writesOf(change); !c.Dead() && c.Writes != want {
		t.Errorf("%d writes, want %d", c.Writes, want)
	}
	f.use(sound)
	testenv.ExpectReconciled(t, f.reconciler, b)
	return f.inventory(t, b)
}

// inventory returns what is in the bridge's namespace, without what differs
// from one run to the next.
func (f *fixture) inventory(t *testing.T, b *v1alpha1.HostedBridge) []string {
	t.Helper()
	var found []string
	for _, list := range []client.ObjectList{&corev1.ServiceAccountList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.PodList{}, &appsv1.DeploymentList{}} {
		must.Succeed(t, f.List(t.Context(), list, client.InNamespace(f.namespace)))
		items := must.Value(meta.ExtractList(list))(t)
		for _, item := range items {
			o := item.(client.Object)
			found = append(found, fmt.Sprintf("%T %s of %d owners", o, o.GetName(), len(o.GetOwnerReferences())))
			switch o := o.(type) {
			case *appsv1.Deployment:
				found = append(found, fmt.Sprintf("%d replicas with %s", *o.Spec.Replicas, o.Spec.Template.Spec.Containers[0].Env))
			case *corev1.ConfigMap:
				found = append(found, strings.NewReplacer(f.namespace, "NS", string(b.UID), "UID").Replace(fmt.Sprint(o.Data)))
			}
		}
	}
	testenv.ExpectExists(t, f.Client, b)
	found = append(found, fmt.Sprintf("%s, generation %d", b.Status.Phase, b.Status.ObservedGeneration))
	for _, c := range b.Status.Conditions {
		found = append(found, fmt.Sprintf("%s %s %s %q", c.Type, c.Status, c.Reason, c.Message))
	}
	return found
}

func TestARefusalOfTheAPIServerIsSaidAndRetried(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) {
		memory := func(q string) corev1.ResourceList {
			return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(q)}
		}
		s.Resources = &corev1.ResourceRequirements{Requests: memory("64Mi"), Limits: memory("16Mi")}
	})
	testenv.ExpectApplied(t, f.Client, b)
	_, err := f.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
	if err == nil || !strings.Contains(err.Error(), "apply Deployment alice-bridge") {
		t.Errorf("error = %v, so that it is not retried or does not say what failed", err)
	}
	testenv.ExpectConditions(t, f.Client, b, conditions("True Accepted", "False ApplyFailed", "False ApplyFailed"))
	expectMessage(t, b, v1alpha1.ConditionWorkloadAvailable, "alice-bridge", "must be less than or equal to memory limit")
	if b.Status.Phase != v1alpha1.PhaseFailed || b.Status.ObservedGeneration != b.Generation {
		t.Errorf("phase %s, observed generation %d", b.Status.Phase, b.Status.ObservedGeneration)
	}

	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Resources = nil })
	f.expect(t, b, v1alpha1.PhasePending, progressing)
}

func TestAnAPIServerThatDoesNotAnswerChangesNoStatus(t *testing.T) {
	f := newFixture(t)
	sound := f.Client.(testenv.Indexed)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, available)
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = servers("another") })
	version := b.ResourceVersion
	for name, failure := range map[string]error{
		"too busy": apierrors.NewTooManyRequests("busy", 1), "unavailable": apierrors.NewServiceUnavailable("starting"),
		"late": context.DeadlineExceeded, "unreachable": errors.New("connection refused"),
	} {
		f.use(indexed(interceptor.NewClient(sound.WithWatch, interceptor.Funcs{
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return failure
			},
		})))
		_, err := f.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		if !errors.Is(err, failure) {
			t.Errorf("%s: error = %v, so that it is not retried", name, err)
		}
	}
	testenv.ExpectConditions(t, f.Client, b, available)
	if b.ResourceVersion != version {
		t.Error("the status was written")
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// versions returns the resource versions of the bridge and of its objects.
func (f *fixture) versions(t *testing.T, b *v1alpha1.HostedBridge) map[string]string {
	t.Helper()
	account, d := f.children(b.Name)
	versions := map[string]string{}
	for name, o := range map[string]client.Object{"bridge": b, "account": account, "config": f.configMap(b.Name), "deployment": d} {
		testenv.ExpectExists(t, f.Client, o)
		versions[name] = o.GetResourceVersion()
	}
	return versions
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", alwaysRunning)
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	before := f.versions(t, b)
	asked := &testenv.Crash{Limit: 1000}
	f.use(indexed(asked.Client(f.Client.(testenv.Indexed).WithWatch)))
	for range 5 {
		f.clock.Step(time.Hour)
		testenv.ExpectReconciled(t, f.reconciler, b)
	}
	if diff := cmp.Diff(before, f.versions(t, b)); diff != "" || asked.Writes > 0 {
		t.Errorf("a reconcile without a cause asked for %d writes and wrote (-before +after):\n%s", asked.Writes, diff)
	}

	// A status event of the Deployment that means nothing to the bridge.
	_, d := f.children("alice")
	testenv.ExpectStatusChanged(t, f.Client, d, func() {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
		})
	})
	before["deployment"] = d.ResourceVersion
	f.clock.Step(time.Hour)
	testenv.ExpectReconciled(t, f.reconciler, b)
	if diff := cmp.Diff(before, f.versions(t, b)); diff != "" {
		t.Errorf("a reconcile after the Deployment's status wrote (-before +after):\n%s", diff)
	}
}

func TestWhatOthersWriteIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	_, d := f.children("alice")
	active := metav1.NewTime(time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC))

	patch := func(o client.Object, p client.Patch, body any, owner string) {
		t.Helper()
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if owner == v1alpha1.FieldOwnerIngress {
			err = f.Status().Patch(t.Context(), o, client.RawPatch(p.Type(), data), client.FieldOwner(owner))
		} else {
			err = f.Patch(t.Context(), o, client.RawPatch(p.Type(), data), client.FieldOwner(owner))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	merge := client.RawPatch(types.MergePatchType, nil)
	patch(b, merge, map[string]any{"status": map[string]any{"servers": "1/1", "tools": 7, "lastActivityTime": active}}, v1alpha1.FieldOwnerIngress)
	f.report(t, b, 2, sealed(1, "0123456789abcdef"))
	// What `kubectl rollout restart` and `kubectl annotate` send.
	restart := map[string]any{"kubectl.kubernetes.io/restartedAt": "2026-02-03T04:05:06Z"}
	patch(d, client.RawPatch(types.StrategicMergePatchType, nil), map[string]any{"spec": map[string]any{
		"template": map[string]any{"metadata": map[string]any{"annotations": restart}}}}, "kubectl-rollout")
	patch(d, merge, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"example.com/note": "mine"}}}, "kubectl-annotate")

	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = servers("one", "two") })
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	testenv.ExpectExists(t, f.Client, d)
	if b.Status.Servers != "1/1" || ptr.Deref(b.Status.Tools, 0) != 7 || !b.Status.LastActivityTime.Equal(&active) {
		t.Errorf("the ingress's status is now %+v", b.Status)
	}
	if ptr.Deref(b.Status.KeyVersion, 0) != 2 || b.Status.Secrets == nil || b.Status.Secrets.Revision != "0123456789abcdef" {
		t.Errorf("the keybroker's status is now %+v", b.Status)
	}
	if d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] == "" || d.Annotations["example.com/note"] != "mine" {
		t.Errorf("annotations are now %v, %v", d.Annotations, d.Spec.Template.Annotations)
	}
	if got := d.Spec.Template.Annotations[v1alpha1.AnnotationBridgeUID]; got != string(b.UID) {
		t.Errorf("the pod's bridge is %q", got)
	}
}

func TestTheOperatorOwnsItsFieldsAndNoOthers(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	for _, entry := range b.ManagedFields {
		if entry.Manager != v1alpha1.FieldOwnerOperator {
			continue
		}
		fields := entry.FieldsV1.GetRawString()
		if entry.Subresource != "status" || entry.Operation != metav1.ManagedFieldsOperationApply || strings.Contains(fields, "f:spec") {
			t.Errorf("the operator owns outside the status: %s", fields)
		}
		for _, others := range []string{"f:servers", "f:tools", "f:lastActivityTime", "f:secrets", "f:keyVersion"} {
			if strings.Contains(fields, others) {
				t.Errorf("the operator owns %s", others)
			}
		}
	}
}

func TestDriftIsCorrected(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	_, d := f.children("alice")
	testenv.ExpectChanged(t, f.Client, d, func() {
		d.Spec.Replicas = ptr.To[int32](3)
		d.Spec.Template.Spec.Containers[0].Image = "example.com/other"
		d.Spec.Template.Spec.AutomountServiceAccountToken = new(true)
	})
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, d)
	spec := d.Spec.Template.Spec
	if *d.Spec.Replicas != 1 || spec.Containers[0].Image != "hosted-bridge/bridge:test" || *spec.AutomountServiceAccountToken {
		t.Errorf("still %d replicas of %s, token mounted %v", *d.Spec.Replicas, spec.Containers[0].Image, *spec.AutomountServiceAccountToken)
	}
}

func TestObjectsOfOthersAreRefused(t *testing.T) {
	owners := map[string]struct {
		refs     []metav1.OwnerReference
		workload string
		phase    v1alpha1.Phase
		says     string
	}{
		"nobody's": {nil, "False NotOwned", v1alpha1.PhaseFailed, "belongs to nobody"},
		"another controller's": {
			[]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "1", Controller: new(true)}},
			"False NotOwned", v1alpha1.PhaseFailed, "belongs to StatefulSet db"},
		"owned by the bridge, but not controlled": {
			[]metav1.OwnerReference{{APIVersion: "hostedbridge.dev/v1alpha1", Kind: "HostedBridge", Name: "alice", UID: "2"}},
			"False NotOwned", v1alpha1.PhaseFailed, "belongs to nobody"},
		"the deleted namesake's": {
			[]metav1.OwnerReference{{APIVersion: "hostedbridge.dev/v1alpha1", Kind: "HostedBridge", Name: "alice", UID: "3", Controller: new(true)}},
			"False Progressing", v1alpha1.PhasePending, "is not removed yet"},
	}
	for name, owner := range owners {
		for _, kind := range []string{"ServiceAccount", "ConfigMap", "Deployment"} {
			t.Run(kind+" of "+name, func(t *testing.T) {
				f := newFixture(t)
				foreign := f.foreign(kind)
				foreign.SetOwnerReferences(owner.refs)
				testenv.ExpectApplied(t, f.Client, foreign)
				version := foreign.GetResourceVersion()
				b := f.bridge("alice")
				testenv.ExpectApplied(t, f.Client, b)

				f.expect(t, b, owner.phase, conditions("True Accepted", owner.workload, owner.workload))
				expectMessage(t, b, v1alpha1.ConditionWorkloadAvailable, kind+" "+foreign.GetName(), owner.says)
				testenv.ExpectExists(t, f.Client, foreign)
				if foreign.GetResourceVersion() != version {
					t.Error("it was written to")
				}
				if _, d := f.children("alice"); kind != "Deployment" {
					testenv.ExpectMissing(t, f.Client, d)
				}

				must.Succeed(t, f.Delete(t.Context(), foreign))
				f.expect(t, b, v1alpha1.PhasePending, progressing)
				_, d := f.children("alice")
				testenv.ExpectExists(t, f.Client, d)
			})
		}
	}
}

// foreign returns an object that has the name a bridge called alice needs.
func (f *fixture) foreign(kind string) client.Object {
	account, d := f.children("alice")
	labels := map[string]string{"app": "other"}
	d.Spec = appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "other"}}},
		},
	}
	return map[string]client.Object{"ServiceAccount": account, "ConfigMap": f.configMap("alice"), "Deployment": d}[kind]
}

func TestAForeignObjectIsLookedAtAgain(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, f.foreign("ServiceAccount"), b)
	if got := testenv.ExpectReconciled(t, f.reconciler, b).RequeueAfter; got != time.Minute {
		t.Errorf("looked at again after %s, want a minute: its deletion is not watched", got)
	}
}

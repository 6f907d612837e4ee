// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// keeps returns a change that gives a bridge a program with storage.
func keeps(name, size string, retention v1alpha1.StorageRetention) func(*v1alpha1.HostedBridgeSpec) {
	return func(s *v1alpha1.HostedBridgeSpec) {
		s.Servers = append(s.Servers, v1alpha1.Server{Name: name, Transport: v1alpha1.Transport{
			Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{
				Image: "registry.example.com/" + name + ":1", Command: []string{"/" + name},
				Storage: &v1alpha1.StdioStorage{Size: v1alpha1.StorageSize(size), Retention: retention},
			},
		}})
	}
}

// claim returns the claim of a server as it is stored, nil if it is not there.
func (f *fixture) claim(t *testing.T, bridge, server string) *corev1.PersistentVolumeClaim {
	t.Helper()
	c := &corev1.PersistentVolumeClaim{}
	err := f.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: server + "." + bridge + "-bridge"}, c)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// collect does what Kubernetes' garbage collector and its protection of claims do
// when a bridge is deleted, of which the API server alone has neither.
func (f *fixture) collect(t *testing.T, b *v1alpha1.HostedBridge) {
	t.Helper()
	var claims corev1.PersistentVolumeClaimList
	must.Succeed(t, f.List(t.Context(), &claims, client.InNamespace(f.namespace)))
	for i := range claims.Items {
		c := &claims.Items[i]
		if b != nil && metav1.IsControlledBy(c, b) {
			must.Succeed(t, f.Delete(t.Context(), c))
			testenv.ExpectExists(t, f.Client, c)
		}
		if c.DeletionTimestamp != nil && len(c.Finalizers) > 0 {
			c.Finalizers = nil
			must.Succeed(t, f.Update(t.Context(), c))
		}
	}
}

// forget deletes the other objects of a deleted bridge, as the garbage collector does.
func (f *fixture) forget(t *testing.T, name string) {
	t.Helper()
	account, d := f.children(name)
	for _, o := range []client.Object{account, d, f.configMap(name)} {
		if err := f.Delete(t.Context(), o); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

func TestAServersClaimIsMadeAndOutlivesSleepAndAnotherVersion(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", keeps("memory", "100Mi", ""))
	testenv.ExpectApplied(t, f.Client, b)
	f.expect(t, b, v1alpha1.PhasePending, progressing)

	made := f.claim(t, "alice", "memory")
	if made == nil {
		t.Fatal("there is no claim")
	}
	if size := made.Spec.Resources.Requests[corev1.ResourceStorage]; size.String() != "100Mi" || len(made.OwnerReferences) > 0 ||
		len(made.Spec.AccessModes) != 1 || made.Spec.AccessModes[0] != corev1.ReadWriteOncePod {
		t.Errorf("the claim has %s, owners %v, modes %v", size.String(), made.OwnerReferences, made.Spec.AccessModes)
	}
	_, d := f.children("alice")
	testenv.ExpectExists(t, f.Client, d)
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, m := range c.VolumeMounts {
			if m.Name == "data-memory" && (c.Name != "stdio-memory" || m.MountPath != "/data") {
				t.Errorf("container %s has the volume at %s", c.Name, m.MountPath)
			}
		}
	}

	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, available)
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateSuspended })
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseSuspended, suspended)
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) {
		s.DesiredState = v1alpha1.StateRunning
		s.Servers[1].Transport.Stdio.Image = "registry.example.com/memory:2"
	})
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	if c := f.claim(t, "alice", "memory"); c == nil || c.UID != made.UID || c.ResourceVersion != made.ResourceVersion {
		t.Errorf("the claim is not as it was: %v", c)
	}
}

func TestRetainedClaimsReturnToTheSameUserAndToNobodyElse(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", keeps("memory", "100Mi", ""), keeps("scratch", "100Mi", v1alpha1.StorageDelete))
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	made := f.claim(t, "alice", "memory")
	if made == nil || f.claim(t, "alice", "scratch") == nil {
		t.Fatal("there are no claims")
	}
	must.Succeed(t, f.Delete(t.Context(), b))
	f.collect(t, b)
	if c := f.claim(t, "alice", "scratch"); c != nil {
		t.Errorf("the claim that goes with its bridge is there: %v", c.OwnerReferences)
	}

	f.forget(t, "alice")

	// Somebody else's bridge has the name now.
	other := f.bridge("alice", keeps("memory", "100Mi", ""))
	other.Spec.UserID += "-other"
	testenv.ExpectApplied(t, f.Client, other)
	f.expect(t, other, v1alpha1.PhaseFailed, conditions("True Accepted", "False NotOwned", "False NotOwned"))
	expectMessage(t, other, v1alpha1.ConditionReady, "PersistentVolumeClaim memory.alice-bridge")
	must.Succeed(t, f.Delete(t.Context(), other))

	f.forget(t, "alice")

	again := f.bridge("alice", keeps("memory", "100Mi", ""))
	testenv.ExpectApplied(t, f.Client, again)
	f.expect(t, again, v1alpha1.PhasePending, progressing)
	if c := f.claim(t, "alice", "memory"); c == nil || c.UID != made.UID || c.DeletionTimestamp != nil {
		t.Errorf("the user does not get the claim back: %v", c)
	}
}

func TestAClaimGoesWithItsServerOnlyIfTheSpecSaidSo(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", keeps("memory", "100Mi", ""), keeps("scratch", "100Mi", v1alpha1.StorageDelete))
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = s.Servers[:1] })
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.collect(t, nil)
	if f.claim(t, "alice", "scratch") != nil || f.claim(t, "alice", "memory") == nil {
		t.Errorf("scratch: %v, memory: %v", f.claim(t, "alice", "scratch"), f.claim(t, "alice", "memory"))
	}
	// A server that is named again has an empty volume, or the retained one.
	f.change(t, b, keeps("scratch", "50Mi", ""))
	testenv.ExpectReconciled(t, f.reconciler, b)
	if c := f.claim(t, "alice", "scratch"); c == nil || c.DeletionTimestamp != nil {
		t.Errorf("the claim is %v", c)
	}
}

// TestARetainedClaimStaysWhateverTheSpecSaysLater also shows that a claim which would be deleted
// can become one that is retained.
func TestARetainedClaimStaysWhateverTheSpecSaysLater(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", keeps("memory", "100Mi", ""), keeps("scratch", "100Mi", v1alpha1.StorageDelete))
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) {
		s.Servers[1].Transport.Stdio.Storage.Retention = v1alpha1.StorageDelete
		s.Servers[2].Transport.Stdio.Storage.Retention = v1alpha1.StorageRetain
	})
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	for _, server := range []string{"memory", "scratch"} {
		if c := f.claim(t, "alice", server); c == nil || len(c.OwnerReferences) > 0 {
			t.Errorf("the claim of %s has the owners %v", server, c.OwnerReferences)
		}
	}
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = s.Servers[:1] })
	testenv.ExpectReconciled(t, f.reconciler, b)
	must.Succeed(t, f.Delete(t.Context(), b))
	f.collect(t, b)
	if f.claim(t, "alice", "memory") == nil || f.claim(t, "alice", "scratch") == nil {
		t.Errorf("memory: %v, scratch: %v", f.claim(t, "alice", "memory"), f.claim(t, "alice", "scratch"))
	}
}

func TestStorageBeyondTheTierIsRefusedAndLeavesWhatRuns(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", keeps("memory", "600Mi", ""))
	testenv.ExpectApplied(t, f.Client, b)
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, available)

	f.change(t, b, keeps("second", "600Mi", ""))
	f.expect(t, b, v1alpha1.PhaseFailed, conditions("False TierLimitExceeded", "True Available", "False TierLimitExceeded"))
	expectMessage(t, b, v1alpha1.ConditionAccepted, "spec.servers[2].transport.stdio.storage.size", "server second", "1200Mi", `tier "free"`, "at most 1Gi")
	if c := f.claim(t, "alice", "second"); c != nil {
		t.Errorf("there is a claim of %v", c.Spec.Resources.Requests)
	}
	// Storage that is retained counts, also if its server has left the spec.
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = append(s.Servers[:1], s.Servers[2]) })
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	expectMessage(t, b, v1alpha1.ConditionAccepted, "memory.alice-bridge")
}

func TestAClaimThatIsNotTheBridgesIsNotTaken(t *testing.T) {
	f := newFixture(t)
	foreign := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "memory.alice-bridge"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	testenv.ExpectApplied(t, f.Client, foreign)
	b := f.bridge("alice", keeps("memory", "100Mi", ""))
	testenv.ExpectApplied(t, f.Client, b)
	f.expect(t, b, v1alpha1.PhaseFailed, conditions("True Accepted", "False NotOwned", "False NotOwned"))
	if c := f.claim(t, "alice", "memory"); c == nil || c.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the claim was changed: %v", c)
	}
}

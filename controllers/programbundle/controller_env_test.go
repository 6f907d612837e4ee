// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package programbundle

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.MainOfController(m)) }

// fixture is a reconciler on a real API server, without a cache and without a controller of Jobs.
type fixture struct {
	*Reconciler
	t        *testing.T
	clock    *clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
	users    int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	c := testenv.Client(t)
	f := &fixture{t: t, clock: clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second)), recorder: events.NewFakeRecorder(10), users: 1}
	f.Reconciler = &Reconciler{
		Client: c, Live: c, Recorder: f.recorder, Clock: f.clock,
		Settings: Settings{
			Installing: bridgeobjects.Installing{
				Image: "node:1", PackerImage: "ingress:1", KeybrokerURL: "https://keys:8443", StoreURL: "https://store:8444",
				MaxBytes: 1 << 30, Env: []string{"npm_config_registry=https://r.example.com"}, Authorities: "PEM",
			},
			Namespace: testenv.Namespace(t, c), MaxJobs: 2, Retention: time.Hour,
		},
		UsersOf: func(context.Context, v1alpha1.ProgramBundleSpec) ([]v1alpha1.HostedBridge, error) {
			return make([]v1alpha1.HostedBridge, f.users), nil
		},
	}
	return f
}

func (f *fixture) bundle(name string) *v1alpha1.ProgramBundle {
	f.t.Helper()
	b := unmade()
	b.ObjectMeta = metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: name}
	testenv.ExpectApplied(f.t, f.Client, b)
	return b
}

// reconcile reconciles once, reads b again and returns the reason of its condition Ready.
func (f *fixture) reconcile(b *v1alpha1.ProgramBundle) string {
	f.t.Helper()
	testenv.ExpectReconciled(f.t, reconcile.AsReconciler(f.Client, f.Reconciler), b)
	testenv.ExpectExists(f.t, f.Client, b)
	return meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady).Reason
}

// finish has the Job of b end with what its packer wrote.
func (f *fixture) finish(b *v1alpha1.ProgramBundle, o bundle.Outcome) {
	f.t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: bridgeobjects.InstallJobName(b)}}
	testenv.ExpectExists(f.t, f.Client, job)
	template := job.Spec.Template
	template.Labels[batchv1.JobNameLabel] = job.Name
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: job.Name, Labels: template.Labels}, Spec: template.Spec}
	pod.Spec.ServiceAccountName = ""
	testenv.ExpectApplied(f.t, f.Client, pod)
	testenv.ExpectStatusChanged(f.t, f.Client, pod, func() {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: bridgeobjects.PackContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: wrote(o)}},
		}}
	})
	at := metav1.NewTime(f.clock.Now())
	testenv.ExpectStatusChanged(f.t, f.Client, job, func() {
		job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &at, &at, 1
		job.Status.UncountedTerminatedPods = nil
		job.Status.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: at},
			{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: at},
		}
	})
}

func TestAPackageIsInstalledOnceAndAgainAfterAFailure(t *testing.T) {
	f := newFixture(t)
	b := f.bundle("server")
	if got := f.reconcile(b); got != v1alpha1.ReasonInstalling {
		t.Fatalf("first: %s", got)
	}
	first := bridgeobjects.InstallJobName(b)
	f.finish(b, bundle.Outcome{Code: bundle.VersionNotFound, Message: "there is no such version"})
	if got := f.reconcile(b); got != string(bundle.VersionNotFound) || b.Status.Attempts != 1 || b.Status.RetryTime == nil {
		t.Fatalf("after a failure: %s, %+v", got, b.Status)
	}
	if said := <-f.recorder.Events; !strings.Contains(said, "Warning VersionNotFound there is no such version") {
		t.Errorf("the event is %q", said)
	}
	if bridgeobjects.InstallJobName(b) == first {
		t.Error("the next attempt has the Job of the first")
	}
	testenv.ExpectMissing(t, f.Client, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: bridgeobjects.InstallJobName(b)}})
	f.clock.SetTime(b.Status.RetryTime.Add(time.Second))
	if got := f.reconcile(b); got != v1alpha1.ReasonInstalling {
		t.Fatalf("the second attempt: %s", got)
	}
	f.finish(b, bundle.Outcome{
		Digest: bundle.Digest(digest), Size: 5 << 20, CompressedSize: 1 << 20, Packages: 2, Bins: map[string]string{"server": "node_modules/server/index.js"}, Bin: "server",
	})
	if got := f.reconcile(b); got != v1alpha1.ReasonReady || b.Status.Digest != digest || b.Status.Attempts != 0 || b.Status.RetryTime != nil || b.Status.Programs[0].Path == "" || b.Status.Image != "node:1" {
		t.Fatalf("installed: %s, %+v", got, b.Status)
	}
	version := b.ResourceVersion
	if f.reconcile(b); b.ResourceVersion != version {
		t.Error("the status was written again")
	}
}

func TestABundleChangesByDeletionAlone(t *testing.T) {
	f := newFixture(t)
	b := f.bundle("server")
	b.Spec.Version = "1.2.4"
	if err := f.Client.Update(t.Context(), b); err == nil || !strings.Contains(err.Error(), "delete the ProgramBundle to have it made again") {
		t.Errorf("another version: %v", err)
	}
}

func TestAsManyPackagesAreInstalledAtOnceAsMayBe(t *testing.T) {
	f := newFixture(t)
	var jobs batchv1.JobList
	for _, name := range []string{"one", "two", "three"} {
		f.reconcile(f.bundle(name))
	}
	must.Succeed(t, f.Client.List(t.Context(), &jobs, client.InNamespace(f.Settings.Namespace)))
	if len(jobs.Items) != 2 {
		t.Errorf("%d Jobs", len(jobs.Items))
	}
}

func TestABundleThatNobodyUsesIsDeletedAfterATime(t *testing.T) {
	f := newFixture(t)
	b := f.bundle("server")
	f.reconcile(b)
	f.finish(b, bundle.Outcome{Digest: bundle.Digest(digest), Size: 1, CompressedSize: 1, Bins: map[string]string{"server": "index.js"}, Bin: "server"})
	f.reconcile(b)
	f.users = 0
	if f.reconcile(b); b.Status.UnusedSince == nil {
		t.Fatalf("%+v", b.Status)
	}
	f.users = 1
	if f.reconcile(b); b.Status.UnusedSince != nil {
		t.Fatal("a bundle that is used again is called unused")
	}
	f.users = 0
	f.reconcile(b)
	f.clock.SetTime(f.clock.Now().Add(time.Hour))
	testenv.ExpectReconciled(t, reconcile.AsReconciler(f.Client, f.Reconciler), b)
	testenv.ExpectMissing(t, f.Client, b)
}

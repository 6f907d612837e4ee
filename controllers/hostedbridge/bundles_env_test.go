// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/hostedbridge"
	"github.com/hostedbridge/hostedbridge/controllers/programbundle"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestAProgramIsStartedFromItsBundleWithoutAnotherPod has two bridges run a package for the
// first time.
func TestAProgramIsStartedFromItsBundleWithoutAnotherPod(t *testing.T) {
	f := newFixture(t)
	f.Settings.Bundles.Settings = bundling.Settings{Architecture: "amd64"}
	f.Settings.BundlesURL = "https://store:8444"
	bridges := []*v1alpha1.HostedBridge{}
	for _, name := range []string{"alice", "bob"} {
		b := f.bridge(name, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = programs("files") })
		testenv.ExpectApplied(t, f.Client, b)
		testenv.ExpectReconciled(t, f.reconciler, b)
		bridges = append(bridges, b)
	}
	var made v1alpha1.ProgramBundleList
	must.Succeed(t, f.List(t.Context(), &made, client.InNamespace(f.Settings.Namespace)))
	if len(made.Items) != 1 || bundling.PackageOf(made.Items[0].Spec.Install) != "server@1.0.0" {
		t.Fatalf("%d bundles", len(made.Items))
	}
	users := must.Value(hostedbridge.UsersOf(f.Client)(t.Context(), made.Items[0].Spec))(t)
	if len(users) < 2 {
		t.Errorf("%d bridges use it", len(users))
	}
	_, before := f.children("alice")
	testenv.ExpectExists(t, f.Client, before)
	expectTold := func(parts ...string) {
		t.Helper()
		told := f.configMap("alice")
		testenv.ExpectExists(t, f.Client, told)
		for _, part := range parts {
			if !strings.Contains(told.Data["config.json"], part) {
				t.Errorf("the ConfigMap lacks %s: %s", part, told.Data["config.json"])
			}
		}
	}
	expectTold(`"pending":{"reason":"its package is being installed for the first time"`)

	bundle := &made.Items[0]
	testenv.ExpectStatusChanged(t, f.Client, bundle, func() {
		bundle.Status.Digest, bundle.Status.Bytes, bundle.Status.Program = "sha256:"+strings.Repeat("ab", 32), 12, "server"
		bundle.Status.Programs = []v1alpha1.BundledProgram{{Name: "server", Path: "node_modules/server/index.js"}}
		bundle.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady, LastTransitionTime: metav1.Now()}}
	})
	testenv.ExpectReconciled(t, f.reconciler, bridges[0])
	expectTold(`"command":["node","/hosted-bridge-bundles/`+strings.Repeat("ab", 32)+`/node_modules/server/index.js"]`, `"architecture":"amd64"`)
	_, after := f.children("alice")
	testenv.ExpectExists(t, f.Client, after)
	if before.ResourceVersion != after.ResourceVersion {
		t.Error("the Deployment was written")
	}
	must.Succeed(t, f.Delete(t.Context(), bundle))
	testenv.ExpectReconciled(t, f.reconciler, bridges[0])
	expectTold(`"pending"`)
	testenv.ExpectExists(t, f.Client, bundle)
}

// TestAPodKeepsTheImageThatItMountsUnlessItsNodeCannotMountIt has an installation with a registry.
func TestAPodKeepsTheImageThatItMountsUnlessItsNodeCannotMountIt(t *testing.T) {
	const repository = "registry.example.com/bundles"
	image, later := repository+"@sha256:"+strings.Repeat("cd", 32), repository+"@sha256:"+strings.Repeat("ef", 32)
	f := newFixture(t)
	f.Settings.Bundles.Settings = bundling.Settings{Architecture: "amd64", Repository: repository}
	f.Settings.BundlesURL = "https://store:8444"
	start := func(name string) *v1alpha1.HostedBridge {
		t.Helper()
		b := f.bridge(name, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = programs("files") })
		testenv.ExpectApplied(t, f.Client, b)
		testenv.ExpectReconciled(t, f.reconciler, b)
		return b
	}
	mounts := func(name string) string {
		t.Helper()
		_, d := f.children(name)
		testenv.ExpectExists(t, f.Client, d)
		return bridgeobjects.MountedImages(d.Spec.Template.Spec)["files"]
	}
	first := start("first")
	var made v1alpha1.ProgramBundleList
	must.Succeed(t, f.List(t.Context(), &made, client.InNamespace(f.Settings.Namespace)))
	bundle := &made.Items[0]
	uploaded := func(reference string) {
		t.Helper()
		testenv.ExpectStatusChanged(t, f.Client, bundle, func() {
			bundle.Status.Digest, bundle.Status.Bytes, bundle.Status.Program, bundle.Status.Reference = "sha256:"+strings.Repeat("ab", 32), 12, "server", reference
			bundle.Status.Programs = []v1alpha1.BundledProgram{{Name: "server", Path: "index.js"}}
		})
	}
	uploaded(image)
	testenv.ExpectReconciled(t, f.reconciler, first)
	if got := mounts("first"); got != "" {
		t.Errorf("a pod is replaced by one that mounts %s", got)
	}
	second := start("second")
	if got := mounts("second"); got != image {
		t.Errorf("a new pod mounts %q", got)
	}
	uploaded(later)
	testenv.ExpectReconciled(t, f.reconciler, second)
	if got := mounts("second"); got != image {
		t.Errorf("a pod is replaced by one that mounts %s", got)
	}

	third := start("third")
	f.roll(t, third)
	pod := f.pod(t, "third")
	testenv.ExpectStatusChanged(t, f.Client, pod, func() {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "bridge", Ready: true}, waitingFor("files", "ErrImagePull")}
	})
	testenv.ExpectReconciled(t, f.reconciler, third)
	if got := mounts("third"); got != "" {
		t.Errorf("a pod whose node cannot mount the image is replaced by one that mounts %s", got)
	}
	testenv.ExpectExists(t, f.Client, bundle)
	if at := bundle.ImageRefused(); !at.Equal(f.clock.Now()) {
		t.Errorf("the bundle says that it was refused at %s", at)
	}
	start("fourth")
	f.clock.Step(time.Hour)
	start("fifth")
	if before, after := mounts("fourth"), mounts("fifth"); before != "" || after != later {
		t.Errorf("a pod mounts %q a moment after it was refused, and %q an hour later", before, after)
	}
}

// TestManyUsersOfANewPackageHaveItInstalledOnce has 200 bridges get the same package, eight at a time.
func TestManyUsersOfANewPackageHaveItInstalledOnce(t *testing.T) {
	const users, atOnce = 200, 8
	f := newFixture(t)
	f.Settings.Bundles.Settings = bundling.Settings{Architecture: "amd64"}
	f.Settings.BundlesURL = "https://store:8444"
	installs := &programbundle.Reconciler{
		Client: f.Client, Live: f.Client, Recorder: f.events, Clock: f.clock, UsersOf: hostedbridge.UsersOf(f.Client),
		Settings: programbundle.Settings{
			Installing: bridgeobjects.Installing{Image: "node:1", PackerImage: "ingress:1", MaxBytes: 1 << 20}, Namespace: f.Settings.Namespace, MaxJobs: 4, Retention: time.Hour,
		},
	}
	install := func() error {
		var all v1alpha1.ProgramBundleList
		if err := f.List(t.Context(), &all, client.InNamespace(f.Settings.Namespace)); err != nil {
			return err
		}
		for i := range all.Items {
			if _, err := installs.Reconcile(t.Context(), &all.Items[i]); err != nil {
				return err
			}
		}
		return nil
	}
	names := make(chan string)
	var workers errgroup.Group
	for range atOnce {
		workers.Go(func() error {
			for name := range names {
				b := f.bridge(name, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = programs("files") })
				if err := f.Client.Create(t.Context(), b); err != nil {
					return err
				}
				if _, err := f.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}); err != nil {
					return err
				}
				if err := install(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for i := range users {
		names <- fmt.Sprintf("user-%d", i)
	}
	close(names)
	must.Succeed(t, workers.Wait())
	var bundles v1alpha1.ProgramBundleList
	var jobs batchv1.JobList
	must.Succeed(t, f.List(t.Context(), &bundles, client.InNamespace(f.Settings.Namespace)))
	must.Succeed(t, f.List(t.Context(), &jobs, client.InNamespace(f.Settings.Namespace)))
	if len(bundles.Items) != 1 || len(jobs.Items) != 1 {
		t.Errorf("%d bundles and %d Jobs", len(bundles.Items), len(jobs.Items))
	}
}

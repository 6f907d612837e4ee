// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// programs returns servers over stdio that may use the secret TOKEN.
func programs(names ...string) []v1alpha1.Server {
	list := make([]v1alpha1.Server, 0, len(names))
	for _, n := range names {
		list = append(list, v1alpha1.Server{
			Name: n, Secrets: []v1alpha1.SecretName{"TOKEN"},
			Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{
				Install: &v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "server", Version: "1.0.0"},
				Env:     []v1alpha1.StdioVariable{{Name: "KEY", Value: "${TOKEN}"}},
			}},
		})
	}
	return list
}

// pod returns the pod that roll makes of a bridge called name.
func (f *fixture) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name + "-bridge-1"}}
	testenv.ExpectExists(t, f.Client, pod)
	return pod
}

func TestAChangeThatABridgeCanTakeRollsNoPod(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.Servers = append(servers("open"), programs("files")...) })
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	_, before := f.children("alice")
	testenv.ExpectExists(t, f.Client, before)
	first := f.pod(t, "alice")
	if digest := first.Annotations[v1alpha1.AnnotationConfigDigest]; digest != "" {
		t.Error("a pod that has started with the configuration was told of it")
	}

	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) {
		s.Mode = v1alpha1.ModeRouter
		s.Servers[0].Transport.URL += "/other"
		s.Servers[1].Transport.Stdio.Args = []string{"--verbose"}
		s.Servers = append(s.Servers, servers("another")...)
	})
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	if b.Status.Phase != v1alpha1.PhaseRunning || b.Status.ObservedGeneration != b.Generation {
		t.Errorf("phase %s, observed generation %d of %d", b.Status.Phase, b.Status.ObservedGeneration, b.Generation)
	}
	_, after := f.children("alice")
	testenv.ExpectExists(t, f.Client, after)
	if before.ResourceVersion != after.ResourceVersion {
		t.Error("the Deployment was written")
	}
	told := f.configMap("alice")
	testenv.ExpectExists(t, f.Client, told)
	for _, want := range []string{`"mode":"router"`, "open.example.com/mcp/other", "--verbose", `"name":"another"`, "${TOKEN}"} {
		if !strings.Contains(told.Data["config.json"], want) {
			t.Errorf("the ConfigMap lacks %s: %s", want, told.Data["config.json"])
		}
	}
	second := f.pod(t, "alice")
	if second.UID != first.UID || second.Annotations[v1alpha1.AnnotationConfigDigest] == "" {
		t.Errorf("the pod's annotations are still %v", second.Annotations)
	}
	expectOwnsOnlyTheDigest(t, second)

	version := second.ResourceVersion
	for range 3 {
		f.clock.Step(time.Hour)
		testenv.ExpectReconciled(t, f.reconciler, b)
	}
	if third := f.pod(t, "alice"); third.ResourceVersion != version {
		t.Error("the pod was written although nothing had changed")
	}
}

// expectOwnsOnlyTheDigest checks what the operator owns of a pod.
func expectOwnsOnlyTheDigest(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	const want = `{"f:metadata":{"f:annotations":{"f:hostedbridge.dev/config-digest":{}}}}`
	for _, entry := range pod.ManagedFields {
		if entry.Manager == v1alpha1.FieldOwnerOperator && entry.FieldsV1.GetRawString() == want {
			return
		}
	}
	t.Errorf("the operator owns no annotation, or more than it: %v", pod.ManagedFields)
}

// TestTheStatusSaysByWhichConfigurationABridgeRuns compares it with the file that a pod would read,
// after each change of the servers, and also while the bridge sleeps.
func TestTheStatusSaysByWhichConfigurationABridgeRuns(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.Servers = servers("open") })
	testenv.ExpectApplied(t, f.Client, b)
	seen := map[string]bool{}
	expect := func(state string) {
		t.Helper()
		testenv.ExpectReconciled(t, f.reconciler, b)
		testenv.ExpectExists(t, f.Client, b)
		told := f.configMap("alice")
		testenv.ExpectExists(t, f.Client, told)
		c := must.Value(bridgeconfig.Parse([]byte(told.Data["config.json"])))(t)
		if want := must.Value(c.Digest())(t); b.Status.Configuration != want || b.Status.ObservedGeneration != b.Generation {
			t.Errorf("%s: the status says %q of generation %d, want %q of %d", state, b.Status.Configuration, b.Status.ObservedGeneration, want, b.Generation)
		}
		seen[b.Status.Configuration] = true
	}
	expect("at first")
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = append(s.Servers, servers("another")...) })
	expect("with another server")
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateSuspended })
	expect("suspended")
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = servers("another") })
	expect("after a server was removed")
	if len(seen) != 3 {
		t.Errorf("%d configurations: %v", len(seen), seen)
	}
}

func TestAChangeThatNeedsAnotherPodRollsIt(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.HostedBridgeSpec){
		"a program more": func(s *v1alpha1.HostedBridgeSpec) { s.Servers = programs("files", "more") },
		"no program":     func(s *v1alpha1.HostedBridgeSpec) { s.Servers = servers("open") },
		"another image":  func(s *v1alpha1.HostedBridgeSpec) { s.Servers[0].Transport.Stdio.Image = "example.com/node" },
		"other resources": func(s *v1alpha1.HostedBridgeSpec) {
			s.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: quantity("50m")}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.Servers = programs("files") })
			testenv.ExpectApplied(t, f.Client, b)
			testenv.ExpectReconciled(t, f.reconciler, b)
			f.roll(t, b)
			testenv.ExpectReconciled(t, f.reconciler, b)
			_, before := f.children("alice")
			testenv.ExpectExists(t, f.Client, before)
			pod := f.pod(t, "alice")

			f.change(t, b, change)
			testenv.ExpectReconciled(t, f.reconciler, b)
			_, after := f.children("alice")
			testenv.ExpectExists(t, f.Client, after)
			if before.Generation == after.Generation {
				t.Error("the Deployment is the same")
			}
			testenv.ExpectExists(t, f.Client, b)
			if b.Status.Phase != v1alpha1.PhasePending {
				t.Errorf("phase %s", b.Status.Phase)
			}
			if f.pod(t, "alice").ResourceVersion != pod.ResourceVersion {
				t.Error("a pod that is about to end was told to take a configuration that is not its own")
			}
		})
	}
}

func TestAPodThatIsGoneIsNotMadeByAnAnnotation(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	f.use(indexed(withoutPods(t, f)))
	testenv.ExpectReconciled(t, f.reconciler, b)
	var pods corev1.PodList
	must.Succeed(t, f.List(t.Context(), &pods, client.InNamespace(f.namespace)))
	for _, pod := range pods.Items {
		t.Errorf("there is the pod %s", pod.Name)
	}
}

func TestTheRestrictedPodSecurityStandardAdmitsThePod(t *testing.T) {
	f := newFixture(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	testenv.ExpectChanged(t, f.Client, ns, func() { ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted" })
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.Servers = programs("files", "more") })
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	_, d := f.children("alice")
	testenv.ExpectExists(t, f.Client, d)
	pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: d.Spec.Template.Spec}
	pod.Namespace, pod.Name = f.namespace, "admitted"
	if err := f.Create(t.Context(), pod, client.DryRunAll); err != nil {
		t.Errorf("it is refused: %v", err)
	}
	pod.Spec.Containers[0].SecurityContext = nil
	if err := f.Create(t.Context(), pod, client.DryRunAll); err == nil {
		t.Error("nothing is refused here, so that this test says nothing")
	}
}

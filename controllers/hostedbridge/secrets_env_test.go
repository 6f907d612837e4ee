// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// github gives the bridge a server that sends a secret, and one that needs none.
func github(s *v1alpha1.HostedBridgeSpec) {
	s.Servers = servers("open", "github")
	s.Servers[1].Secrets = []v1alpha1.SecretName{"GITHUB_TOKEN"}
	s.Servers[1].Transport.Headers = []v1alpha1.Header{{Name: "Authorization", Value: "Bearer ${GITHUB_TOKEN}"}}
}

// with returns the conditions with another SecretsSealed.
func with(sealed string, conditions map[string]string) map[string]string {
	c := maps.Clone(conditions)
	c[v1alpha1.ConditionSecretsSealed] = sealed
	return c
}

func missing(names ...string) v1alpha1.SecretsStatus {
	return v1alpha1.SecretsStatus{Missing: names}
}

func sealed(count int32, revision string) v1alpha1.SecretsStatus {
	return v1alpha1.SecretsStatus{Count: count, Revision: revision}
}

func TestConditionsSayWhatTheKeybrokerReports(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", github)
	testenv.ExpectApplied(t, f.Client, b)
	f.expect(t, b, v1alpha1.PhasePending, with("False Sealing", progressing))

	f.report(t, b, 1, missing("GITHUB_TOKEN"))
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, with("False SecretsMissing", available))
	expectMessage(t, b, v1alpha1.ConditionSecretsSealed, "server github", "GITHUB_TOKEN",
		"PUT /u/"+string(b.Spec.UserID)+"/secrets/<NAME>", "spec.secretRefs")
	expectMessage(t, b, v1alpha1.ConditionReady, "out of service for want of a secret: server github (GITHUB_TOKEN)")

	f.report(t, b, 1, sealed(1, "0123456789abcdef"))
	f.expect(t, b, v1alpha1.PhaseRunning, with("True Sealed", available))

	failed := sealed(1, "0123456789abcdef")
	failed.Failures = []v1alpha1.SecretFailure{{Name: "source", Reason: v1alpha1.ReasonSourceMissing, Message: "there is no Secret source"}}
	f.report(t, b, 1, failed)
	f.expect(t, b, v1alpha1.PhaseRunning, with("False SourceMissing", available))
	expectMessage(t, b, v1alpha1.ConditionSecretsSealed, "source: there is no Secret source")
}

func TestWithoutAKeybrokerWhatRunsGoesOnAndWhatStartsWaits(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", github)
	testenv.ExpectApplied(t, f.Client, b)
	f.report(t, b, 1, sealed(1, "0123456789abcdef"))
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, with("True Sealed", available))
	_, before := f.children("alice")
	testenv.ExpectExists(t, f.Client, before)

	f.keybroker(t, "a", new(false))
	f.expect(t, b, v1alpha1.PhaseRunning, with("Unknown KeybrokerUnavailable", available))
	told := f.configMap("alice")
	testenv.ExpectExists(t, f.Client, told)
	// A change that would replace the pod waits with it, and all of it.
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) {
		s.Servers[0].Transport.URL += "/other"
		s.RuntimeClassName = new("gvisor")
	})
	f.expect(t, b, v1alpha1.PhaseRunning, with("Unknown KeybrokerUnavailable", available))
	expectMessage(t, b, v1alpha1.ConditionWorkloadAvailable, "the change of the spec is applied when a keybroker is ready")
	if b.Status.ObservedGeneration == b.Generation {
		t.Error("the status says that the change was acted on")
	}
	_, after := f.children("alice")
	testenv.ExpectExists(t, f.Client, after)
	if before.ResourceVersion != after.ResourceVersion {
		t.Error("the Deployment was changed")
	}
	toldThen := f.configMap("alice")
	testenv.ExpectExists(t, f.Client, toldThen)
	if told.ResourceVersion != toldThen.ResourceVersion {
		t.Error("the ConfigMap was changed, which the pod would take")
	}

	// The pod's node fails, and the new pod gets no certificate.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "alice-bridge-1"}}
	testenv.ExpectExists(t, f.Client, pod)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	after.Status.AvailableReplicas, after.Status.ReadyReplicas = 0, 0
	for _, o := range []client.Object{pod, after} {
		must.Succeed(t, f.Status().Update(t.Context(), o))
	}
	waits := conditions("True Accepted", "False KeybrokerUnavailable", "False KeybrokerUnavailable")
	f.expect(t, b, v1alpha1.PhasePending, with("Unknown KeybrokerUnavailable", waits))
	expectMessage(t, b, v1alpha1.ConditionReady, "pod alice-bridge-1 waits for a keybroker to be ready", "by itself")

	f.keybroker(t, "a", new(true))
	f.report(t, b, 1, sealed(1, "0123456789abcdef"))
	f.expect(t, b, v1alpha1.PhasePending, with("True Sealed", progressing))
	testenv.ExpectExists(t, f.Client, after)
	if before.Generation == after.Generation {
		t.Error("the change did not come after the keybroker")
	}
}

func TestWhetherAKeybrokerIsReady(t *testing.T) {
	type endpoints = []*bool
	yes, no := new(true), new(false)
	for name, tt := range map[string]struct {
		slices map[string]endpoints
		ready  bool
	}{
		"no Service":                     {nil, false},
		"nobody behind it":               {map[string]endpoints{"a": {}}, false},
		"one":                            {map[string]endpoints{"a": {yes}}, true},
		"one that is not known":          {map[string]endpoints{"a": {nil}}, true},
		"one that is not":                {map[string]endpoints{"a": {no}}, false},
		"one of two":                     {map[string]endpoints{"a": {no, yes}}, true},
		"one of another family":          {map[string]endpoints{"a": {no}, "b": {yes}}, true},
		"neither of two, of either kind": {map[string]endpoints{"a": {no, no}, "b": {no}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixtureWithoutTrust(t)
			f.publishTrust(t)
			for slice, ready := range tt.slices {
				f.keybroker(t, slice, ready...)
			}
			// Others' count for nothing: another Service, another namespace.
			for i, namespace := range []string{f.Settings.Namespace, f.namespace} {
				testenv.ExpectApplied(t, f.Client, &discoveryv1.EndpointSlice{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other", Labels: map[string]string{
						"kubernetes.io/service-name": []string{"hosted-bridge-ingress", "hosted-bridge-keybroker"}[i],
					}},
					AddressType: discoveryv1.AddressTypeIPv4,
					Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.9"}}},
				})
			}
			b := f.bridge("alice", github)
			testenv.ExpectApplied(t, f.Client, b)
			want := map[bool]string{true: "False Sealing", false: "Unknown KeybrokerUnavailable"}[tt.ready]
			f.expect(t, b, v1alpha1.PhasePending, with(want, progressing))
		})
	}
}

func TestASecretThatIsSetAnewIsNoReasonToWrite(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", github, alwaysRunning)
	testenv.ExpectApplied(t, f.Client, b)
	f.report(t, b, 1, sealed(1, "0000000000000000"))
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, with("True Sealed", available))
	for i := range int32(3) {
		f.report(t, b, 2+i, sealed(1, fmt.Sprintf("%016x", i+1)))
		before := f.versions(t, b)
		f.clock.Step(time.Hour)
		testenv.ExpectReconciled(t, f.reconciler, b)
		if diff := cmp.Diff(before, f.versions(t, b)); diff != "" {
			t.Errorf("a reconcile after another value wrote (-before +after):\n%s", diff)
		}
	}
}

func TestTheControllerWatchesWhatIsReportedOfSecrets(t *testing.T) {
	f := newFixture(t)
	f.start(t)
	b := f.bridge("alice", github)
	testenv.ExpectApplied(t, f.Client, b)
	sealing := func(want string) func() bool {
		return func() bool { return reason(b, v1alpha1.ConditionSecretsSealed) == want }
	}
	f.eventually(t, "no report yet", b, sealing("Sealing"))
	f.report(t, b, 1, missing("GITHUB_TOKEN"))
	f.eventually(t, "one is missing", b, sealing("SecretsMissing"))
	f.report(t, b, 1, sealed(1, "0123456789abcdef"))
	f.eventually(t, "it is set", b, sealing("Sealed"))

	f.keybroker(t, "a", new(false))
	f.eventually(t, "the keybroker is away", b, sealing("KeybrokerUnavailable"))
	f.keybroker(t, "a", new(false), new(true))
	f.eventually(t, "another is there", b, sealing("Sealed"))
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: "hosted-bridge-keybroker-a"}}
	must.Succeed(t, f.Delete(t.Context(), slice))
	f.eventually(t, "its Service is gone", b, sealing("KeybrokerUnavailable"))
	f.keybroker(t, "b", nil)
	f.eventually(t, "and back", b, sealing("Sealed"))
}

func TestValuesAndKeyVersionsDoNotWakeTheController(t *testing.T) {
	f := newFixture(t)
	written := f.start(t)
	b := f.bridge("alice", github)
	testenv.ExpectApplied(t, f.Client, b)
	f.report(t, b, 1, sealed(1, "0000000000000000"))
	f.eventually(t, "made", b, func() bool { return reason(b, v1alpha1.ConditionSecretsSealed) == "Sealed" })
	f.roll(t, b)
	f.eventually(t, "ready", b, func() bool { return b.Status.Phase == v1alpha1.PhaseRunning && b.Status.PodName != "" })

	before := written.all.Load()
	const reports = 20
	seen := b.DeepCopy()
	for i := range int32(reports) {
		f.report(t, b, 2+i, sealed(1, fmt.Sprintf("%016x", i+1)))
		// One of two keybrokers that comes and goes changes nothing either.
		f.keybroker(t, "a", new(true), new(i%2 == 0))
		eventually(t, written, "the controller's cache has it", seen, func() bool { return ptr.Deref(seen.Status.KeyVersion, 0) == 2+i })
	}
	f.report(t, b, 1, sealed(2, "ffffffffffffffff"))
	f.eventually(t, "another count was seen", b, func() bool {
		return message(b, v1alpha1.ConditionSecretsSealed) == "all secrets that the spec names are sealed; there are 2 in all"
	})
	// The count itself is one status; what was left of the roll may be one or
	// two more.
	if n := written.all.Load() - before; n > 3 {
		t.Errorf("%d reconciliations for one change among %d reports", n, reports)
	}
}

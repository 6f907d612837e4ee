// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// conditions by their short names, to keep the tables readable.
func conditions(accepted, workload, ready string) map[string]string {
	return map[string]string{
		v1alpha1.ConditionAccepted:          accepted,
		v1alpha1.ConditionSecretsSealed:     "True NothingToSeal",
		v1alpha1.ConditionWorkloadAvailable: workload,
		v1alpha1.ConditionReady:             ready,
	}
}

var (
	progressing = conditions("True Accepted", "False Progressing", "False Progressing")
	available   = conditions("True Accepted", "True Available", "True Ready")
	suspended   = conditions("True Accepted", "True Suspended", "True Suspended")
	asleep      = conditions("True Accepted", "True Asleep", "True Asleep")
)

// message returns the message of a condition as last read into b.
func message(b *v1alpha1.HostedBridge, kind string) string {
	c := meta.FindStatusCondition(b.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return c.Message
}

func expectMessage(t *testing.T, b *v1alpha1.HostedBridge, kind string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := message(b, kind); !strings.Contains(got, w) {
			t.Errorf("message of %s does not say %q: %s", kind, w, got)
		}
	}
}

func TestABridgeRunsIsSuspendedAndRunsAgain(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)

	f.expect(t, b, v1alpha1.PhasePending, progressing)
	account, d := f.children("alice")
	testenv.ExpectExists(t, f.Client, account)
	testenv.ExpectExists(t, f.Client, d)
	if *d.Spec.Replicas != 1 || !metav1.IsControlledBy(d, b) || len(b.Finalizers) > 0 {
		t.Errorf("replicas %d, owners %v, finalizers %v", *d.Spec.Replicas, d.OwnerReferences, b.Finalizers)
	}

	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, available)
	wantURL := "https://mcp.example.com/u/" + string(b.Spec.UserID) + "/mcp"
	if b.Status.URL != wantURL || b.Status.UserID != b.Spec.UserID || b.Status.PodName != "alice-bridge-1" || b.Status.ObservedGeneration != b.Generation {
		t.Errorf("status is %+v", b.Status)
	}

	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateSuspended })
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseSuspended, suspended)
	if b.Status.PodName != "" {
		t.Errorf("a suspended bridge has the pod %s", b.Status.PodName)
	}

	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateRunning })
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, available)

	f.expectEvents(t)
}

func TestEventsTellWhatSomebodyHasToMendAndThatItIsMended(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.Tier = "gold" })
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.expectEvents(t, "Warning UnknownTier", "Warning Failed")

	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Tier = "free" })
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	f.expectEvents(t, "Normal Accepted", "Normal Pending")
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, available)
	f.expectEvents(t)
}

func (f *fixture) expectEvents(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-f.events.Events:
			if !strings.HasPrefix(got, w+" ") {
				t.Errorf("event %q, want %q", got, w)
			}
		default:
			t.Fatalf("no event, want %q", w)
		}
	}
	select {
	case got := <-f.events.Events:
		t.Errorf("an event too many: %q", got)
	default:
	}
}

func TestAChangedSpecIsNotTakenForAvailable(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, available)

	// The Deployment's status still speaks of the pod before.
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.RuntimeClassName = new("gvisor") })
	f.expect(t, b, v1alpha1.PhasePending, progressing)
}

func TestConditionsKeepTheTimeOfTheirLastChange(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	began := f.clock.Now()
	f.clock.Step(time.Minute)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, available)
	for kind, want := range map[string]time.Time{
		v1alpha1.ConditionAccepted: began, v1alpha1.ConditionReady: f.clock.Now(),
	} {
		if got := meta.FindStatusCondition(b.Status.Conditions, kind).LastTransitionTime; !got.Time.Equal(want) {
			t.Errorf("%s changed at %s, want %s", kind, got, want)
		}
	}
}

func TestWithoutTheKeybrokersCertificateThereIsNoPod(t *testing.T) {
	f := newFixtureWithoutTrust(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	f.expect(t, b, v1alpha1.PhasePending, conditions("True Accepted", "False TrustMissing", "False TrustMissing"))
	account, d := f.children("alice")
	testenv.ExpectExists(t, f.Client, account)
	testenv.ExpectMissing(t, f.Client, d)

	f.publishTrust(t)
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	testenv.ExpectExists(t, f.Client, d)
}

func TestASpecThatIsNotAcceptedChangesNothing(t *testing.T) {
	tests := map[string]struct {
		change   func(*v1alpha1.HostedBridgeSpec)
		reason   string
		messages []string
	}{
		"an unknown tier": {
			func(s *v1alpha1.HostedBridgeSpec) { s.Tier = "gold" },
			"UnknownTier", []string{`spec.tier: "gold" is not a tier of this installation; it must be one of: business, free, pro`}},
		"more servers than the tier allows": {
			func(s *v1alpha1.HostedBridgeSpec) { s.Servers = servers("a", "b", "c", "d") },
			"TierLimitExceeded", []string{"spec.servers", "at most 3", "spec.tier must be one of: business, pro"}},
		"a header with a secret that is not granted": {
			func(s *v1alpha1.HostedBridgeSpec) { github(s); s.Servers[1].Secrets = nil },
			"SecretNotGranted", []string{"spec.servers[1].transport.headers[0].value", "server github", "header Authorization", "secret GITHUB_TOKEN", "must be"}},
		"a header that cannot be read": {
			func(s *v1alpha1.HostedBridgeSpec) {
				s.Servers[0].Transport.Headers = []v1alpha1.Header{{Name: "X-Key", Value: "${"}}
			},
			"InvalidHeader", []string{"spec.servers[0].transport.headers[0].value", "header X-Key", "must be"}},
		"a program with a secret that is not granted": {
			func(s *v1alpha1.HostedBridgeSpec) { s.Servers = programs("one"); s.Servers[0].Secrets = nil },
			"SecretNotGranted", []string{"spec.servers[0].transport.stdio.env[0].value", "variable KEY of server one", "secret TOKEN", "must be"}},
		"a program that cannot be read": {
			func(s *v1alpha1.HostedBridgeSpec) {
				s.Servers = programs("one")
				s.Servers[0].Secrets, s.Servers[0].Transport.Stdio.Env = nil, nil
				s.Servers[0].Transport.Stdio.Args = []string{"$x"}
			},
			"InvalidServer", []string{"spec.servers[0].transport.stdio.args[0]", "an argument of server one", "must be"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			b := f.bridge("alice")
			testenv.ExpectApplied(t, f.Client, b)
			testenv.ExpectReconciled(t, f.reconciler, b)
			f.roll(t, b)
			testenv.ExpectReconciled(t, f.reconciler, b)
			_, before := f.children("alice")
			testenv.ExpectExists(t, f.Client, before)
			told := f.configMap("alice")
			testenv.ExpectExists(t, f.Client, told)

			f.change(t, b, tt.change)
			f.expect(t, b, v1alpha1.PhaseFailed, conditions("False "+tt.reason, "True Available", "False "+tt.reason))
			expectMessage(t, b, v1alpha1.ConditionAccepted, tt.messages...)
			_, after := f.children("alice")
			testenv.ExpectExists(t, f.Client, after)
			if before.ResourceVersion != after.ResourceVersion {
				t.Error("the Deployment was changed")
			}
			toldThen := f.configMap("alice")
			testenv.ExpectExists(t, f.Client, toldThen)
			if told.ResourceVersion != toldThen.ResourceVersion {
				t.Error("the ConfigMap was changed")
			}

			fresh := f.bridge("bob", tt.change)
			testenv.ExpectApplied(t, f.Client, fresh)
			f.expect(t, fresh, v1alpha1.PhaseFailed, conditions("False "+tt.reason, "False NotAccepted", "False "+tt.reason))
			account, d := f.children("bob")
			testenv.ExpectMissing(t, f.Client, account)
			testenv.ExpectMissing(t, f.Client, d)
		})
	}
}

func TestAProgramWithoutAnImageIsOutOfServiceAlone(t *testing.T) {
	f := newFixture(t)
	f.Settings.RuntimeImageNode = ""
	own := programs("own")
	own[0].Transport.Stdio.Image = "team/server"
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) {
		s.Servers = append(append(servers("open"), programs("one")...), own...)
	})
	for i := range b.Spec.Servers {
		b.Spec.Servers[i].Secrets = nil
		if p := b.Spec.Servers[i].Transport.Stdio; p != nil {
			p.Env = nil
		}
	}
	testenv.ExpectApplied(t, f.Client, b)
	f.expect(t, b, v1alpha1.PhasePending, conditions("True RuntimesMissing", "False Progressing", "False Progressing"))
	expectMessage(t, b, v1alpha1.ConditionAccepted, "server one: ", "npx", "bridge.runtimes.node", "transport.stdio.image")
	f.expectEvent(t, "Warning "+v1alpha1.ReasonRuntimesMissing)
	if said := message(b, v1alpha1.ConditionAccepted); strings.Contains(said, "--") {
		t.Errorf("the message names a flag: %s", said)
	}

	_, d := f.children("alice")
	testenv.ExpectExists(t, f.Client, d)
	var names []string
	for _, c := range d.Spec.Template.Spec.Containers {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"bridge", "stdio-own"}, names); diff != "" {
		t.Errorf("the pod's containers (-want +got):\n%s", diff)
	}
	if faults := f.faults(t, b); len(faults) != 1 || !strings.Contains(faults["one"], "bridge.runtimes.node") {
		t.Errorf("the bridge is told that these servers are out of service: %v", faults)
	}

	f.Settings.RuntimeImageNode = "hosted-bridge/runtime-node:test"
	f.expect(t, b, v1alpha1.PhasePending, conditions("True Accepted", "False Progressing", "False Progressing"))
	testenv.ExpectExists(t, f.Client, d)
	if n := len(d.Spec.Template.Spec.Containers); n != 3 {
		t.Errorf("with an image the pod has %d containers", n)
	}
}

func TestAUserIDBelongsToTheOlderBridge(t *testing.T) {
	f, g := newFixture(t), newFixture(t)
	a, b := f.bridge("alice"), g.bridge("alice")
	b.Spec.UserID = a.Spec.UserID
	testenv.ExpectApplied(t, f.Client, a, b)
	winner, loser := f, g
	if b.Precedes(a) { // Both can be of the same second.
		winner, loser, a, b = g, f, b, a
	}
	winner.expect(t, a, v1alpha1.PhasePending, progressing)
	loser.expect(t, b, v1alpha1.PhaseFailed, conditions("False UserIDConflict", "False NotAccepted", "False UserIDConflict"))
	expectMessage(t, b, v1alpha1.ConditionAccepted, "spec.userID", a.Namespace+"/alice", "must be")
	if b.Status.URL != "" {
		t.Errorf("the loser shows the winner's URL %s", b.Status.URL)
	}
	account, d := loser.children("alice")
	testenv.ExpectMissing(t, f.Client, account)
	testenv.ExpectMissing(t, f.Client, d)

	must.Succeed(t, f.Delete(t.Context(), a))
	loser.expect(t, b, v1alpha1.PhasePending, progressing)
	testenv.ExpectExists(t, f.Client, d)
}

// TestTheLoserOfAUserIDIsSuspendedWhateverElseIsWrong has the younger of two
// bridges run already, and then be given a server that no bridge takes.
func TestTheLoserOfAUserIDIsSuspendedWhateverElseIsWrong(t *testing.T) {
	f, g := newFixture(t), newFixture(t)
	a, b := f.bridge("alice"), g.bridge("alice")
	b.Spec.UserID = a.Spec.UserID
	testenv.ExpectApplied(t, f.Client, a, b)
	loser := g
	if b.Precedes(a) { // Both can be of the same second.
		loser, b = f, a
	}
	objects := must.Value(bridgeobjects.Objects(effective.Of(b), bridgestate.Plan{Action: bridgestate.Run}, loser.Settings.Settings))(t)
	for _, o := range objects {
		must.Succeed(t, loser.Client.Apply(t.Context(), o, client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership))
	}
	loser.change(t, b, func(s *v1alpha1.HostedBridgeSpec) {
		s.Servers = programs("one")
		s.Servers[0].Secrets, s.Servers[0].Transport.Stdio.Env = nil, nil
		s.Servers[0].Transport.Stdio.Args = []string{"$x"}
	})
	loser.expect(t, b, v1alpha1.PhaseFailed, conditions("False UserIDConflict", "False NotAccepted", "False UserIDConflict"))
	_, d := loser.children("alice")
	testenv.ExpectExists(t, loser.Client, d)
	if *d.Spec.Replicas != 0 {
		t.Errorf("%d replicas, want none", *d.Spec.Replicas)
	}
}

func TestABridgeThatIsBeingDeletedIsLeftToEnd(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice")
	b.Finalizers = []string{"example.com/hold"}
	testenv.ExpectApplied(t, f.Client, b)
	must.Succeed(t, f.Delete(t.Context(), b))
	testenv.ExpectReconciled(t, f.reconciler, b)
	account, _ := f.children("alice")
	testenv.ExpectMissing(t, f.Client, account)

	successor := f.bridge("alice2", func(s *v1alpha1.HostedBridgeSpec) { s.UserID = b.Spec.UserID })
	testenv.ExpectApplied(t, f.Client, successor)
	f.expect(t, successor, v1alpha1.PhasePending, progressing)
}

func TestWhatKeepsAPodFromRunningIsSaid(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.namespace, Name: "alice-bridge-1",
		Annotations: map[string]string{v1alpha1.AnnotationBridgeUID: string(b.UID), v1alpha1.AnnotationUserID: string(b.User())},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "bridge", Image: "nowhere/bridge"}}
	testenv.ExpectApplied(t, f.Client, pod)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "bridge", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "back-off 10s"}},
	}}
	must.Succeed(t, f.Status().Update(t.Context(), pod))
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	f.expect(t, b, v1alpha1.PhasePending, conditions("True Accepted", "False ImageNotPulled", "False ImageNotPulled"))
	f.expectEvents(t, "Warning ImageNotPulled")
	expectMessage(t, b, v1alpha1.ConditionReady, "pod alice-bridge-1 is not ready: container bridge is waiting: ImagePullBackOff")
}

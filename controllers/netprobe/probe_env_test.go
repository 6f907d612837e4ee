// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package netprobe_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/controllers/netprobe"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/test/gobuild"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.MainOfController(m)) }

// kubelet ends the pods of the namespace with the exit codes that it is told for
// them, as a node would. One without an exit code it does not start.
type kubelet struct {
	codes map[string]int32
	// runs, if it is set, is asked in place of codes.
	runs func(*corev1.Pod) int32
	seen atomic.Int32
}

// end returns the exit code of a pod, and false for one that does not start.
func (k *kubelet) end(pod *corev1.Pod) (int32, bool) {
	if k.runs != nil {
		return k.runs(pod), true
	}
	code, ok := k.codes[pod.Name]
	return code, ok
}

func (k *kubelet) run(ctx context.Context, c client.Client, namespace string) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var pods corev1.PodList
		if c.List(ctx, &pods, client.InNamespace(namespace)) != nil {
			continue
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Status.Phase != corev1.PodPending {
				continue
			}
			code, starts := k.end(pod)
			if !starts {
				continue
			}
			pod.Status.Phase = corev1.PodFailed
			if code == 0 {
				pod.Status.Phase = corev1.PodSucceeded
			}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "probe", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
			}}
			if c.Status().Update(ctx, pod) == nil {
				k.seen.Add(1)
			}
		}
	}
}

// fixture is a probe in a namespace of its own, with a kubelet.
type fixture struct {
	*netprobe.Probe
	client.Client
	kubelet   *kubelet
	registry  *prometheus.Registry
	namespace string
}

func newFixture(t *testing.T, codes map[string]int32) *fixture {
	t.Helper()
	return newFixtureOf(t, &kubelet{codes: codes}, "http://10.0.0.1:8081/healthz")
}

func newFixtureOf(t *testing.T, k *kubelet, address string) *fixture {
	t.Helper()
	c := testenv.Client(t)
	f := &fixture{Client: c, kubelet: k, namespace: testenv.Namespace(t, c), registry: prometheus.NewRegistry()}
	measured := must.Value(netprobe.NewMetrics(f.registry))(t)
	testenv.ExpectApplied(t, c, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: bridgeobjects.ProbePolicyName}})
	f.Probe = &netprobe.Probe{
		Client: c, Clock: clock.RealClock{}, Log: logr.Discard(), Metrics: measured,
		Pods: bridgeobjects.Probe{Namespace: f.namespace, Image: "bridge", Address: address},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.kubelet.run(ctx, c, f.namespace) }()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

// startUntilKnown has the probe try until something is known.
func (f *fixture) startUntilKnown(t *testing.T) {
	t.Helper()
	stop := testenv.Run(t, f.Start)
	wait.Until(t, "something is known", func() bool { known, _ := f.Known(); return known != bridgestate.Untried })
	stop()
}

// pods returns how many pods there are.
func (f *fixture) pods(t *testing.T) int {
	t.Helper()
	var pods corev1.PodList
	must.Succeed(t, f.List(t.Context(), &pods, client.InNamespace(f.namespace)))
	return len(pods.Items)
}

// metric returns the label at which the metric is 1.
func (f *fixture) metric(t *testing.T) string {
	t.Helper()
	families := must.Value(f.registry.Gather())(t)
	var at []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if m.GetGauge().GetValue() == 1 {
				at = append(at, m.GetLabel()[0].GetValue())
			}
		}
	}
	return strings.Join(at, " ")
}

func TestTheProbeTellsWhetherPoliciesHold(t *testing.T) {
	tests := map[string]struct {
		open, denied int32
		want         bridgestate.Enforcement
		metric       string
	}{
		"only the one that may connects": {0, 3, bridgestate.Enforced, "enforced"},
		"both connect":                   {0, 0, bridgestate.NotEnforced, "not_enforced"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, map[string]int32{bridgeobjects.ProbeOpen: tt.open, bridgeobjects.ProbeDenied: tt.denied})
			if got := f.metric(t); got != "untried" {
				t.Errorf("metric %q before", got)
			}
			f.startUntilKnown(t)
			if known, why := f.Known(); known != tt.want || why != "" {
				t.Errorf("known %s %q, want %s", known, why, tt.want)
			}
			if got := f.metric(t); got != tt.metric {
				t.Errorf("metric %q, want %q", got, tt.metric)
			}
			select {
			case <-f.Changes():
			default:
				t.Error("nobody is told")
			}
			if n := f.pods(t); n != 0 {
				t.Errorf("%d pods are left", n)
			}
		})
	}
}

// TestThePodsRunTheProgramThatTells has the program of the bridge's image run as the
// pods say, against an operator that answers. A network that enforces policies is
// one where who is denied finds nobody at that address.
func TestThePodsRunTheProgramThatTells(t *testing.T) {
	program := filepath.Join(t.TempDir(), "bridge")
	must.Succeed(t, gobuild.Build(t.Context(), program, []string{"github.com/hostedbridge/hostedbridge/cmd/bridgepod"}))
	answers := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer answers.Close()
	const nobody = "http://127.0.0.1:1"
	none := func(*corev1.Pod) string { return nobody }
	all := func(*corev1.Pod) string { return answers.URL }
	tests := map[string]struct {
		at   func(*corev1.Pod) string
		want bridgestate.Enforcement
		why  string
	}{
		"a network that enforces policies": {func(p *corev1.Pod) string {
			if p.Labels["app.kubernetes.io/component"] == "probe-denied" {
				return nobody
			}
			return answers.URL
		}, bridgestate.Enforced, ""},
		"a network that ignores them":          {all, bridgestate.NotEnforced, ""},
		"a network in which nobody is reached": {none, bridgestate.Undetermined, "not reach"},
		"an address that the program refuses":  {func(*corev1.Pod) string { return "10.0.0.1" }, bridgestate.Undetermined, "exit code 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			run := func(pod *corev1.Pod) int32 {
				var args []string
				for _, a := range pod.Spec.Containers[0].Args {
					args = append(args, strings.ReplaceAll(a, answers.URL, tt.at(pod)))
				}
				args = append(args, "--for=1s") // The network is there from the beginning.
				cmd := exec.Command(program, args...)
				if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
					t.Errorf("run the bridge: %v", err)
					return 1
				}
				return int32(cmd.ProcessState.ExitCode())
			}
			f := newFixtureOf(t, &kubelet{runs: run}, answers.URL)
			f.startUntilKnown(t)
			if known, why := f.Known(); known != tt.want || !strings.Contains(why, tt.why) {
				t.Errorf("known %s %q, want %s %q", known, why, tt.want, tt.why)
			}
		})
	}
}

func TestWhatAnOperatorLeftThatDiedDoesNotAnswer(t *testing.T) {
	f := newFixture(t, map[string]int32{bridgeobjects.ProbeOpen: 0, bridgeobjects.ProbeDenied: 3})
	old := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: bridgeobjects.ProbeDenied},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "probe", Image: "bridge"}}},
	}
	testenv.ExpectApplied(t, f.Client, old)
	testenv.ExpectStatusChanged(t, f.Client, old, func() { old.Status.Phase = corev1.PodSucceeded })
	f.startUntilKnown(t)
	if known, why := f.Known(); known != bridgestate.Enforced {
		t.Errorf("known %s %q", known, why)
	}
}

// TestItIsTriedAgain has the second attempt succeed, after the pause.
func TestItIsTriedAgain(t *testing.T) {
	tests := map[string]struct {
		spoil func(*fixture, *testing.T)
		mend  func(*fixture, *testing.T)
		why   string
	}{
		"the policy is not there": {
			func(f *fixture, t *testing.T) {
				if err := f.Delete(t.Context(), &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: bridgeobjects.ProbePolicyName}}); err != nil {
					t.Fatal(err)
				}
			},
			func(f *fixture, t *testing.T) {
				testenv.ExpectApplied(t, f.Client, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: bridgeobjects.ProbePolicyName}})
			},
			"policy to try could not be read",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, map[string]int32{bridgeobjects.ProbeOpen: 0, bridgeobjects.ProbeDenied: 3})
			fake := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			f.Clock = stepping{fake}
			tt.spoil(f, t)
			testenv.Run(t, f.Start)
			wait.Until(t, "it is said that nothing is known", func() bool {
				known, why := f.Known()
				return known == bridgestate.Undetermined && strings.Contains(why, tt.why)
			})
			tt.mend(f, t)
			wait.Until(t, "it is known", func() bool {
				if fake.HasWaiters() {
					fake.Step(30 * time.Minute)
				}
				known, _ := f.Known()
				return known == bridgestate.Enforced
			})
		})
	}
}

// TestAPluginThatComesOrGoesIsNoticed has the network change after an attempt that
// told what it is.
func TestAPluginThatComesOrGoesIsNoticed(t *testing.T) {
	tests := map[string]struct {
		before, after bridgestate.Enforcement
		pause         time.Duration
	}{
		"a plugin that enforces policies is installed": {bridgestate.NotEnforced, bridgestate.Enforced, 30 * time.Minute},
		"it is taken away": {bridgestate.Enforced, bridgestate.NotEnforced, 24 * time.Hour},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var enforces atomic.Bool
			enforces.Store(tt.before == bridgestate.Enforced)
			f := newFixtureOf(t, &kubelet{runs: func(pod *corev1.Pod) int32 {
				if pod.Name == bridgeobjects.ProbeDenied && enforces.Load() {
					return 3
				}
				return 0
			}}, "http://10.0.0.1:8081/healthz")
			fake := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			f.Clock = stepping{fake}
			testenv.Run(t, f.Start)
			known := func(want bridgestate.Enforcement) func() bool {
				return func() bool { got, _ := f.Known(); return got == want && fake.HasWaiters() }
			}
			wait.Until(t, "it is known", known(tt.before))
			pods := f.kubelet.seen.Load()
			enforces.Store(tt.after == bridgestate.Enforced)
			fake.Step(tt.pause - time.Second)
			if !fake.HasWaiters() || f.kubelet.seen.Load() != pods {
				t.Error("it is tried before the pause is over")
			}
			fake.Step(time.Second)
			wait.Until(t, "it is noticed", known(tt.after))
		})
	}
}

// TestAnAttemptThatTellsNothingDoesNotTakeBackWhatIsKnown has no node take the pods
// any more.
func TestAnAttemptThatTellsNothingDoesNotTakeBackWhatIsKnown(t *testing.T) {
	f := newFixture(t, map[string]int32{bridgeobjects.ProbeOpen: 0, bridgeobjects.ProbeDenied: 3})
	fake := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	f.Clock = stepping{fake}
	testenv.Run(t, f.Start)
	waits := func() bool { known, _ := f.Known(); return known != bridgestate.Untried && fake.HasWaiters() }
	wait.Until(t, "it is known", waits)
	if err := f.Delete(t.Context(), &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: bridgeobjects.ProbePolicyName}}); err != nil {
		t.Fatal(err)
	}
	fake.Step(24 * time.Hour)
	for range 6 { // 30 s, 1, 2, 4, 8 and 16 minutes.
		wait.Until(t, "it was tried", waits)
		if known, why := f.Known(); known != bridgestate.Enforced {
			t.Fatalf("known %s %q", known, why)
		}
		fake.Step(16 * time.Minute)
	}
	wait.Until(t, "it is said at last that nothing is known", func() bool { known, _ := f.Known(); return known == bridgestate.Undetermined })
}

// stepping is a clock whose pauses are a test's and whose ticks are real.
type stepping struct{ *clocktesting.FakeClock }

func (stepping) NewTicker(d time.Duration) clock.Ticker { return clock.RealClock{}.NewTicker(d) }

func TestAnOperatorThatEndsRemovesItsPods(t *testing.T) {
	f := newFixture(t, nil)
	stop := testenv.Run(t, f.Start)
	wait.Until(t, "the pods are made", func() bool { return f.pods(t) == 2 })
	stop()
	if n := f.pods(t); n != 0 {
		t.Errorf("%d pods are left", n)
	}
	if known, _ := f.Known(); known != bridgestate.Untried {
		t.Errorf("known %s", known)
	}
}

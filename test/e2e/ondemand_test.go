// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// idleTimeout is the shortest that counts, and sleepTimeout what a bridge has
	// then to fall asleep: it counts from when it is ready, or from a minute
	// after the operator has started.
	idleTimeout  = time.Minute
	sleepTimeout = idleTimeout + 2*time.Minute
	// wakes is how many times the medians are of.
	wakes = 15
	// firstCalls is how many clients call at once. Each tries again when it is
	// told to: one user may have some tens of calls at a time.
	firstCalls = 200
)

// newSleeper makes a tenant whose bridge sleeps when it is not used. Without servers it has
// "everything".
func newSleeper(t testing.TB, short string, servers ...v1alpha1.Server) tenant {
	t.Helper()
	n := tenant{name: installed.name(short), key: mint(t)}
	b := bridge(n.name, []credential{n.key}, "everything")
	if len(servers) > 0 {
		b.Spec.Servers = servers
	}
	b.Spec.Tier, b.Spec.DesiredState = "business", v1alpha1.StateOnDemand
	b.Spec.IdleTimeout = &metav1.Duration{Duration: idleTimeout}
	n.uid = create(t, b)
	awaitReady(t, n.name)
	return n
}

// asleep returns nil when the bridge sleeps and has no pod.
func asleep(ctx context.Context, n tenant) error {
	b, err := getBridge(ctx, n.name)
	if err != nil {
		return err
	}
	if b.Status.Phase != v1alpha1.PhaseAsleep || !effective.Of(b).Asleep() {
		return fmt.Errorf("it is %s, idle since %v, last used %v", b.Status.Phase, b.Status.IdleSince, b.Status.LastActivityTime)
	}
	return nil
}

// fallAsleep has the bridge sleep at once, as if its time had passed: the
// operator would write the same later. The operator may be writing a status of
// what it read before, which takes that back; fallAsleep then writes it again.
func fallAsleep(t testing.TB, n tenant) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the bridge sleeps", func(ctx context.Context) error {
		b, err := getBridge(ctx, n.name)
		if err != nil {
			return err
		}
		if b.Status.IdleSince == nil {
			if err := endIdleTime(ctx, b); err != nil {
				return err
			}
		}
		pods, err := bridgePods(ctx, n.uid)
		if err != nil {
			return err
		}
		if len(pods) > 0 {
			return fmt.Errorf("there are %d pods", len(pods))
		}
		return asleep(ctx, n)
	})
}

// endIdleTime writes into b's status that it is idle, and changes its spec so
// that the operator looks at it.
func endIdleTime(ctx context.Context, b *v1alpha1.HostedBridge) error {
	object := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	status := apply.Status(v1alpha1.HostedBridgeStatus{Phase: b.Status.Phase, IdleSince: new(metav1.NewTime(time.Now().Add(time.Second)))})
	if err := installed.client.Status().Patch(ctx, object, status, client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership); err != nil {
		return err
	}
	before := b.DeepCopy()
	b.Spec.IdleTimeout = &metav1.Duration{Duration: b.Spec.IdleTimeout.Duration + time.Second}
	return installed.client.Patch(ctx, b, client.MergeFrom(before))
}

// workload returns the bridge's Deployment.
func workload(t *testing.T, n tenant) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	must.Succeed(t, installed.client.Get(t.Context(), client.ObjectKey{Namespace: installed.namespace, Name: n.name + "-bridge"}, d))
	return d
}

// TestAnIdleBridgeSleepsAndItsSessionOutlivesThat keeps a client connected, with
// a stream on which nothing comes, until the bridge sleeps by itself.
func TestAnIdleBridgeSleepsAndItsSessionOutlivesThat(t *testing.T) {
	n := newSleeper(t, "sleeper")
	sdk := newSDKClient(n, legacyVersion)
	session := must.Value(sdk.connect(t.Context()))(t)
	defer session.Close()
	id := session.ID()
	callInSession(t, session)
	used := time.Now()
	wait.NoError(t, sleepTimeout, "the bridge sleeps", func(ctx context.Context) error { return asleep(ctx, n) })
	slept := time.Since(used)
	if slept < idleTimeout-time.Second {
		t.Errorf("it slept %s after it was used", slept)
	}
	t.Logf("last used to asleep: %s, of an idleTimeout of %s", slept.Round(100*time.Millisecond), idleTimeout)

	// Neither a question about health nor the client's stream wakes it.
	generation := workload(t, n).Generation
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for range 10 {
		<-tick.C
		a, err := send(t.Context(), newHTTPClient(false), n.base()+"/health", n.key.secret, request{method: http.MethodGet})
		if err != nil || a.status != http.StatusOK {
			t.Fatalf("health: %d %s, %v", a.status, a.body, err)
		}
		if err := asleep(t.Context(), n); err != nil || workload(t, n).Generation != generation {
			t.Fatalf("something woke it: %v", err)
		}
	}
	began := time.Now()
	callInSession(t, session)
	t.Logf("the first call of the session afterwards: %s", time.Since(began).Round(time.Millisecond))
	if said := sdk.refused.take(); len(said) > 0 {
		t.Errorf("the client was refused: %v", said)
	}
	if session.ID() != id {
		t.Error("the session is another")
	}
	if got := workload(t, n).Generation; got != generation+1 {
		t.Errorf("the Deployment was changed %d times, want once", got-generation)
	}
}

func TestManyFirstCallsAreOneStartAndAllAreAnswered(t *testing.T) {
	n := newSleeper(t, "crowd")
	fallAsleep(t, n)
	generation := workload(t, n).Generation
	c := newHTTPClient(true)
	var again atomic.Int64
	var all sync.WaitGroup
	failures := make(chan error, firstCalls)
	began := time.Now()
	for range firstCalls {
		all.Go(func() {
			if err := callUntilAnswered(t.Context(), c, n, &again); err != nil {
				failures <- err
			}
		})
	}
	all.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	t.Logf("%d first calls were answered within %s, with %d that were told to come again", firstCalls, time.Since(began).Round(time.Millisecond), again.Load())
	pod := bridgePod(t, n.uid)
	if got := workload(t, n).Generation; got != generation+1 || pod.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("the Deployment was changed %d times, and the bridge restarted %d times; want 1 and 0", got-generation, pod.Status.ContainerStatuses[0].RestartCount)
	}
}

// callUntilAnswered comes again when it is told to.
func callUntilAnswered(ctx context.Context, c *http.Client, n tenant, again *atomic.Int64) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		a, err := send(ctx, c, n.url(), n.key.secret, modernCall)
		if err != nil {
			return err
		}
		if a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable {
			return a.toolAnswered()
		}
		wait, err := strconv.Atoi(a.header.Get("Retry-After"))
		if err != nil {
			return errors.New("it says not when to come again: " + string(a.body))
		}
		again.Add(1)
		select {
		case <-time.After(time.Duration(wait) * time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TestHowLongAWakeTakes prints a table and asserts no time. A raw Deployment
// whose pod has the same probes is scaled from 0 to 1 in turn with it.
func TestHowLongAWakeTakes(t *testing.T) {
	n := newSleeper(t, "early")
	raw := rawDeployment(t)
	c := newHTTPClient(false)
	program := newSleeper(t, "early-program", npmServer("memory", "server-memory"))
	ofProgram := modern("tools/call", "read_graph", `{"name":"read_graph","arguments":{}}`)
	var ready, answered, podReady, programAnswered []time.Duration
	for range wakes {
		fallAsleep(t, n)
		began := time.Now()
		if err := callTool(t.Context(), c, n.url(), n.key.secret); err != nil {
			t.Fatalf("the first call: %v", err)
		}
		answered = append(answered, time.Since(began))
		wait.UntilWithin(t, wait.Limit, "its pod is Ready too", func() bool { return v1alpha1.BridgeReady(new(bridgePod(t, n.uid))) })
		podReady = append(podReady, time.Since(began))
		fallAsleep(t, program)
		began = time.Now()
		a, err := send(t.Context(), c, program.url(), program.key.secret, ofProgram)
		if err != nil || a.status != http.StatusOK || !strings.Contains(string(a.body), "entities") {
			t.Fatalf("the first call of the program: %v, %d %s", err, a.status, a.body)
		}
		programAnswered = append(programAnswered, time.Since(began))
		ready = append(ready, scaleUp(t, raw))
	}
	t.Logf("of %d:\n%-44s %8s %8s", wakes, "", "p50", "p95")
	for _, row := range []struct {
		what string
		took []time.Duration
	}{
		{"raw Deployment, scaled 0 to 1, until Ready", ready},
		{"sleeping bridge, first call until its answer", answered},
		{"the same, until its pod is Ready too", podReady},
		{"with a program of Node.js, until its answer", programAnswered},
	} {
		t.Logf("%-44s %8s %8s", row.what, quantile(row.took, .5), quantile(row.took, .95))
	}
}

func quantile(took []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[int(q*float64(len(sorted)-1)+.5)].Round(time.Millisecond)
}

// rawDeployment makes a Deployment of the upstream, without a pod, whose probes
// are those of bridges.
func rawDeployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	labels := map[string]string{"app": "raw"}
	container := installed.upstreamContainer("raw", 8080, false)
	container.Args = []string{"-http=:8080"}
	probe := func(failures int32) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: 1, FailureThreshold: failures, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}}
	}
	container.StartupProbe, container.ReadinessProbe = probe(60), probe(2)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: installed.namespace, Name: "raw"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64(1)), AutomountServiceAccountToken: new(false), Containers: []corev1.Container{container},
			}},
		},
	}
	must.Succeed(t, installed.client.Create(t.Context(), d))
	return d
}

// scaleUp returns how long d takes from none to a pod that is ready, and leaves
// it without one.
func scaleUp(t *testing.T, d *appsv1.Deployment) time.Duration {
	t.Helper()
	scale := func(replicas int32, done func() bool) time.Duration {
		began := time.Now()
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
		must.Succeed(t, installed.client.Patch(t.Context(), d, patch))
		wait.NoError(t, wait.Limit, fmt.Sprintf("the raw Deployment has %d replicas", replicas), func(ctx context.Context) error {
			if err := installed.client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
				return err
			}
			if !done() {
				return fmt.Errorf("it has the status %+v", d.Status)
			}
			return nil
		})
		return time.Since(began)
	}
	took := scale(1, func() bool { return d.Status.ReadyReplicas == 1 })
	scale(0, func() bool { return d.Status.ObservedGeneration == d.Generation && d.Status.Replicas == 0 })
	return took
}

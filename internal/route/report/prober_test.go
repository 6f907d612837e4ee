// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// routes is a table that the test replaces.
type routes struct {
	mu      sync.Mutex
	table   *route.Table
	changed chan struct{}
}

func (r *routes) Current() *route.Table {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table
}

func (r *routes) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// set publishes a table with alice's bridge in that pod, or without a pod.
func (r *routes) set(pod string) {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "alice", UID: "bridge"}}
	var pods []*corev1.Pod
	if pod != "" {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "one", Name: pod, UID: types.UID("pod-" + pod),
				Annotations: map[string]string{v1alpha1.AnnotationBridgeUID: "bridge"},
			},
			Status: corev1.PodStatus{
				PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.table = route.Build([]*v1alpha1.HostedBridge{b}, pods)
	if r.changed != nil {
		close(r.changed)
	}
	r.changed = make(chan struct{})
}

// probes runs a prober whose bridge answers by answer, and counts.
func probes(t *testing.T, answer func(n int) (health.Report, error)) (*routes, *Prober, func() (asked, observed int)) {
	t.Helper()
	var mu sync.Mutex
	var asked, observed int
	r := &routes{changed: make(chan struct{})}
	p := NewProber(r, func(context.Context, route.Backend) (health.Report, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return answer(asked)
	}, func(context.Context, route.Backend, health.Report) {
		mu.Lock()
		defer mu.Unlock()
		observed++
	}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r, p, func() (int, int) {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return asked, observed
	}
}

func healthy(int) (health.Report, error) {
	return health.Summarize(map[string]health.Server{"one": {Status: health.Healthy, Tools: 3}}), nil
}

func TestABridgeIsAskedWhenItIsReadyAndOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p, count := probes(t, healthy)
		if asked, _ := count(); asked != 0 {
			t.Fatalf("asked %d times before there is a table", asked)
		}
		r.set("a")
		if asked, observed := count(); asked != 1 || observed != 1 {
			t.Fatalf("asked %d, observed %d at once; want 1, 1", asked, observed)
		}
		if got, ok := p.Report("bridge"); !ok || got.Tools != 3 {
			t.Fatalf("report is %+v, %v", got, ok)
		}
		time.Sleep(10 * time.Minute)
		if asked, _ := count(); asked < 9 || asked > 12 {
			t.Errorf("asked %d times in ten minutes", asked)
		}
	})
}

func TestAnotherPodIsAskedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p, count := probes(t, healthy)
		r.set("a")
		count()
		r.set("")
		count()
		if _, ok := p.Report("bridge"); ok {
			t.Error("a bridge without a pod has a report")
		}
		r.set("b")
		if asked, _ := count(); asked != 2 {
			t.Errorf("asked %d times, want 2", asked)
		}
	})
}

func TestABridgeThatStillConnectsIsAskedOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p, count := probes(t, func(n int) (health.Report, error) {
			status := health.Connecting
			if n > 3 {
				status = health.Healthy
			}
			return health.Summarize(map[string]health.Server{"one": {Status: status}}), nil
		})
		r.set("a")
		time.Sleep(10 * time.Second)
		if asked, _ := count(); asked != 4 {
			t.Errorf("asked %d times in ten seconds, want 4", asked)
		}
		if got, _ := p.Report("bridge"); got.Status != health.Healthy {
			t.Errorf("report is %+v", got)
		}
	})
}

func TestAFailureKeepsTheLastReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p, count := probes(t, func(n int) (health.Report, error) {
			if n > 1 {
				return health.Report{}, errors.New("no answer")
			}
			return healthy(n)
		})
		r.set("a")
		time.Sleep(90 * time.Second)
		asked, observed := count()
		if asked < 3 || observed != 1 {
			t.Errorf("asked %d, observed %d; want some and 1", asked, observed)
		}
		if got, ok := p.Report("bridge"); !ok || got.Tools != 3 {
			t.Errorf("report is %+v, %v", got, ok)
		}
	})
}

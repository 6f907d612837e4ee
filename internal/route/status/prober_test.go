// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

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

// running returns a bridge and its ready pod.
func running(name string) (*v1alpha1.HostedBridge, *corev1.Pod) {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: name, UID: types.UID(name)}}
	return b, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "one", Name: name, UID: types.UID("pod-" + name),
			Annotations: map[string]string{v1alpha1.AnnotationBridgeUID: name},
		},
		Status: corev1.PodStatus{
			PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

// set publishes a table with alice's bridge in that pod, or without a pod, and
// with the revision of her secrets if there is one.
func (r *routes) set(pod string, revision ...string) {
	r.change(pod, func(b *v1alpha1.HostedBridge) {
		if len(revision) > 0 {
			b.Status.Secrets = &v1alpha1.SecretsStatus{Revision: revision[0]}
		}
	})
}

// change publishes a table with alice's bridge as it is then, in that pod.
func (r *routes) change(pod string, edit func(*v1alpha1.HostedBridge)) {
	b, p := running("alice")
	edit(b)
	b.UID, p.Annotations[v1alpha1.AnnotationBridgeUID] = "bridge", "bridge"
	p.UID = types.UID("pod-" + pod)
	var pods []*corev1.Pod
	if pod != "" {
		pods = append(pods, p)
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
	return probesAndNotices(t, answer, func() error { t.Error("a notice that nobody needs"); return nil })
}

// probesAndNotices is probes of a bridge that also takes notices.
func probesAndNotices(t *testing.T, answer func(n int) (health.Report, error), notice func() error) (*routes, *Prober, func() (asked, observed int)) {
	t.Helper()
	var mu sync.Mutex
	var asked, observed int
	r := &routes{changed: make(chan struct{})}
	p := NewProber(r, func(context.Context, route.Backend) (health.Report, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return answer(asked)
	}, func(context.Context, route.Backend) error {
		return notice()
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
		time.Sleep(settleTime) // A change is looked at that late at most.
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
			t.Fatalf("asked %d, observed %d; want 1, 1", asked, observed)
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

// TestABridgeWhoseServersChangedIsAskedSoon has a bridge that gets a server, which it knows
// some seconds later, and not one that has just started.
func TestABridgeWhoseServersChangedIsAskedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, count := probes(t, healthy)
		has := func(names ...string) {
			r.change("a", func(b *v1alpha1.HostedBridge) {
				for _, name := range names {
					b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: name})
				}
			})
		}
		has("one")
		time.Sleep(20 * time.Second)
		if asked, _ := count(); asked != 1 {
			t.Fatalf("a bridge that has started is asked %d times", asked)
		}
		has("one", "two")
		if asked, _ := count(); asked != 2 {
			t.Errorf("at once it is asked %d times", asked-1)
		}
		time.Sleep(reloadProbes * (connectingInterval + scanInterval))
		if asked, _ := count(); asked != 2+reloadProbes {
			t.Errorf("soon after it is asked %d times", asked-2)
		}
		time.Sleep(30 * time.Second)
		if asked, _ := count(); asked != 2+reloadProbes {
			t.Errorf("later it is asked %d times more", asked-2-reloadProbes)
		}
	})
}

// TestABridgeThatFallsAsleepSoonIsAskedOften has a bridge tell in time that it
// is busy.
func TestABridgeThatFallsAsleepSoonIsAskedOften(t *testing.T) {
	for timeout, most := range map[time.Duration]time.Duration{
		time.Minute:      15 * time.Second,
		2 * time.Second:  scanInterval,
		24 * time.Hour:   66 * time.Second,
		80 * time.Second: 20 * time.Second,
	} {
		t.Run(timeout.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _, count := probes(t, healthy)
				r.change("a", func(b *v1alpha1.HostedBridge) {
					b.Spec.DesiredState, b.Spec.IdleTimeout = v1alpha1.StateOnDemand, &metav1.Duration{Duration: timeout}
				})
				time.Sleep(10 * time.Minute)
				want := int(10 * time.Minute / (most + scanInterval))
				if asked, _ := count(); asked < want || asked > want*5/2 {
					t.Errorf("asked %d times in ten minutes, want at least %d", asked, want)
				}
			})
		})
	}
}

// TestABridgeWhoseReportsAreRefusedIsLoggedOnce has one that is probed on, and an
// answer between two refusals.
func TestABridgeWhoseReportsAreRefusedIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p, count := probes(t, func(n int) (health.Report, error) {
			if n == 5 {
				return healthy(n)
			}
			return health.Report{}, errors.New("read health: more than 64 servers")
		})
		var log bytes.Buffer
		p.log = slog.New(slog.NewTextHandler(&log, nil))
		r.set("a")
		time.Sleep(10 * time.Minute)
		if asked, observed := count(); asked < 10 || observed != 1 {
			t.Fatalf("asked %d, observed %d", asked, observed)
		}
		if lines := strings.Count(log.String(), "more than 64 servers"); lines != 2 {
			t.Errorf("%d lines:\n%s", lines, log.String())
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

func TestABridgeThatFailsToAnswerIsUnhealthyAfterThreeTimes(t *testing.T) {
	for _, test := range []struct {
		name     string
		answered int // So many probes before the failures.
		failures int
		status   health.Status // Empty: no report.
		tools    int
	}{
		{"one failure keeps the last report", 1, 1, health.Healthy, 3},
		{"two failures keep the last report", 1, 2, health.Healthy, 3},
		{"three failures make it unhealthy", 1, 3, health.Unhealthy, 3},
		{"two failures of a bridge that never answered are nothing known", 0, 2, "", 0},
		{"three failures of a bridge that never answered make it unhealthy", 0, 3, health.Unhealthy, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				silence := errors.New("no answer")
				again := make(chan struct{})
				r, p, count := probes(t, func(n int) (health.Report, error) {
					if n <= test.answered {
						return healthy(n)
					}
					if n <= test.answered+test.failures {
						return health.Report{}, silence
					}
					<-again
					return healthy(n)
				})
				r.set("a")
				time.Sleep(5 * time.Minute) // The next probe is under way.
				got, ok := p.Report("bridge")
				if ok != (test.status != "") || got.Status != test.status || got.Tools != test.tools || ok && got.Servers == nil {
					t.Errorf("report is %+v, %v", got, ok)
				}
				close(again)
				if _, observed := count(); observed != test.answered+1 {
					t.Errorf("observed %d reports", observed)
				}
				if got, ok := p.Report("bridge"); !ok || got.Status != health.Healthy {
					t.Errorf("one answer does not mend it: %+v, %v", got, ok)
				}
			})
		})
	}
}

func TestABridgeThatNeverAnswersIsAskedEverMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, count := probes(t, func(int) (health.Report, error) { return health.Report{}, errors.New("no answer") })
		r.set("a")
		// At once, after 5, 10, 20 and 40 s, and then each minute.
		time.Sleep(76 * time.Second)
		if asked, _ := count(); asked != 5 {
			t.Errorf("asked %d times in the first 76 seconds, want 5", asked)
		}
		time.Sleep(time.Hour)
		if asked, _ := count(); asked < 62 || asked > 66 {
			t.Errorf("asked %d times in an hour more, want about 65", asked)
		}
	})
}

func TestAStormOfTablesIsNotAStormOfScans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p, count := probes(t, healthy)
		for range 1000 {
			r.set("a")
			time.Sleep(time.Millisecond)
		}
		if asked, _ := count(); asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		if p.scans > 13 {
			t.Errorf("%d scans in a second, want one each %s", p.scans, settleTime)
		}
		r.set("b")
		if asked, _ := count(); asked != 2 {
			t.Error("the last change was overlooked")
		}
	})
}

func TestProbesAreBoundedAndEndWithTheProber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var busy, busiest int
		r := &routes{changed: make(chan struct{})}
		index := route.NewIndex()
		for i := range 10 * maxProbes {
			name := fmt.Sprint("b", i)
			b, p := running(name)
			index.SetBridge(b)
			index.SetPod(p)
		}
		r.table = index.Snapshot()
		p := NewProber(r, func(ctx context.Context, _ route.Backend) (health.Report, error) {
			mu.Lock()
			busy++
			busiest = max(busiest, busy)
			mu.Unlock()
			<-ctx.Done() // Hangs, as a pod of a dead node does.
			mu.Lock()
			defer mu.Unlock()
			busy--
			return health.Report{}, ctx.Err()
		}, func(context.Context, route.Backend) error { return nil }, func(context.Context, route.Backend, health.Report) {}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		time.Sleep(3 * time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if busiest != maxProbes || busy != 0 {
			t.Errorf("%d probes at once, want %d; %d are left", busiest, maxProbes, busy)
		}
	})
}

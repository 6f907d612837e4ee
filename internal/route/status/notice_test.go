// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// bridge is alice's process: it has secrets and fetches others when told.
type bridge struct {
	mu sync.Mutex
	// has is the revision that it has, offered what it gets when it fetches.
	has, offered string
	status       health.Status
	// told are when notices came, answers what the next ones are answered with.
	told    []time.Duration
	answers []error
	probed  int
	start   time.Time
}

func newBridge(has string) *bridge {
	return &bridge{has: has, offered: has, status: health.Healthy, start: time.Now()}
}

func (b *bridge) report(int) (health.Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probed++
	r := health.Summarize(map[string]health.Server{"one": {Status: b.status}})
	r.SecretsRevision = b.has
	return r, nil
}

func (b *bridge) notice() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = append(b.told, time.Since(b.start).Round(time.Second))
	if len(b.answers) > 0 {
		err := b.answers[0]
		b.answers = b.answers[1:]
		if err != nil {
			return err
		}
	}
	b.has = b.offered
	return nil
}

func (b *bridge) offer(revision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.offered = revision
}

// seen returns how often it was told and probed.
func (b *bridge) seen() (told, probed int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.told), b.probed
}

func TestABridgeIsToldOfOtherSecretsAtOnceAndOnce(t *testing.T) {
	for _, test := range []struct{ name, has, offered string }{
		{"of its first ones", "", "r1"},
		{"of others", "r1", "r2"},
		{"that there are none any more", "r1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBridge(test.has)
				r, p, settled := probesAndNotices(t, b.report, b.notice)
				r.set("a", test.has)
				settled()
				if told, _ := b.seen(); told != 0 {
					t.Fatal("told of what it has")
				}
				time.Sleep(10 * time.Second)
				b.offer(test.offered)
				r.set("a", test.offered)
				settled()
				told, before := b.seen()
				if told != 1 || b.told[0] != 10*time.Second {
					t.Fatalf("told %d times, at %v; want once after the change", told, b.told)
				}
				// Its servers have connected anew when it is next asked twice.
				time.Sleep(2*connectingInterval + 2*scanInterval)
				if _, probed := b.seen(); probed != before+2 {
					t.Errorf("asked %d times in the 6 seconds after the notice, want twice", probed-before)
				}
				if got, _ := p.Report("bridge"); got.SecretsRevision != test.offered {
					t.Errorf("the report is of %q, want %q", got.SecretsRevision, test.offered)
				}
				time.Sleep(5 * time.Minute)
				if told, probed := b.seen(); told != 1 || probed > before+2+6 {
					t.Errorf("in five minutes more: told %d times, asked %d times", told, probed-before)
				}
			})
		})
	}
}

func TestABridgeThatKeepsItsSecretsIsToldAgainEverMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBridge("r1") // The keybroker is away: it gets no others.
		r, _, settled := probesAndNotices(t, b.report, b.notice)
		r.set("a", "r2")
		settled()
		time.Sleep(70 * time.Second)
		// At once and, on the scans, after about 2, 6, 14, 30 and 62 s.
		if told, probed := b.seen(); told != probed || told < 5 || told > 6 {
			t.Errorf("told %d times at %v, with %d probes; want 6 and one with each", told, b.told, probed)
		}
		time.Sleep(time.Hour)
		if told, _ := b.seen(); told < 60 || told > 75 {
			t.Errorf("told %d times in an hour, want about once a minute", told)
		}
		// A change is worth a notice at once again.
		told, _ := b.seen()
		b.offer("r3")
		r.set("a", "r3")
		settled()
		if now, _ := b.seen(); now != told+1 {
			t.Errorf("told %d times of another change", now-told)
		}
	})
}

func TestANoticeThatFailsIsMadeUpForAtTheNextProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBridge("r1")
		b.answers = []error{errors.New("no connection"), errors.New("no connection")}
		b.offer("r2")
		r, p, settled := probesAndNotices(t, b.report, b.notice)
		r.set("a", "r2")
		settled()
		time.Sleep(20 * time.Second)
		if told, _ := b.seen(); told != 3 {
			t.Errorf("told %d times, at %v; want 3", told, b.told)
		}
		if got, _ := p.Report("bridge"); got.SecretsRevision != "r2" {
			t.Errorf("the report is of %q", got.SecretsRevision)
		}
	})
}

func TestOnlyABridgeThatIsReadyIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBridge("r1")
		b.offer("r2")
		r, _, settled := probesAndNotices(t, b.report, b.notice)
		r.set("", "r2")
		settled()
		time.Sleep(5 * time.Minute)
		if told, probed := b.seen(); told != 0 || probed != 0 {
			t.Errorf("told %d times, asked %d times without a pod", told, probed)
		}
		r.set("a", "r2")
		settled()
		if told, _ := b.seen(); told != 1 {
			t.Errorf("told %d times when the pod is ready", told)
		}
	})
}

func TestAChangeDuringAProbeIsNotOverlooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBridge("r1")
		b.offer("r2")
		going := make(chan struct{})
		r, _, settled := probesAndNotices(t, func(n int) (health.Report, error) {
			if n == 1 {
				<-going
			}
			return b.report(n)
		}, b.notice)
		r.set("a", "r1")
		time.Sleep(scanInterval)
		r.set("a", "r2")
		time.Sleep(scanInterval)
		close(going)
		time.Sleep(scanInterval)
		settled()
		if told, _ := b.seen(); told != 1 {
			t.Errorf("told %d times, want once", told)
		}
	})
}

func TestNoticesShareTheBoundOfProbesAndTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var busy, busiest int
		var log strings.Builder
		index := route.NewIndex()
		for i := range 10 * maxProbes {
			b, p := running(fmt.Sprint("b", i))
			b.Status.Secrets = &v1alpha1.SecretsStatus{Revision: "r2"}
			index.SetBridge(b)
			index.SetPod(p)
		}
		r := &routes{changed: make(chan struct{}), table: index.Snapshot()}
		p := NewProber(r, func(context.Context, route.Backend) (health.Report, error) {
			return healthy(1)
		}, func(ctx context.Context, _ route.Backend) error {
			mu.Lock()
			busy++
			busiest = max(busiest, busy)
			mu.Unlock()
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			busy--
			return ctx.Err()
		}, func(context.Context, route.Backend, health.Report) {}, slog.New(slog.NewTextHandler(&log, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		time.Sleep(3 * time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if busiest != maxProbes || busy != 0 {
			t.Errorf("%d notices at once, want %d; %d are left", busiest, maxProbes, busy)
		}
		if log.Len() > 0 {
			t.Errorf("the end is logged as failures: %s", log.String())
		}
	})
}

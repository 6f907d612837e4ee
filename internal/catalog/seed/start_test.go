// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestTheStartSeedsUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		store.synced = false
		s, source, clock := testSeeder(t, map[string]string{"new.json": text("new"), "bad.json": "{"}, store)
		var log bytes.Buffer
		s.log = slog.New(slog.NewTextHandler(&log, nil))
		source.err = errors.New("the disk is away")
		ended := make(chan error)
		go func() { ended <- s.Run(t.Context()) }()
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("it does not wait for the catalog: %s", &log)
		}
		store.set(func() { store.synced = true })
		for _, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute} {
			w := <-clock.Waits
			if w.D != want {
				t.Errorf("it waits for %s, want %s", w.D, want)
			}
			if want == 5*time.Minute {
				source.err = nil
				store.fail = func(catalog.Change) error { return errors.New("the API server is away") }
			}
			if len(store.applied) > 0 {
				store.fail = nil
			}
			clock.End(w)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if e, there := store.Current().Entry("new"); !there || e.Owner != catalog.SeedOwner {
			t.Errorf("%+v", e)
		}
		for _, want := range []string{"the disk is away", "the API server is away", "the catalog was seeded", "file=bad.json"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %q", want)
			}
		}
	})
}

func TestTheStartEndsWithTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, synced := range map[string]bool{"before the catalog is read": false, "between two tries": true} {
			store := newMemoryStore()
			store.synced = synced
			s, source, clock := testSeeder(t, nil, store)
			source.err = errors.New("away")
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- s.Run(ctx) }()
			if synced {
				<-clock.Waits
			}
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestALogNamesSomeOfManyBrokenRecipes(t *testing.T) {
	files := map[string]string{"good.json": text("good")}
	for i := range 3 * logged {
		files["bad-"+strings.Repeat("x", i+1)+".json"] = "{"
	}
	s, _, _ := testSeeder(t, files, newMemoryStore())
	var log bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	must.Succeed(t, s.Run(t.Context()))
	if got := strings.Count(log.String(), "\n"); got != logged+2 {
		t.Errorf("%d lines, want %d", got, logged+2)
	}
}

func TestMetricsTellOfTheLastRun(t *testing.T) {
	files, store := library()
	s, source, clock := testSeeder(t, files, store)
	reg := prometheus.NewRegistry()
	must.Succeed(t, s.Register(reg))
	seed := func(dryRun bool) {
		_, _ = s.Seed(t.Context(), dryRun)
		clock.Advance(time.Minute)
	}
	seed(true)
	seed(false)
	source.err = errors.New("away")
	seed(false)
	start := float64(clocktest.Start.Unix())
	want := map[string]float64{
		"runs_total done": 1, "runs_total failed": 1, "last_timestamp_seconds done": start + 60, "last_timestamp_seconds failed": start + 120,
		"recipes create": 3, "recipes update": 2, "recipes deprecate": 1, "recipes none": 3, "recipes broken": 7,
	}
	if diff := cmp.Diff(want, gathered(t, reg)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// gathered returns the values of a registry by the end of their names and their
// label's value.
func gathered(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families := must.Value(reg.Gather())(t)
	values := map[string]float64{}
	for _, f := range families {
		name := strings.TrimPrefix(f.GetName(), "hostedbridge_ingress_catalog_seed_")
		for _, m := range f.GetMetric() {
			values[name+" "+m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values
}

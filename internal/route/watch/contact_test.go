// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

func TestThereIsContactWhileAWatchOfEachKindIsOpen(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	c := newContact(start)
	for now, step := range []struct {
		name string
		do   func(now time.Time)
		want int // The seconds of contact's end; the step's own number is now.
	}{
		{"nothing", func(time.Time) {}, 0},
		{"one kind", func(time.Time) { c.opened("pods") }, 0},
		{"the same kind again", func(time.Time) { c.opened("pods") }, 0},
		{"both kinds", func(time.Time) { c.opened("bridges") }, 3},
		{"one of two watches of a kind ends", func(now time.Time) { c.closed("pods", now) }, 4},
		{"the other one ends", func(now time.Time) { c.closed("pods", now) }, 5},
		{"time passes", func(time.Time) {}, 5},
		{"the other kind ends too", func(now time.Time) { c.closed("bridges", now) }, 5},
		{"one is back", func(time.Time) { c.opened("bridges") }, 5},
		{"both are back", func(time.Time) { c.opened("pods") }, 9},
		{"time passes", func(time.Time) {}, 10},
	} {
		step.do(at(now))
		if got := c.confirmed(at(now)); !got.Equal(at(step.want)) {
			t.Errorf("%d, %s: confirmed at second %d, want %d", now, step.name, int(got.Sub(start).Seconds()), step.want)
		}
	}
}

func TestAWatchIsOpenUntilItIsStopped(t *testing.T) {
	c := newContact(time.Time{})
	c.opened("other")
	inner := apiwatch.NewFake()
	fail := errors.New("connection refused")
	lw := c.observe("pods", &toolscache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
		return inner, fail
	}})
	now := time.Now()
	if _, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{}); !errors.Is(err, fail) || c.confirmed(now).Equal(now) {
		t.Errorf("contact by a watch that failed (%v)", err)
	}
	fail = nil
	w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil || !c.confirmed(now).Equal(now) {
		t.Errorf("no contact by a watch that is open (%v)", err)
	}
	w.Stop()
	w.Stop() // As reflectors do.
	if c.confirmed(now.Add(time.Hour)).After(time.Now()) {
		t.Error("contact by a watch that was stopped")
	}
	if !inner.IsStopped() {
		t.Error("the watch goes on")
	}
}

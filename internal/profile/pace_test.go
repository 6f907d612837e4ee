// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestAPacedChangeReachesFiveBridgesFirst(t *testing.T) {
	var p Pacer
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	wait := func(bridge int, now time.Time) time.Duration {
		return p.Wait("profile", 7, 10, types.UID(fmt.Sprint(bridge)), now)
	}
	for i := range 5 {
		if got := wait(i, start); got != 0 {
			t.Errorf("bridge %d waits %s", i, got)
		}
	}
	for i := 5; i < 25; i++ {
		if got, want := wait(i, start), 30*time.Second+time.Duration(i-5)*100*time.Millisecond; got != want {
			t.Errorf("bridge %d waits %s, want %s", i, got, want)
		}
	}
	if got := wait(6, start.Add(30*time.Second)); got != 100*time.Millisecond {
		t.Errorf("a bridge that asks again has another turn: %s", got)
	}
	if got := wait(6, start.Add(31*time.Second)); got != 0 {
		t.Errorf("a bridge whose turn has come waits %s", got)
	}
	if got := wait(99, start.Add(time.Hour)); got != 0 {
		t.Errorf("a bridge that comes after all others waits %s", got)
	}
	if got := p.Wait("profile", 8, 10, "0", start); got != 0 {
		t.Errorf("another change begins anew, and its first bridge waits %s", got)
	}
	p.Forget("profile")
	if got := p.Wait("profile", 8, 10, "11", start); got != 0 {
		t.Errorf("after a rollout was forgotten a bridge waits %s", got)
	}
}

func TestWhichRevisionsAreKept(t *testing.T) {
	p := &v1alpha1.BridgeProfile{}
	accept := func(generation int64, complete bool) []v1alpha1.ProfileRevision {
		t.Helper()
		p.Generation, p.Spec.Priority = generation, int32(generation)
		revisions := must.Value(Accept(p))(t)
		if p.Status.Revisions = revisions; complete {
			p.Status.Revisions = revisions[:1]
		}
		return revisions
	}
	for _, step := range []struct {
		generation int64
		complete   bool
		newest     int64
		former     int64
		why        string
	}{
		{1, true, 1, 0, "before the first there is none"},
		{2, false, 2, 1, "during a rollout there is the one before"},
		{3, false, 3, 1, "a change in a rollout keeps the one that all bridges had"},
		{4, true, 4, 1, "also the next"},
		{5, true, 5, 4, "after a complete one it is that"},
	} {
		got := accept(step.generation, step.complete)
		if len(got) != 2 || got[0].Generation != step.newest || got[1].Generation != step.former {
			t.Errorf("%s: %+v", step.why, got)
		}
		newest, err := Of(p, got[0])
		if err != nil || newest.Spec.Priority != int32(step.newest) {
			t.Errorf("%s: %+v, %v", step.why, newest, err)
		}
	}
	if _, err := Of(p, v1alpha1.ProfileRevision{Spec: "{"}); err == nil {
		t.Error("a revision that cannot be read is read")
	}
}

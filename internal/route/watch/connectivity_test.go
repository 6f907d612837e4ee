// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

func TestThereIsContactWhileAWatchOfEachKindIsOpen(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	c := newConnectivity(start, watchedKinds)
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
	c := newConnectivity(time.Time{}, watchedKinds)
	c.opened("other")
	inner := apiwatch.NewFake()
	fail := error(apierrors.NewResourceExpired("too old"))
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

func TestAnAPIServerThatIsAwayIsTriedEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, attempts := time.Now(), 0
		resource := schema.GroupResource{Resource: "pods"}
		answers := []error{
			errors.New("connection refused"), apierrors.NewServiceUnavailable("starting"), apierrors.NewForbidden(resource, "", nil),
			apierrors.NewUnauthorized("who"), apierrors.NewNotFound(resource, ""),
			apierrors.NewInternalError(errors.New("the storage is away")), apierrors.NewTimeoutError("the storage is slow", 1),
			apierrors.NewGenericServerResponse(http.StatusGatewayTimeout, "list", resource, "", "of a proxy", 0, true),
			apierrors.NewTooManyRequests("later", 60),
		}
		wrong := apierrors.NewTimeoutError("Too large resource version", 1)
		wrong.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
		ask := func() error {
			attempts++
			if attempts <= len(answers) {
				return answers[attempts-1]
			}
			return wrong
		}
		c := newConnectivity(start, watchedKinds)
		lw := c.observe("pods", &toolscache.ListWatch{
			ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, ask() },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) { return nil, ask() },
		})
		for name, try := range map[string]func(ctx context.Context) error{
			"list":  func(ctx context.Context) error { _, err := lw.ListWithContext(ctx, metav1.ListOptions{}); return err },
			"watch": func(ctx context.Context) error { _, err := lw.WatchWithContext(ctx, metav1.ListOptions{}); return err },
		} {
			start, attempts = time.Now(), 0
			// That the question is a wrong one is an answer: the informer asks another.
			if err := try(t.Context()); !apierrors.IsTimeout(err) || attempts != len(answers)+1 || time.Since(start) != time.Duration(len(answers))*retryInterval {
				t.Errorf("%s: %v after %d attempts in %s", name, err, attempts, time.Since(start))
			}
			if err := c.failure(); !apierrors.IsTooManyRequests(err) {
				t.Errorf("%s: the last failure is %v", name, err)
			}
			attempts = 0
			ctx, cancel := context.WithTimeout(t.Context(), retryInterval/2)
			defer cancel()
			if err := try(ctx); err == nil || attempts != 1 {
				t.Errorf("%s: %v after %d attempts, when nobody waits any more", name, err, attempts)
			}
		}
	})
}

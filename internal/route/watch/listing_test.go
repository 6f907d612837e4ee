// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestAWatchThatListsIsOpenWhenItHas has a watch in place of a list: what it
// tells of before the bookmark may be hours old by the time it has come.
func TestAWatchThatListsIsOpenWhenItHas(t *testing.T) {
	bookmark := func(annotations map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: annotations}}
	}
	for name, untilBookmark := range map[string]bool{"stopped in the list": false, "stopped behind it": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				c := newConnectivity(start, watchedKinds)
				c.opened("other")
				inner, all := apiwatch.NewFake(), true
				lw := c.observe("pods", &toolscache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
					return inner, nil
				}})
				w := must.Value(lw.WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: &all}))(t)
				pass := func(tell func(), want apiwatch.EventType) {
					t.Helper()
					go tell()
					if e := <-w.ResultChan(); e.Type != want {
						t.Errorf("%s, want %s", e.Type, want)
					}
					synctest.Wait()
				}
				time.Sleep(time.Minute)
				pass(func() { inner.Add(&corev1.Pod{}) }, apiwatch.Added)
				pass(func() { inner.Action(apiwatch.Bookmark, bookmark(nil)) }, apiwatch.Bookmark)
				if got := c.confirmed(time.Now()); !got.Equal(start) {
					t.Errorf("confirmed %s after the start by a list that is not whole", got.Sub(start))
				}
				if untilBookmark {
					last := bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
					pass(func() { inner.Action(apiwatch.Bookmark, last) }, apiwatch.Bookmark)
					if !c.confirmed(time.Now()).Equal(time.Now()) {
						t.Error("no contact by a watch whose list is whole")
					}
				} else {
					go inner.Add(&corev1.Pod{}) // Nobody takes it.
					synctest.Wait()
				}
				w.Stop()
				w.Stop()
				time.Sleep(time.Minute)
				if got := c.confirmed(time.Now()); !got.Before(time.Now()) {
					t.Error("contact by a watch that was stopped")
				}
				for range w.ResultChan() {
					t.Error("an event of a watch that was stopped")
				}
				if !inner.IsStopped() {
					t.Error("the watch goes on")
				}
			})
		})
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// impatient does not wait, so that each question of a test is asked once.
func impatient(context.Context) bool { return false }

// TestARefusalIsAskedAgainUntilItIsNone is of the time in which an informer would
// ask twice or three times by itself.
func TestARefusalIsAskedAgainUntilItIsNone(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no right"))
	answers := func(granted time.Duration) *toolscache.ListWatch {
		begun := time.Now()
		return &toolscache.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			if time.Since(begun) < granted {
				return nil, forbidden
			}
			return &corev1.PodList{Items: make([]corev1.Pod, 1)}, nil
		}}
	}
	for name, tt := range map[string]struct {
		other, granted time.Duration
		items          int
		takes          time.Duration
		err            error
	}{
		"granted in time":        {0, 2 * time.Second, 1, 2 * time.Second, nil},
		"not granted":            {0, time.Hour, 0, refusalTimeout, nil},
		"nobody is granted":      {time.Hour, time.Hour, 0, refusalTimeout, forbidden},
		"granted from the start": {time.Hour, 0, 1, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := NewRefusals(slog.New(slog.DiscardHandler))
				begun := time.Now()
				go func() {
					_, _ = n.OmitRefused(answers(tt.other), "pods", func() {}).ListWithContextFunc(t.Context(), metav1.ListOptions{})
				}()
				synctest.Wait()
				list, err := n.OmitRefused(answers(tt.granted), "pods", func() {}).ListWithContextFunc(t.Context(), metav1.ListOptions{})
				if !errors.Is(err, tt.err) || time.Since(begun) != tt.takes {
					t.Errorf("%v after %s, want %v after %s", err, time.Since(begun), tt.err, tt.takes)
				}
				if err == nil && meta.LenList(list) != tt.items {
					t.Errorf("%d items, want %d", meta.LenList(list), tt.items)
				}
			})
		})
	}
}

func TestWhichNamespaceIsLeftOut(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New(`no right in the namespace "trials"`))
	away := errors.New("connection refused")
	second, long := time.Second, refusalTimeout
	type look struct {
		after time.Duration
		err   error
	}
	tests := []struct {
		name  string
		other error // What the other namespace's list comes to.
		looks []look
		left  bool
	}{
		{"one that is refused while the other is not", nil, []look{{0, forbidden}, {long, forbidden}}, true},
		{"one that is not there", nil, []look{{0, apierrors.NewNotFound(schema.GroupResource{}, "trials")}, {long, forbidden}}, true},
		{"not for a refusal of a moment", nil, []look{{0, forbidden}, {second, forbidden}}, false},
		{"not where all are refused", forbidden, []look{{0, forbidden}, {long, forbidden}}, false},
		{"not while the API server is away", nil, []look{{0, away}, {long, away}}, false},
		{"not when it is refused again after a while", nil, []look{{0, forbidden}, {long, away}, {second, forbidden}}, false},
		{"not what was answered once", nil, []look{{0, nil}, {long, forbidden}, {long, forbidden}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			now := time.Unix(0, 0)
			n := NewRefusals(slog.New(slog.NewTextHandler(&log, nil)))
			n.now, n.pause = func() time.Time { return now }, impatient
			var answer error
			lister := &toolscache.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				if answer != nil {
					return nil, answer
				}
				return &corev1.PodList{Items: make([]corev1.Pod, 1)}, nil
			}}
			answer = tt.other
			_, _ = n.OmitRefused(lister, "pods", func() { t.Error("the other is left out") }).ListWithContextFunc(t.Context(), metav1.ListOptions{})
			left := 0
			one := n.OmitRefused(lister, "pods", func() { left++ })
			for i, l := range tt.looks {
				now = now.Add(l.after)
				answer = l.err
				list, err := one.ListWithContextFunc(t.Context(), metav1.ListOptions{})
				if last := i == len(tt.looks)-1; tt.left && last {
					if err != nil || meta.LenList(list) != 0 || left != 1 {
						t.Errorf("%v, left out %d times", err, left)
					}
					continue
				}
				if !errors.Is(err, l.err) || left != 0 {
					t.Errorf("look %d: %v, want %v; left out %d times", i, err, l.err, left)
				}
			}
			if tt.left != strings.Contains(log.String(), "trials") || tt.left != strings.Contains(log.String(), "level=ERROR") {
				t.Errorf("the log has: %s", log.String())
			}
			// And when it is there again, it is as it is.
			answer = nil
			if list, err := one.ListWithContextFunc(t.Context(), metav1.ListOptions{}); err != nil || meta.LenList(list) != 1 {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestAnInformerThatBeginsByAWatchGoesOnWithTheEmptyList does what client-go does
// where the API server streams what there is.
func TestAnInformerThatBeginsByAWatchGoesOnWithTheEmptyList(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no right"))
	now := time.Unix(0, 0)
	n := NewRefusals(slog.New(slog.DiscardHandler))
	n.now, n.pause = func() time.Time { return now }, impatient
	answered := &toolscache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
		return apiwatch.NewFake(), nil
	}}
	if _, err := n.OmitRefused(answered, "pods", func() {}).WatchFuncWithContext(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	asked, left := 0, 0
	one := n.OmitRefused(&toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { asked++; return nil, forbidden },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
			return nil, forbidden
		},
	}, "pods", func() { left++ })
	if _, err := one.WatchFuncWithContext(t.Context(), metav1.ListOptions{}); !errors.Is(err, forbidden) {
		t.Errorf("the first watch: %v", err)
	}
	now = now.Add(refusalTimeout)
	if _, err := one.WatchFuncWithContext(t.Context(), metav1.ListOptions{}); err == nil || apierrors.IsForbidden(err) {
		t.Errorf("the watch after a while: %v, want another error than the refusal", err)
	}
	if list, err := one.ListWithContextFunc(t.Context(), metav1.ListOptions{}); err != nil || meta.LenList(list) != 0 || asked != 0 || left != 1 {
		t.Errorf("the list: %v, asked %d times, left out %d times", err, asked, left)
	}
	if _, err := one.ListWithContextFunc(t.Context(), metav1.ListOptions{}); !errors.Is(err, forbidden) {
		t.Errorf("the next list: %v", err)
	}
}

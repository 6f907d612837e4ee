// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

func TestWhenKeysWereUsed(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	status := func(id string, at time.Time) v1alpha1.APIKeyStatus {
		return v1alpha1.APIKeyStatus{ID: id, LastUsedTime: metav1.NewTime(at)}
	}
	for name, test := range map[string]struct {
		keys    []string
		have    []v1alpha1.APIKeyStatus
		used    map[string]time.Time
		want    []v1alpha1.APIKeyStatus
		changed bool
	}{
		"nothing was used":       {keys: []string{"a"}, have: []v1alpha1.APIKeyStatus{status("a", ago(time.Hour))}, want: []v1alpha1.APIKeyStatus{status("a", ago(time.Hour))}},
		"the first use":          {keys: []string{"a", "b"}, used: map[string]time.Time{"b": now.Add(999 * time.Millisecond)}, want: []v1alpha1.APIKeyStatus{status("b", now)}, changed: true},
		"a use within minutes":   {keys: []string{"a"}, have: []v1alpha1.APIKeyStatus{status("a", ago(keyInterval-time.Second))}, used: map[string]time.Time{"a": now}, want: []v1alpha1.APIKeyStatus{status("a", ago(keyInterval-time.Second))}},
		"a use after minutes":    {keys: []string{"a"}, have: []v1alpha1.APIKeyStatus{status("a", ago(keyInterval))}, used: map[string]time.Time{"a": now}, want: []v1alpha1.APIKeyStatus{status("a", now)}, changed: true},
		"a clock that is behind": {keys: []string{"a"}, have: []v1alpha1.APIKeyStatus{status("a", now)}, used: map[string]time.Time{"a": ago(time.Hour)}, want: []v1alpha1.APIKeyStatus{status("a", now)}},
		"others stay, and those that are gone go": {
			keys: []string{"b", "a"}, have: []v1alpha1.APIKeyStatus{status("a", ago(time.Minute)), status("gone", now)},
			used: map[string]time.Time{"b": now, "gone": now, "never": now},
			want: []v1alpha1.APIKeyStatus{status("b", now), status("a", ago(time.Minute))}, changed: true,
		},
		"only one that is gone was used": {keys: []string{"a"}, used: map[string]time.Time{"gone": now}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{Status: v1alpha1.HostedBridgeStatus{Keys: test.have}}
			for _, id := range test.keys {
				b.Spec.APIKeys = append(b.Spec.APIKeys, v1alpha1.APIKey{ID: id})
			}
			got, changed := pendingUpdate{keys: test.used}.keysUsed(effective.Of(b))
			if diff := cmp.Diff(test.want, got); diff != "" || changed != test.changed {
				t.Errorf("changed %v, want %v\n%s", changed, test.changed, diff)
			}
		})
	}
}

func TestUsesOfKeysAreNotedTogether(t *testing.T) {
	first := pendingUpdate{keys: map[string]time.Time{"a": time.Unix(5, 0), "b": time.Unix(1, 0)}}
	second := pendingUpdate{keys: map[string]time.Time{"a": time.Unix(3, 0), "c": time.Unix(2, 0)}}
	want := map[string]time.Time{"a": time.Unix(5, 0), "b": time.Unix(1, 0), "c": time.Unix(2, 0)}
	if diff := cmp.Diff(want, first.merge(second).keys); diff != "" {
		t.Error(diff)
	}
	if len(first.keys) != 2 || len(second.keys) != 2 {
		t.Error("a note was changed by another")
	}
	if diff := cmp.Diff(first.keys, first.merge(pendingUpdate{}).keys); diff != "" {
		t.Error(diff)
	}
	if !second.due(time.Time{}) || (pendingUpdate{next: time.Unix(9, 0)}).due(time.Unix(8, 0)) {
		t.Error("a key that was used is to be written, and what has time is not")
	}
}

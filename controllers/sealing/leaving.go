// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// retainedUntil returns until when the secrets of a bridge are kept whose users are
// offboarded, nil for any other bridge. The time begins when the keybroker first sees it, by
// its own clock, and stays.
func retainedUntil(b *v1alpha1.HostedBridge, now time.Time, retention time.Duration) *metav1.Time {
	if b.Status.Access == nil || b.Status.Access.State != v1alpha1.AccessOffboarded {
		return nil
	}
	if s := b.Status.Secrets; s != nil && s.RetainedUntil != nil {
		return s.RetainedUntil
	}
	return new(metav1.NewTime(now.Add(retention).Truncate(time.Second)))
}

// destroy destroys the secrets of a bridge whose users are offboarded. From then on nothing
// is sealed for it, until they have access again.
func destroy(ctx context.Context, s Store, b *v1alpha1.HostedBridge, until *metav1.Time, now time.Time) (outcome, error) {
	if err := s.Destroy(ctx, reference(b)); err != nil {
		return outcome{}, fmt.Errorf("destroy secrets: %w", err)
	}
	out := outcome{retainedUntil: until, destroyed: new(metav1.NewTime(now.Truncate(time.Second)))}
	if before := b.Status.Secrets; before != nil && before.DestroyedTime != nil {
		out.destroyed = before.DestroyedTime
	}
	return out, nil
}

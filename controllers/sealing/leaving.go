// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
)

// offboarded reports whether the users of a bridge are offboarded, by the word of the operator
// and by the people whom the keybroker sees itself. differ means that only the operator says so:
// it may know earlier, or be in other hands.
func (r *Reconciler) offboarded(ctx context.Context, b *v1alpha1.HostedBridge) (is, differ bool, err error) {
	if b.Status.Access == nil || b.Status.Access.State != v1alpha1.AccessOffboarded {
		return false, false, nil
	}
	people, err := sharing.People(ctx, installed{r.Client, r.Settings.Namespace}, b)
	if err != nil {
		return false, false, fmt.Errorf("read the people of the bridge: %w", err)
	}
	is = people.Bridge(b) == v1alpha1.AccessOffboarded
	return is, !is, nil
}

// retainedUntil returns until when the secrets of a bridge are kept whose users are
// offboarded. The time begins when the keybroker first sees it, by its own clock, and stays: an
// admission policy keeps everybody else from changing it.
func retainedUntil(b *v1alpha1.HostedBridge, now time.Time, retention time.Duration) *metav1.Time {
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

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// retainedUntil returns until when the secrets of a bridge are kept whose users are
// offboarded, nil for any other bridge. The time begins when the keybroker first sees it, by
// its own clock, and stays: nobody else can shorten it.
func (r *Reconciler) retainedUntil(b *v1alpha1.HostedBridge) *metav1.Time {
	if b.Status.Access == nil || b.Status.Access.State != v1alpha1.AccessOffboarded {
		return nil
	}
	if s := b.Status.Secrets; s != nil && s.RetainedUntil != nil {
		return s.RetainedUntil
	}
	return new(metav1.NewTime(r.Clock.Now().Add(r.Settings.Retention).Truncate(time.Second)))
}

// destroy destroys the secrets of a bridge whose users are offboarded. From then on nothing
// is sealed for it, until they have access again.
func (r *Reconciler) destroy(ctx context.Context, b *v1alpha1.HostedBridge, until *metav1.Time) error {
	if err := r.Store.Destroy(ctx, reference(b)); err != nil {
		return fmt.Errorf("destroy secrets: %w", err)
	}
	out := outcome{retainedUntil: until}
	if s := b.Status.Secrets; s != nil {
		out.destroyed = s.DestroyedTime
	}
	if out.destroyed == nil {
		out.destroyed = new(metav1.NewTime(r.Clock.Now().Truncate(time.Second)))
	}
	r.Metrics.set(client.ObjectKeyFromObject(b), out)
	return r.report(ctx, b, out)
}

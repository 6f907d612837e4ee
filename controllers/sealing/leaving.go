// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
)

// retainedUntil returns until when the secrets of a bridge are kept whose people are
// offboarded, nil for any other bridge. The keybroker looks at the people itself, and the time
// begins by its clock and is noted where only it writes: no other process can say either, and
// so have secrets destroyed early. A time that lies ahead of a whole retention was noted by a
// clock that was ahead, or with a longer retention, and begins again.
func (r *Reconciler) retainedUntil(ctx context.Context, b *v1alpha1.HostedBridge, now time.Time) (*metav1.Time, error) {
	people, err := sharing.People(ctx, installed{r.Client, r.Settings.Namespace}, b)
	if err != nil {
		return nil, fmt.Errorf("list BridgePersons: %w", err)
	}
	if people.Bridge(b) != v1alpha1.AccessOffboarded {
		return nil, nil
	}
	listing, err := r.Store.List(ctx, reference(b))
	if err != nil && !errors.Is(err, secretstore.ErrNotOwned) { // Somebody else's Secret has nothing of the bridge.
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	until, end := listing.RetainedUntil, now.Add(r.Settings.Retention).Truncate(time.Second)
	stored := len(listing.Entries) > 0 || !until.IsZero()
	if !stored {
		until = saidRetainedUntil(b) // There is nothing that it could end early.
	}
	if !until.IsZero() && !until.After(end) {
		return new(metav1.NewTime(until)), nil
	}
	if !stored {
		return new(metav1.NewTime(end)), nil
	}
	return new(metav1.NewTime(end)), r.Store.Retain(ctx, reference(b), end)
}

// saidRetainedUntil returns what the status says, zero for nothing.
func saidRetainedUntil(b *v1alpha1.HostedBridge) time.Time {
	if said := b.Status.Secrets; said != nil && said.RetainedUntil != nil {
		return said.RetainedUntil.Time
	}
	return time.Time{}
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

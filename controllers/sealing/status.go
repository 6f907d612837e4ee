// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
)

// Reasons of events on a HostedBridge.
const (
	eventSealed  = "SecretsSealed"
	eventFailed  = "SealFailed"
	eventRotated = "KeyRotated"
)

// report writes the keybroker's part of the status, if it has changed, and the
// events. It leaves out what the operator and the ingress write, and so does
// not change it.
func (r *Reconciler) report(ctx context.Context, b *v1alpha1.HostedBridge, out outcome) error {
	r.recordWrites(b, out)
	secrets, keyVersion := status(b, out)
	if same(b.Status.Secrets, &secrets) && equality.Semantic.DeepEqual(b.Status.KeyVersion, keyVersion) {
		return nil
	}
	// A new object of the same name gets this status for a moment: status
	// writes ignore the UID. Its own reconciliation is next in the queue, under
	// the same name, and writes the right status.
	object := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	patch := apply.Status(v1alpha1.HostedBridgeStatus{Secrets: &secrets, KeyVersion: keyVersion})
	err := r.Client.Status().Patch(ctx, object, patch, client.FieldOwner(v1alpha1.FieldOwnerKeybroker), client.ForceOwnership)
	if err == nil {
		err = r.takeBack(ctx, b, object.Status.Secrets, secrets)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // The bridge was deleted: no status is needed.
	}
	if err != nil {
		return fmt.Errorf("apply status: %w", err)
	}
	r.recordFailures(b, secrets.Failures)
	return nil
}

// takeBack removes the times of leaving that the API server's answer has and the report has
// not. An apply leaves what another writer holds too, and by these times the bridge of a first
// login is deleted.
func (r *Reconciler) takeBack(ctx context.Context, b *v1alpha1.HostedBridge, answer *v1alpha1.SecretsStatus, report v1alpha1.SecretsStatus) error {
	fields := map[string]any{}
	if answer.RetainedUntil != nil && report.RetainedUntil == nil {
		fields["retainedUntil"] = nil
	}
	if answer.DestroyedTime != nil && report.DestroyedTime == nil {
		fields["destroyedTime"] = nil
	}
	if len(fields) == 0 {
		return nil
	}
	object := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	return apply.RemoveStatus(ctx, r.Client, object, v1alpha1.FieldOwnerKeybroker, map[string]any{"secrets": fields})
}

// status returns the keybroker's part of the status.
func status(b *v1alpha1.HostedBridge, out outcome) (v1alpha1.SecretsStatus, *int32) {
	in := effective.Of(b)
	s := v1alpha1.SecretsStatus{
		ObservedGeneration: b.Generation,
		Count:              int32(len(out.listing.Entries)), //nolint:gosec // The limit is what fits into one Secret.
		Revision:           sharing.Revision(out.listing.Revision, out.grants),
		ObservedRecipes:    bridgestate.SecretsBesideSpec(in),
		Missing:            missing(in, out.listing.Entries),
		Failures:           merged(out.failures),
		RetainedUntil:      out.retainedUntil,
		DestroyedTime:      out.destroyed,
	}
	lowest := out.listing.Lowest()
	if lowest == (envelope.KeyID{}) {
		return s, nil
	}
	return s, new(int32(lowest.Version)) //nolint:gosec // Key versions fit: package masterkey ensures it.
}

// merged returns the failures by name, one for each: the API accepts one entry
// a name, and a Secret may have the same name as a secret.
func merged(failures []v1alpha1.SecretFailure) []v1alpha1.SecretFailure {
	sorted := slices.Clone(failures)
	slices.SortStableFunc(sorted, func(a, b v1alpha1.SecretFailure) int { return cmp.Compare(a.Name, b.Name) })
	var out []v1alpha1.SecretFailure
	for _, f := range sorted {
		if last := len(out) - 1; last >= 0 && out[last].Name == f.Name {
			out[last].Message += "; " + f.Message
			continue
		}
		out = append(out, f)
	}
	return out
}

// same reports whether there is nothing to write. Lists are compared without
// their order, which the API server may change.
func same(before, after *v1alpha1.SecretsStatus) bool {
	if before == nil {
		return false
	}
	b := before.DeepCopy()
	slices.Sort(b.Missing)
	slices.SortFunc(b.Failures, func(x, y v1alpha1.SecretFailure) int { return cmp.Compare(x.Name, y.Name) })
	return equality.Semantic.DeepEqual(b, after)
}

// recordWrites emits the events of the write just made.
func (r *Reconciler) recordWrites(b *v1alpha1.HostedBridge, out outcome) {
	if out.sealed > 0 {
		r.Recorder.Eventf(b, nil, corev1.EventTypeNormal, eventSealed, "Seal", "%d secrets sealed from spec.secretRefs", out.sealed)
	}
	if current := r.Keys.Current(); out.rewrapped > 0 && len(old(out.listing, current)) == 0 {
		r.Recorder.Eventf(b, nil, corev1.EventTypeNormal, eventRotated, "Rewrap", "all %d secrets are under master key %s", len(out.listing.Entries), current)
	}
}

// recordFailures emits events for failures that are new or have changed. The
// status before is the cache's: if the cache is late, the event is emitted
// again, and the recorder counts it with the first.
func (r *Reconciler) recordFailures(b *v1alpha1.HostedBridge, after []v1alpha1.SecretFailure) {
	var before []v1alpha1.SecretFailure
	if b.Status.Secrets != nil {
		before = merged(b.Status.Secrets.Failures)
	}
	if len(after) == 0 || equality.Semantic.DeepEqual(before, after) {
		return
	}
	said := make([]string, 0, maxProblems+1)
	for i, f := range after {
		if i == maxProblems {
			said = append(said, fmt.Sprintf("and %d more", len(after)-i))
			break
		}
		said = append(said, f.Name+": "+f.Message)
	}
	r.Recorder.Eventf(b, nil, corev1.EventTypeWarning, eventFailed, "Seal", "%s", bridgestate.Note(strings.Join(said, "; ")))
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/desired"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/store"
)

// seal brings what is stored in line with the Secrets of the spec, in at most
// one write. The error is what to retry; what somebody has to do something
// about is among the outcome's failures.
func (r *Reconciler) seal(ctx context.Context, b *v1alpha1.HostedBridge, sources map[string]source) (outcome, error) {
	var d decision
	listing, err := r.update(ctx, b, func(ctx context.Context, current store.Listing, open func(string) ([]byte, error)) (_ []store.Change, err error) {
		d, err = r.decide(ctx, observed{Refs: b.Spec.SecretRefs, Sources: sources, Allowed: r.allowance(b), Listing: current}, open)
		return d.Changes, err
	})
	if err == nil {
		return outcome{listing: listing, failures: d.Failures, delete: d.Delete, sealed: values(d.Changes)}, nil
	}
	return r.unsealed(ctx, b, d, err)
}

// update is the store's, except that it does not begin one for a bridge whose
// secrets come from no Secret.
func (r *Reconciler) update(
	ctx context.Context, b *v1alpha1.HostedBridge,
	decide func(context.Context, store.Listing, func(string) ([]byte, error)) ([]store.Change, error),
) (store.Listing, error) {
	if len(b.Spec.SecretRefs) == 0 {
		listing, err := r.Store.List(ctx, reference(b))
		sourced := slices.ContainsFunc(listing.Entries, func(e store.Entry) bool { return e.Source != nil })
		if err != nil || !sourced {
			return listing, err
		}
	}
	return r.Store.Update(ctx, reference(b), decide)
}

// decide opens what has to be compared and decides.
func (r *Reconciler) decide(ctx context.Context, o observed, open func(string) ([]byte, error)) (decision, error) {
	o.Stored = map[string][]byte{}
	defer func() {
		for _, value := range o.Stored {
			clear(value)
		}
	}()
	for _, name := range outdated(o) {
		value, err := open(name)
		switch {
		case err == nil:
			o.Stored[name] = value
		case errors.Is(err, store.ErrUnreadable):
			// It is sealed anew, and so mended. Without its salt nothing opens:
			// then all is replaced at once, which alone makes another salt.
			o.Lost = o.Lost || errors.Is(err, store.ErrSaltMissing)
			log.FromContext(ctx).Info("a sealed secret does not open and is sealed anew from its source", "secret", name, "cause", err.Error())
		default:
			return decision{}, fmt.Errorf("open %q: %w", name, err)
		}
	}
	return decide(o), nil
}

func (r *Reconciler) allowance(b *v1alpha1.HostedBridge) allowance {
	tier, known := r.Settings.Tiers[b.Spec.Tier]
	return allowance{Tier: b.Spec.Tier, Unknown: !known, Secrets: tier.Secrets}
}

func values(changes []store.Change) int {
	n := 0
	for _, c := range changes {
		if c.Value != nil {
			n++
		}
	}
	return n
}

// unsealed returns the outcome of a decision that could not be stored, or the
// error if it may be in a moment.
func (r *Reconciler) unsealed(ctx context.Context, b *v1alpha1.HostedBridge, d decision, cause error) (outcome, error) {
	out := outcome{failures: d.Failures}
	var err error
	switch {
	case errors.Is(cause, store.ErrNotOwned):
		out.failures = []v1alpha1.SecretFailure{{
			Name: desired.Envelopes(b.Name), Reason: v1alpha1.ReasonNotOwned,
			Message: "a Secret with the name that this bridge needs belongs to something else: remove it; " + cause.Error(),
		}}
		return out, nil
	case errors.Is(cause, store.ErrTooLarge):
		out.failures = appendTooLarge(out.failures, d.Changes)
	case errors.Is(cause, store.ErrSaltMissing), errors.Is(cause, store.ErrSaltInvalid): // Nothing opens: try says so.
	default:
		return out, cause
	}
	if out.listing, err = r.Store.List(ctx, reference(b)); err != nil {
		return out, err
	}
	return out, nil
}

// appendTooLarge adds a failure for each Secret whose values did not fit.
func appendTooLarge(failures []v1alpha1.SecretFailure, changes []store.Change) []v1alpha1.SecretFailure {
	seen := map[string]bool{}
	for _, c := range changes {
		if c.Value == nil || c.Source == nil || seen[c.Source.Secret] {
			continue
		}
		seen[c.Source.Secret] = true
		failures = append(failures, v1alpha1.SecretFailure{
			Name: c.Source.Secret, Reason: v1alpha1.ReasonSourceInvalid,
			Message: fmt.Sprintf("with it all of the user's secrets together are more than the %d bytes that can be stored", corev1.MaxSecretSize),
		})
	}
	return failures
}

// rewrap wraps what is under another than the current key anew.
func (r *Reconciler) rewrap(ctx context.Context, b *v1alpha1.HostedBridge, out *outcome) error {
	if len(old(out.listing, r.Keys.Current())) > 0 {
		done, err := r.Store.Rewrap(ctx, reference(b))
		if err != nil {
			return fmt.Errorf("rewrap: %w", err)
		}
		out.rewrapped = done
		if out.listing, err = r.Store.List(ctx, reference(b)); err != nil {
			return fmt.Errorf("rewrap: %w", err)
		}
	}
	return nil
}

// try opens what is stored and reports what does not open: the bridge is not
// given it, and only its user can mend that. With a ring of our own that costs
// two reads of the API server. A transit engine is asked, for each secret, only
// about what is new since the last report, or was wrong in it: a new leader
// would otherwise ask for everybody's.
func (r *Reconciler) try(ctx context.Context, b *v1alpha1.HostedBridge, out *outcome) error {
	if len(out.listing.Entries) == 0 || r.Keys.Current().Algorithm != envelope.AlgorithmLocal && known(b, *out) {
		return nil
	}
	opened, err := r.Store.Open(ctx, reference(b))
	if err != nil {
		return fmt.Errorf("try what is sealed: %w", err)
	}
	opened.Wipe()
	out.failures = append(out.failures, unreadable(opened.Unreadable)...)
	return nil
}

// known reports whether the last report is about what is stored, and everything
// opened then.
func known(b *v1alpha1.HostedBridge, out outcome) bool {
	s := b.Status.Secrets
	return s != nil && s.Revision == out.listing.Revision && out.rewrapped == 0 &&
		!slices.ContainsFunc(s.Failures, func(f v1alpha1.SecretFailure) bool { return f.Reason == v1alpha1.ReasonSecretsUnreadable })
}

// old returns the entries that the current key should wrap. A later version is
// that of a replica which is ahead.
func old(l store.Listing, current envelope.KeyID) []store.Entry {
	var entries []store.Entry
	for _, e := range l.Entries {
		if e.Key.Algorithm != current.Algorithm || e.Key.Version < current.Version {
			entries = append(entries, e)
		}
	}
	return entries
}

// maxUnreadable is how many secrets that do not open are named in a status.
// Where it is more, they have one cause.
const maxUnreadable = 32

func unreadable(names []string) []v1alpha1.SecretFailure {
	var failures []v1alpha1.SecretFailure
	for i, name := range names {
		f := v1alpha1.SecretFailure{
			Name: name, Reason: v1alpha1.ReasonSecretsUnreadable,
			Message: "it does not open, and the keybroker's log says why: set it again",
		}
		if i == maxUnreadable-1 && len(names) > maxUnreadable {
			f.Message += fmt.Sprintf("; and %d more", len(names)-maxUnreadable)
			return append(failures, f)
		}
		failures = append(failures, f)
	}
	return failures
}

// deleteSources deletes the Secrets whose values are all sealed, in the very
// state in which they were read. One that has changed is a new source, of
// which the watch tells. An installation may withhold the right to delete.
func (r *Reconciler) deleteSources(ctx context.Context, b *v1alpha1.HostedBridge, sources map[string]source, out *outcome) error {
	var errs []error
	for _, name := range out.delete {
		src := sources[name]
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: name}}
		err := r.Client.Delete(ctx, secret, client.Preconditions{UID: &src.UID, ResourceVersion: &src.ResourceVersion})
		switch {
		case err == nil:
			log.FromContext(ctx).Info("source deleted after sealing, as spec.secretRefs says", "secret", name)
		case apierrors.IsForbidden(err):
			out.failures = append(out.failures, v1alpha1.SecretFailure{
				Name: name, Reason: v1alpha1.ReasonSourceInvalid,
				Message: fmt.Sprintf("Secret %s is sealed, but this installation does not let the keybroker delete it: delete it yourself", name),
			})
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			errs = append(errs, fmt.Errorf("delete Secret %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

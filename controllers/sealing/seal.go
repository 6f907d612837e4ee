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
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
)

// seal brings the stored secrets in line with the Secrets of the spec, in at
// most one write. The error is for a retry; a problem that a person has to
// solve is among the outcome's failures.
//
// The Secrets are read after the stored secrets, each time that the write is
// tried. If another process wrote from a later state of the Secrets, this write
// is a conflict.
func (r *Reconciler) seal(ctx context.Context, b *v1alpha1.HostedBridge, suspects []string) (outcome, error) {
	var d decision
	var sources map[string]source
	defer func() { wipe(sources) }()
	listing, err := r.update(ctx, b, func(ctx context.Context, current secretstore.Listing, open func(string) ([]byte, error)) ([]secretstore.Change, error) {
		wipe(sources)
		var err error
		if sources, err = r.observe(ctx, b); err != nil {
			return nil, fmt.Errorf("observe: %w", err)
		}
		o := observed{Refs: b.Spec.SecretRefs, Sources: sources, Allowed: r.Settings.allowance(b), Listing: current, Suspects: suspects}
		d, err = r.decide(ctx, o, open)
		return d.Changes, err
	})
	if err != nil {
		return r.unsealed(ctx, b, d, err)
	}
	out := outcome{listing: listing, failures: d.Failures, sealed: values(d.Changes)}
	for _, name := range d.Delete {
		out.delete = append(out.delete, deletion{name: name, uid: sources[name].UID, resourceVersion: sources[name].ResourceVersion})
	}
	return out, nil
}

// update is the store's update, except that it writes nothing for a bridge
// whose secrets come from no Secret.
func (r *Reconciler) update(
	ctx context.Context, b *v1alpha1.HostedBridge,
	decide func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error),
) (secretstore.Listing, error) {
	if len(b.Spec.SecretRefs) == 0 {
		listing, err := r.Store.List(ctx, reference(b))
		sourced := slices.ContainsFunc(listing.Entries, func(e secretstore.Entry) bool { return e.Source != nil })
		if err != nil || !sourced {
			return listing, err
		}
	}
	return r.Store.Update(ctx, reference(b), decide)
}

// decide opens the secrets that have to be compared, and decides.
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
		case errors.Is(err, secretstore.ErrUnreadable):
			// Sealing it again repairs it. Without the salt no secret opens:
			// then all are replaced at once, which is the only way to make
			// another salt.
			o.Broken = append(o.Broken, name)
			o.Lost = o.Lost || errors.Is(err, secretstore.ErrSaltMissing)
			log.FromContext(ctx).Info("a sealed secret does not open and is sealed again from its source", "secret", name, "cause", err.Error())
		default:
			return decision{}, fmt.Errorf("open %q: %w", name, err)
		}
	}
	return decide(o), nil
}

func (s Settings) allowance(b *v1alpha1.HostedBridge) allowance {
	name := effective.Of(b).Spec.Tier
	tier, known := s.Tiers[name]
	return allowance{Tier: name, Unknown: !known, Secrets: tier.Secrets}
}

func values(changes []secretstore.Change) int {
	n := 0
	for _, c := range changes {
		if c.Value != nil {
			n++
		}
	}
	return n
}

// unsealed returns the outcome of a decision that could not be stored, or the
// error if a retry may succeed soon.
func (r *Reconciler) unsealed(ctx context.Context, b *v1alpha1.HostedBridge, d decision, cause error) (outcome, error) {
	out := outcome{failures: d.Failures}
	var err error
	switch {
	case errors.Is(cause, secretstore.ErrNotOwned):
		out.failures = []v1alpha1.SecretFailure{{
			Name: v1alpha1.EnvelopesSecretName(b.Name), Reason: v1alpha1.ReasonNotOwned,
			Message: "a Secret with the name that this bridge needs belongs to something else: remove it; " + cause.Error(),
		}}
		return out, nil
	case errors.Is(cause, secretstore.ErrForbidden):
		out.blocked = true
		out.failures = append(out.failures, v1alpha1.SecretFailure{
			Name: v1alpha1.EnvelopesSecretName(b.Name), Reason: v1alpha1.ReasonApplyFailed, Message: cause.Error(),
		})
	case errors.Is(cause, secretstore.ErrTooLarge):
		out.failures = appendTooLarge(out.failures, d.Changes)
	case errors.Is(cause, secretstore.ErrSaltMissing), errors.Is(cause, secretstore.ErrSaltInvalid): // No secret opens: try reports it.
	default:
		return out, cause
	}
	if out.listing, err = r.Store.List(ctx, reference(b)); err != nil {
		return out, err
	}
	return out, nil
}

// appendTooLarge adds a failure for each Secret whose values did not fit.
func appendTooLarge(failures []v1alpha1.SecretFailure, changes []secretstore.Change) []v1alpha1.SecretFailure {
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

// rewrap wraps again what is wrapped under another than the current key.
func (r *Reconciler) rewrap(ctx context.Context, b *v1alpha1.HostedBridge, out *outcome) error {
	if len(old(out.listing, r.Keys.Current())) > 0 {
		listing, done, err := r.Store.Rewrap(ctx, reference(b))
		if err != nil {
			return fmt.Errorf("rewrap: %w", err)
		}
		out.listing, out.rewrapped = listing, done
	}
	return nil
}

// try opens the stored secrets and returns the names of those that do not open,
// which the bridge does not get. With a key ring of our own that costs two
// reads of the API server. A transit engine is asked, one request for each
// secret, only about those that are new since the last report, or failed in it:
// a new leader would otherwise ask for the secrets of all users.
func (r *Reconciler) try(ctx context.Context, b *v1alpha1.HostedBridge, out outcome) ([]string, error) {
	if len(out.listing.Entries) == 0 || known(b, out, r.Keys.Current()) && r.opens(ctx, b, out) {
		return nil, nil
	}
	opened, err := r.Store.Open(ctx, reference(b))
	if err != nil {
		return nil, fmt.Errorf("try what is sealed: %w", err)
	}
	opened.Wipe()
	return opened.Unreadable, nil
}

// known reports whether the last report is about the stored secrets, and all of
// them opened then.
func known(b *v1alpha1.HostedBridge, out outcome, current envelope.KeyID) bool {
	s := b.Status.Secrets
	return s != nil && sharing.Own(s.Revision) == out.listing.Revision && len(old(out.listing, current)) == 0 &&
		!slices.ContainsFunc(s.Failures, func(f v1alpha1.SecretFailure) bool { return f.Reason == v1alpha1.ReasonSecretsUnreadable })
}

// opens reports whether the known secrets still open, as far as that is known
// without opening them: either all of them were just wrapped again, which takes
// the salt and the key, or a transit engine wraps them and both are still
// there.
func (r *Reconciler) opens(ctx context.Context, b *v1alpha1.HostedBridge, out outcome) bool {
	if out.rewrapped == len(out.listing.Entries) {
		return true
	}
	return r.Keys.Current().Algorithm != envelope.AlgorithmLocal && r.Store.CheckSalt(ctx, reference(b)) == nil &&
		!slices.ContainsFunc(out.listing.Entries, func(e secretstore.Entry) bool { return e.Key.Version < r.Keys.Minimum() })
}

// managed returns those of the names whose secrets follow a source.
func managed(l secretstore.Listing, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		e, found := l.Find(name)
		return !found || !e.Managed()
	})
}

// old returns the entries that the current key should wrap. A replica that is
// ahead may have written a later version.
func old(l secretstore.Listing, current envelope.KeyID) []secretstore.Entry {
	var entries []secretstore.Entry
	for _, e := range l.Entries {
		if e.Key.Algorithm != current.Algorithm || e.Key.Version < current.Version {
			entries = append(entries, e)
		}
	}
	return entries
}

// maxUnreadable is how many secrets that do not open are named in a status. If
// there are more, they have one cause.
const maxUnreadable = 32

func unreadable(l secretstore.Listing, names []string) []v1alpha1.SecretFailure {
	var failures []v1alpha1.SecretFailure
	for i, name := range names {
		f := v1alpha1.SecretFailure{
			Name: name, Reason: v1alpha1.ReasonSecretsUnreadable,
			Message: "it does not open, and the keybroker's log says why: set it again",
		}
		if e, found := l.Find(name); found && e.Managed() {
			f.Message = fmt.Sprintf("it does not open; the keybroker's log says why. It is sealed again from Secret %s when possible", e.Source.Secret)
		}
		if i == maxUnreadable-1 && len(names) > maxUnreadable {
			f.Message += fmt.Sprintf("; and %d more", len(names)-maxUnreadable)
			return append(failures, f)
		}
		failures = append(failures, f)
	}
	return failures
}

// deleteSources deletes the Secrets whose values are all sealed, in exactly the
// state in which they were read. A Secret that has changed is a new source, and
// the watch reports it. An installation may withhold the right to delete.
func (r *Reconciler) deleteSources(ctx context.Context, b *v1alpha1.HostedBridge, out *outcome) error {
	if len(out.delete) == 0 {
		return nil
	}
	wanted, err := r.wanted(ctx, b)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range out.delete {
		if !wanted[d.name] {
			continue
		}
		others, err := r.others(ctx, b, d.name)
		if err == nil && len(others) > 0 {
			out.blocked = true
			out.fail(d.name, "Secret %s is sealed and not deleted, because HostedBridge %s names it too", d.name, others[0])
			continue
		}
		if err == nil {
			err = r.deleteSource(ctx, b, d)
		}
		if apierrors.IsForbidden(err) {
			out.fail(d.name, "Secret %s is sealed, but this installation does not let the keybroker delete it: delete it yourself", d.name)
			continue
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (o *outcome) fail(name, format string, args ...any) {
	o.failures = append(o.failures, v1alpha1.SecretFailure{
		Name: name, Reason: v1alpha1.ReasonSourceInvalid, Message: fmt.Sprintf(format, args...),
	})
}

// wanted returns the Secrets that the bridge's spec says to delete now. The
// cache may be late, and the sealed values of a deleted bridge are deleted with
// it: the Secret would then be the only copy.
func (r *Reconciler) wanted(ctx context.Context, b *v1alpha1.HostedBridge) (map[string]bool, error) {
	now := &v1alpha1.HostedBridge{}
	err := client.IgnoreNotFound(r.Live.Get(ctx, client.ObjectKeyFromObject(b), now))
	if err != nil {
		return nil, fmt.Errorf("look at the HostedBridge before its sources are deleted: %w", err)
	}
	wanted := map[string]bool{}
	if now.UID != b.UID || now.DeletionTimestamp != nil || now.Generation != b.Generation {
		return wanted, nil
	}
	for _, ref := range now.Spec.SecretRefs {
		wanted[ref.Name] = ref.DeleteSource
	}
	return wanted, nil
}

// others returns the names of the other HostedBridges whose specs name the
// Secret: it must stay until they have sealed it.
func (r *Reconciler) others(ctx context.Context, b *v1alpha1.HostedBridge, secret string) ([]string, error) {
	var list v1alpha1.HostedBridgeList
	if err := r.Client.List(ctx, &list, client.InNamespace(b.Namespace), client.MatchingFields{indexSecret: secret}); err != nil {
		return nil, fmt.Errorf("list HostedBridges that name Secret %s: %w", secret, err)
	}
	var names []string
	for i := range list.Items {
		named := slices.ContainsFunc(list.Items[i].Spec.SecretRefs, func(ref v1alpha1.SecretRef) bool { return ref.Name == secret })
		if list.Items[i].UID != b.UID && list.Items[i].DeletionTimestamp == nil && named {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, nil
}

func (r *Reconciler) deleteSource(ctx context.Context, b *v1alpha1.HostedBridge, d deletion) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: d.name}}
	err := r.Client.Delete(ctx, secret, client.Preconditions{UID: &d.uid, ResourceVersion: &d.resourceVersion})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete Secret %s: %w", d.name, err)
	}
	log.FromContext(ctx).Info("source deleted after sealing, as spec.secretRefs says", "secret", d.name)
	return nil
}

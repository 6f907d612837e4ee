// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// RestoreStore opens the secrets in a backup and seals them for another
// HostedBridge.
type RestoreStore interface {
	Open(ctx context.Context, b secretstore.Bridge) (secretstore.Opened, error)
	OpenBackup(ctx context.Context, b secretstore.Bridge, envelopes, salt *corev1.Secret) (secretstore.Opened, []secretstore.Entry, error)
	Replace(ctx context.Context, b secretstore.Bridge, values map[string][]byte, entries []secretstore.Entry) error
}

// Restoration puts back the secrets of a backup, all secrets of a HostedBridge
// at once or none.
type Restoration struct {
	// Bridge returns the HostedBridge of that name, nil if it does not exist.
	Bridge func(ctx context.Context, namespace, name string) (*Bridge, error)
	Store  RestoreStore
	// DryRun tries everything except the write.
	DryRun bool
}

// Outcome is the result for a HostedBridge's secrets.
type Outcome string

// The outcomes.
const (
	// Restored are secrets that the run wrote, or would write.
	Restored Outcome = "restored"
	// Unchanged are secrets that existed already.
	Unchanged Outcome = "unchanged"
	// Skipped are secrets for which the cluster or the backup lacks something.
	// Refused are secrets that must not be restored there.
	Skipped Outcome = "skipped"
	Refused Outcome = "refused"
)

// RestoredBridge is the result for one HostedBridge's secrets.
type RestoredBridge struct {
	Ref

	Outcome Outcome `json:"outcome"`
	Secrets int     `json:"secrets"`
	Reason  string  `json:"reason,omitempty"`
}

// RestorationReport is what a restoration did.
type RestorationReport struct {
	DryRun  bool             `json:"dryRun"`
	Bridges []RestoredBridge `json:"bridges"`
}

// OK reports whether everything in the backup is in the cluster.
func (r *RestorationReport) OK() bool { return r.Count(Skipped) == 0 && r.Count(Refused) == 0 }

// Count returns how many HostedBridges had this outcome.
func (r *RestorationReport) Count(o Outcome) int {
	n := 0
	for _, b := range r.Bridges {
		if b.Outcome == o {
			n++
		}
	}
	return n
}

// skipReason is why a HostedBridge's secrets are not restored.
type skipReason struct {
	outcome Outcome
	reason  string
}

// Error implements error.
func (b skipReason) Error() string { return b.reason }

func skip(format string, args ...any) error { return skipReason{Skipped, fmt.Sprintf(format, args...)} }
func deny(format string, args ...any) error { return skipReason{Refused, fmt.Sprintf(format, args...)} }

// Run restores what it can and reports it. It ends with an error if the API
// server or the provider of the master key is unavailable; the report then
// lists what was completed, and another run continues.
func (r *Restoration) Run(ctx context.Context, b *Backup) (*RestorationReport, error) {
	refs := b.refs()
	all := make([]RestoredBridge, len(refs))
	err := secretstore.ForEach(ctx, len(refs), func(ctx context.Context, i int) error {
		one := RestoredBridge{Ref: refs[i], Outcome: Restored}
		err := r.restore(ctx, b, &one)
		if why, ok := errors.AsType[skipReason](err); ok {
			one.Outcome, one.Reason = why.outcome, why.reason
		} else if err != nil {
			return fmt.Errorf("restore the secrets of HostedBridge %s: %w", refs[i], err)
		}
		all[i] = one
		return nil
	})
	all = slices.DeleteFunc(all, func(one RestoredBridge) bool { return one.Outcome == "" })
	return &RestorationReport{DryRun: r.DryRun, Bridges: all}, err
}

// restore puts back the secrets of one HostedBridge.
func (r *Restoration) restore(ctx context.Context, b *Backup, one *RestoredBridge) error {
	present, err := r.present(ctx, b, one.Ref)
	if err != nil {
		return err
	}
	opened, entries, err := r.open(ctx, b, one.Ref)
	defer opened.Wipe()
	if err != nil {
		return err
	}
	one.Secrets = len(opened.Values)
	missing, err := r.compare(ctx, present.Bridge, opened.Values)
	if err != nil {
		return err
	}
	if !missing {
		one.Outcome = Unchanged
		return nil
	}
	if r.DryRun {
		return nil
	}
	return refusedBy(r.Store.Replace(ctx, present.Bridge, opened.Values, entries))
}

// present returns the HostedBridge in the cluster that the secrets are for: the
// one of the same name if it belongs to the same user.
func (r *Restoration) present(ctx context.Context, b *Backup, at Ref) (*Bridge, error) {
	former, found := b.bridges[at]
	if !found {
		return nil, skip("the backup has its secrets but not the HostedBridge itself")
	}
	present, err := r.Bridge(ctx, at.Namespace, at.Name)
	switch {
	case apierrors.IsForbidden(err):
		return nil, skip("the keybroker may not read the HostedBridge in the cluster")
	case err != nil:
		return nil, err
	case present == nil:
		return nil, skip("there is no such HostedBridge in the cluster: apply it first")
	case present.Deleting:
		return nil, skip("the HostedBridge is being deleted")
	case present.UserID != string(former.user):
		return nil, deny("the HostedBridge in the cluster is another user's: %q, and was %q", present.UserID, former.user)
	}
	return present, nil
}

// open opens the secrets that the backup has for a HostedBridge: all or none.
func (r *Restoration) open(ctx context.Context, b *Backup, at Ref) (secretstore.Opened, []secretstore.Entry, error) {
	envelopes, salt, uid := b.envelopes[at], b.salts[at], b.bridges[at].uid
	if salt == nil {
		return secretstore.Opened{}, nil, skip("the backup has no salt for it, and without that nothing opens")
	}
	for _, secret := range []*corev1.Secret{envelopes, salt} {
		if metav1.GetControllerOfNoCopy(secret).UID != uid {
			return secretstore.Opened{}, nil, skip("Secret %s of the backup belongs to another HostedBridge of this name", secret.Name)
		}
	}
	opened, entries, err := r.Store.OpenBackup(ctx, secretstore.Bridge{Namespace: at.Namespace, Name: at.Name, UID: uid}, envelopes, salt)
	if errors.Is(err, secretstore.ErrSaltInvalid) || errors.Is(err, secretstore.ErrSaltMissing) {
		return opened, nil, skip("the salt in the backup is not one")
	}
	if err == nil && len(opened.Unreadable) > 0 {
		return opened, nil, skip("of the backup's secrets %s cannot be opened with this ring, cluster id and salt", strings.Join(opened.Unreadable, ", "))
	}
	return opened, entries, err
}

// compare reports whether secrets are missing in the cluster. A secret that
// exists with another value, or would be removed, is a refusal.
func (r *Restoration) compare(ctx context.Context, b secretstore.Bridge, values map[string][]byte) (missing bool, err error) {
	opened, err := r.Store.Open(ctx, b)
	defer opened.Wipe()
	if err != nil {
		return false, refusedBy(err)
	}
	if len(opened.Unreadable) > 0 {
		return false, deny("it has secrets in the cluster that cannot be opened: %s", strings.Join(opened.Unreadable, ", "))
	}
	for name, value := range opened.Values {
		if former, found := values[name]; !found || !bytes.Equal(former, value) {
			return false, deny("it has other secrets in the cluster, %s for example", name)
		}
	}
	return len(opened.Values) < len(values), nil
}

// refusals are the errors of the store that are final for a HostedBridge; the
// first match counts: general errors come after those that they may wrap.
var refusals = []struct {
	err    error
	reason string
}{
	{secretstore.ErrSaltMissing, "it has secrets in the cluster, and its salt is gone"},
	{secretstore.ErrSaltInvalid, "its salt in the cluster is not one"},
	{secretstore.ErrNotOwned, "a Secret of the name that it needs belongs to something else"},
	{secretstore.ErrNotReady, "a Secret of an earlier HostedBridge of this name is still there: try again when it is gone"},
	{secretstore.ErrUnreadable, "it has secrets in the cluster that cannot be opened"},
	{secretstore.ErrExists, "it has other secrets in the cluster"},
	{secretstore.ErrTooLarge, "the secrets together are larger than a Secret can be"},
	{secretstore.ErrConflict, "its secrets are being changed by others: try again"},
}

// refusedBy distinguishes what the store will not do for this HostedBridge from
// what it cannot do now for any.
func refusedBy(err error) error {
	if err == nil || errors.Is(err, secretstore.ErrUnavailable) {
		return err
	}
	for _, refusal := range refusals {
		if errors.Is(err, refusal.err) {
			return skipReason{Refused, refusal.reason}
		}
	}
	return skipReason{Refused, err.Error()} // That of a quota, for example.
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

// CopyableKeys returns the keys of b that another user gets by copying their
// hash: those whose hash is not bound to the user.
func CopyableKeys(b *v1alpha1.HostedBridge) []v1alpha1.APIKey {
	var keys []v1alpha1.APIKey
	for _, k := range b.Spec.APIKeys {
		if hash, err := apikey.ParseHash(k.Hash); err == nil && !hash.Bound {
			keys = append(keys, k)
		}
	}
	return keys
}

// sharedKey is a key that another user's bridge has too.
type sharedKey struct {
	id    string
	other *v1alpha1.HostedBridge
}

// shared returns which keys of the bridge another user's bridge has too, each
// with one of those bridges. One that is being deleted does not count.
func (o Observed) shared() []sharedKey {
	var found []sharedKey
	for _, k := range CopyableKeys(o.Bridge.HostedBridge) {
		var other *v1alpha1.HostedBridge
		for i := range o.Sharers {
			b := &o.Sharers[i]
			has := b.User() != o.Bridge.User() && b.DeletionTimestamp == nil &&
				slices.ContainsFunc(b.Spec.APIKeys, func(theirs v1alpha1.APIKey) bool { return theirs.ID == k.ID && theirs.Hash == k.Hash })
			if has && (other == nil || cmp.Or(cmp.Compare(b.Namespace, other.Namespace), cmp.Compare(b.Name, other.Name)) < 0) {
				other = b // The same one each time, or the status would change without a cause.
			}
		}
		if other != nil {
			found = append(found, sharedKey{k.ID, other})
		}
	}
	return found
}

// sharedKeys says which keys are refused at URLs that name no user. It begins
// with a semicolon, and is empty if there are none.
func sharedKeys(o Observed) string {
	found := o.shared()
	if len(found) == 0 {
		return ""
	}
	b := o.Bridge
	return "; keys that are refused where the URL names no user: " + enumerate(found, "; ", func(k sharedKey) string {
		return fmt.Sprintf("spec.apiKeys: the HostedBridge %s/%s has the hash of %s too", k.other.Namespace, k.other.Name, k.id)
	}) + fmt.Sprintf("; make a new key with `kubectl bridge key create %s --namespace=%s`, whose hash is bound to the user, "+
		"and remove these once no client uses them", b.Name, b.Namespace)
}

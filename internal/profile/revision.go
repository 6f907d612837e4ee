// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/json"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Accept returns the revisions of a profile whose spec was accepted: the spec, and the
// revision that bridges have until the change reaches them. During a rollout that is the
// revision before it, so that a change of the spec also takes bridges back that have the
// one between.
func Accept(p *v1alpha1.BridgeProfile) ([]v1alpha1.ProfileRevision, error) {
	held := p.Status.Revisions
	if len(held) > 0 && held[0].Generation == p.Generation {
		return held, nil
	}
	text, err := json.Marshal(p.Spec)
	if err != nil {
		return nil, err
	}
	newest := v1alpha1.ProfileRevision{Generation: p.Generation, Spec: string(text)}
	if len(held) == 0 {
		return []v1alpha1.ProfileRevision{newest, {}}, nil
	}
	return []v1alpha1.ProfileRevision{newest, held[len(held)-1]}, nil
}

// Use returns what a bridge's status says of a profile, and whether it says something.
func Use(b *v1alpha1.HostedBridge, p *v1alpha1.BridgeProfile) (v1alpha1.ProfileUse, bool) {
	at := slices.IndexFunc(b.Status.Profiles, func(u v1alpha1.ProfileUse) bool { return u.UID == string(p.UID) })
	if at < 0 {
		return v1alpha1.ProfileUse{}, false
	}
	return b.Status.Profiles[at], true
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// profilesApplied says which profiles decide, and what of them, or of the spec, has no
// effect. ok is false for a bridge that no profile selects and that has neither choices nor unknown groups.
func profilesApplied(o Observed) (c metav1.Condition, ok bool) {
	const kind = v1alpha1.ConditionProfilesApplied
	s := o.Bridge.Status
	without := ignored(o.Bridge)
	if len(o.PendingProfiles) > 0 {
		return isFalse(kind, Finding{v1alpha1.ReasonRolloutPending,
			"the bridge waits for the last revision of BridgeProfiles, whose status says how far their rollout is: " + names(o.PendingProfiles)}), true
	}
	if o.UnknownGroups != "" {
		message := "spec.groups: nothing else has these groups, so they give the bridge nothing: " + o.UnknownGroups +
			"; a group must be one that a BridgeProfile, a SharedServer or a directory names"
		if len(s.Profiles) > 0 {
			message += "; decided by BridgeProfiles, the first of them first: " + enumerate(s.Profiles, ", ", func(u v1alpha1.ProfileUse) string { return u.Name })
		}
		return isFalse(kind, Finding{v1alpha1.ReasonUnknownGroup, message}), true
	}
	if len(s.Profiles) == 0 {
		return isTrue(kind, without.Reason, "no BridgeProfile selects the bridge; "+without.Message), without != (Finding{})
	}
	reason, message := v1alpha1.ReasonProfilesApplied, "decided by BridgeProfiles, the first of them first: "+enumerate(s.Profiles, ", ", func(u v1alpha1.ProfileUse) string { return u.Name })
	for _, found := range []Finding{conflicting(s.Effective), withoutRoom(s.Effective), without, unknownShared(s.Effective)} {
		if found == (Finding{}) {
			continue
		}
		if reason == v1alpha1.ReasonProfilesApplied {
			reason = found.Reason
		}
		message += "; " + found.Message
	}
	return isTrue(kind, reason, message), true
}

func conflicting(e *v1alpha1.EffectiveSettings) Finding {
	if e == nil || len(e.Conflicts) == 0 {
		return Finding{}
	}
	return Finding{v1alpha1.ReasonProfilesConflict, enumerate(e.Conflicts, "; ", func(c v1alpha1.ProfileConflict) string {
		return fmt.Sprintf("%s is decided by %s, the first by name of profiles with the same priority that disagree: %s",
			c.Field, c.Profiles[0], strings.Join(c.Profiles, ", "))
	})}
}

// withoutRoom names the servers that the tier leaves no room for.
func withoutRoom(e *v1alpha1.EffectiveSettings) Finding {
	if e == nil {
		return Finding{}
	}
	out := serversWith(e, v1alpha1.ReasonServerNoRoom)
	out = append(out, e.LeftOut...)
	if len(out) == 0 {
		return Finding{}
	}
	return Finding{v1alpha1.ReasonServerNoRoom, "the tier has no room for the servers " + names(out)}
}

// ignored names the choices that have no effect.
func ignored(b *effective.Bridge) Finding {
	list := IgnoredChoices(b)
	if len(list) == 0 {
		return Finding{}
	}
	return Finding{v1alpha1.ReasonChoiceIgnored, "choices without effect: " +
		enumerate(list, "; ", func(i Ignored) string { return i.Field + ", because " + i.Why })}
}

func unknownShared(e *v1alpha1.EffectiveSettings) Finding {
	if e == nil {
		return Finding{}
	}
	if unknown := serversWith(e, v1alpha1.ReasonUnknownShared); len(unknown) > 0 {
		return Finding{v1alpha1.ReasonUnknownShared, "these servers name a SharedServer that does not exist or is not accepted: " + names(unknown)}
	}
	return Finding{}
}

func serversWith(e *v1alpha1.EffectiveSettings, reason string) []string {
	var found []string
	for _, s := range e.Servers {
		if s.Reason == reason {
			found = append(found, s.Name)
		}
	}
	return found
}

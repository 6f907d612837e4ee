// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprofile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// counted is what the bridges say of a profile.
type counted struct {
	// matched are selected by the last accepted revision, and updated of these have it.
	// waiting do not have it yet, or still have the one before although the last does not
	// select them.
	matched, updated, waiting int
	// failed names the bridges that stopped working after they got the last revision, and
	// most is how many may.
	failed []string
	most   int
	// conflicts are what bridges say of this profile and others.
	conflicts []v1alpha1.ProfileConflict
}

// count counts the bridges that a profile with these revisions selects.
func count(p *v1alpha1.BridgeProfile, revisions []v1alpha1.ProfileRevision, bridges []v1alpha1.HostedBridge, people *access.People, now time.Time) (counted, error) {
	var c counted
	if len(revisions) == 0 {
		return c, nil
	}
	newest, err := profile.Of(p, revisions[0])
	if err != nil {
		return c, err
	}
	c.most = int(newest.Spec.Rollout.MaxFailures)
	began := began(p, now)
	for i := range bridges {
		b := &bridges[i]
		if b.DeletionTimestamp != nil {
			continue
		}
		use, has := profile.Use(b, p)
		groups, _ := profile.Groups(b, people, now)
		if !newest.Selects(b, groups) {
			if has && len(revisions) == 2 {
				c.waiting++
			}
			continue
		}
		c.matched++
		if use.Generation != newest.Generation {
			c.outdated(b, began)
			continue
		}
		c.updated++
		if failed(b, p.Name, use.Since.Time, now) {
			c.failed = append(c.failed, b.Namespace+"/"+b.Name)
		}
		c.note(b, p.Name)
	}
	return c, nil
}

// outdated counts a bridge that does not have the last revision. If it is refused, what it
// runs stays until a person changes something.
func (c *counted) outdated(b *v1alpha1.HostedBridge, began time.Time) {
	switch refused := refusedSince(b); {
	case refused.IsZero():
		c.waiting++
	case !refused.Before(began):
		c.failed = append(c.failed, b.Namespace+"/"+b.Name)
	}
}

// refusedSince returns since when the bridge's spec, with its profiles, is not accepted;
// zero if it is.
func refusedSince(b *v1alpha1.HostedBridge) time.Time {
	accepted := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionAccepted)
	if accepted == nil || accepted.Status != metav1.ConditionFalse {
		return time.Time{}
	}
	return accepted.LastTransitionTime.Time
}

// starts reports whether a pod may only take its time, which is no failure until the minute is over.
func starts(reason string) bool {
	return reason == v1alpha1.ReasonProgressing || v1alpha1.PodBlocked(reason)
}

// failed reports whether the bridge, or a server of the profile, stopped working within a
// minute after the bridge got a revision.
func failed(b *v1alpha1.HostedBridge, name string, since, now time.Time) bool {
	within := func(t metav1.Time) bool { return !t.Time.Before(since) && t.Sub(since) <= watched }
	for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionReady} {
		condition := meta.FindStatusCondition(b.Status.Conditions, kind)
		if condition == nil || condition.Status != metav1.ConditionFalse || !within(condition.LastTransitionTime) {
			continue
		}
		if !starts(condition.Reason) || now.Sub(since) > watched {
			return true
		}
	}
	return slices.ContainsFunc(b.Status.ServerStates, func(s v1alpha1.ServerState) bool {
		return s.Profile == name && s.State == v1alpha1.ServerUnhealthy && s.Since != nil && within(*s.Since)
	})
}

func (c *counted) tooManyFailed() bool { return c.most > 0 && len(c.failed) >= c.most && c.waiting > 0 }

// note collects the conflicts of a bridge that concern the profile.
func (c *counted) note(b *v1alpha1.HostedBridge, name string) {
	if b.Status.Effective == nil {
		return
	}
	for _, conflict := range b.Status.Effective.Conflicts {
		known := slices.ContainsFunc(c.conflicts, func(k v1alpha1.ProfileConflict) bool {
			return k.Field == conflict.Field && slices.Equal(k.Profiles, conflict.Profiles)
		})
		if !known && slices.Contains(conflict.Profiles, name) {
			c.conflicts = append(c.conflicts, conflict)
		}
	}
}

// conflict says about what profiles of equal priority disagree, and who decides.
func (c *counted) conflict() (message string, found bool) {
	if len(c.conflicts) == 0 {
		return "", false
	}
	var said []string
	for _, conflict := range c.conflicts {
		said = append(said, fmt.Sprintf("%s (%s decides, of %s)", conflict.Field, conflict.Profiles[0], strings.Join(conflict.Profiles, ", ")))
	}
	slices.Sort(said)
	return "profiles of the same priority disagree, and the first by name decides: " + enumerated(said, failedShown), true
}

// enumerated joins the first names, and says how many more there are.
func enumerated(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

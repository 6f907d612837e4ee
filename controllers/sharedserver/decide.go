// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sharedserver

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// observed is all that a status depends on.
type observed struct {
	// refused says why the installation refuses the spec.
	refused bridgestate.Finding
	// members is the number of members. lapse is the time after which a member who does not
	// log in again stops being one.
	members int32
	lapse   time.Duration
	listing secretstore.Listing
	// unreadable are secrets that do not open.
	unreadable []string
	// notOwned means that a Secret of the name that is needed belongs to something else.
	notOwned bool
}

// decide returns the status.
func decide(s *v1alpha1.SharedServer, o observed, now time.Time) v1alpha1.SharedServerStatus {
	after := *s.Status.DeepCopy()
	after.ObservedGeneration, after.Revision, after.Members = s.Generation, o.listing.Revision, o.members
	after.Set, after.Missing, after.KeyVersion = nil, nil, nil
	if lowest := o.listing.Lowest(); lowest != (envelope.KeyID{}) {
		after.KeyVersion = new(int32(lowest.Version)) //nolint:gosec // Key versions fit: package masterkey ensures it.
	}
	g := sharing.Of(s)
	var elsewhere, unreadable []string
	for _, name := range g.Secrets {
		e, found := o.listing.Find(name)
		switch {
		case found && g.Has(e) && slices.Contains(o.unreadable, name):
			unreadable = append(unreadable, name)
			after.Missing = append(after.Missing, name)
		case found && g.Has(e):
			after.Set = append(after.Set, name)
		case found:
			elsewhere = append(elsewhere, fmt.Sprintf("%s, for %s", name, e.Origin))
			after.Missing = append(after.Missing, name)
		default:
			after.Missing = append(after.Missing, name)
		}
	}
	slices.Sort(after.Set)
	slices.Sort(after.Missing)
	set := func(kind string, f bridgestate.Finding, good, message string) {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: good, Message: message, ObservedGeneration: s.Generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second))}
		if f.Reason != "" {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, f.Reason, bridgestate.Note(f.Message)
		}
		meta.SetStatusCondition(&after.Conditions, c)
	}
	sealed := o.sealed(after.Missing, elsewhere, unreadable, g)
	set(v1alpha1.ConditionAccepted, o.refused, v1alpha1.ReasonAccepted, "profiles can give the server to members")
	set(v1alpha1.ConditionSecretsSealed, sealed, v1alpha1.ReasonSealed, "all secrets are set for "+g.Origin)
	ready := o.refused
	if ready.Reason == "" {
		ready = sealed
	}
	set(v1alpha1.ConditionReady, ready, v1alpha1.ReasonSharedReady, "bridges of members can use the server")
	v1alpha1.NoteKstatus(&after.Conditions, stalled(ready), meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady))
	return after
}

// stalled returns the condition of a server that is not ready, empty for one that is. Each reason needs
// a person.
func stalled(ready bridgestate.Finding) string {
	if ready.Reason == "" {
		return ""
	}
	return v1alpha1.ConditionStalled
}

// sealed says why not all secrets can be used.
func (o observed) sealed(missing, elsewhere, unreadable []string, g sharing.Grant) bridgestate.Finding {
	how := "; an owner sets a secret by PUT /shared/" + g.Name + "/secrets/<NAME>"
	switch {
	case o.notOwned:
		return bridgestate.Finding{Reason: v1alpha1.ReasonNotOwned, Message: "the Secret " + g.Owner.EnvelopesName() +
			" or " + g.Owner.SaltName() + " belongs to something else, or is about to be removed: remove it"}
	case len(unreadable) > 0:
		return bridgestate.Finding{Reason: v1alpha1.ReasonSecretsUnreadable, Message: "these secrets do not open, " +
			"and the keybroker's log says why: " + strings.Join(unreadable, ", ") + how}
	case len(elsewhere) > 0:
		return bridgestate.Finding{Reason: v1alpha1.ReasonOriginChanged, Message: "these secrets were set for another origin than " + g.Origin +
			" and are not sent there: " + strings.Join(elsewhere, "; ") + how}
	case len(missing) > 0:
		return bridgestate.Finding{Reason: v1alpha1.ReasonSecretsMissing,
			Message: "these secrets are not set: " + strings.Join(missing, ", ") + how}
	}
	return bridgestate.Finding{}
}

// members counts the people in a group of the members, and returns after which time one of
// them ends to be without a further login, zero for never.
func members(s *v1alpha1.SharedServer, persons []v1alpha1.BridgePerson, now time.Time) (n int32, lapse time.Duration) {
	people, seen := access.NewPeople(persons), map[oauth.SubjectKey]bool{}
	for i := range persons {
		p := &persons[i]
		key := access.KeyOf(p)
		if p.Spec.User != "" || seen[key] || people.Person(key).Access() != v1alpha1.AccessAllowed {
			continue
		}
		seen[key] = true
		alone := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{OAuth: &v1alpha1.OAuthAccess{
			Subjects: []v1alpha1.OAuthSubject{{Issuer: p.Spec.Issuer, Subject: p.Spec.Subject}},
		}}}
		groups, until := profile.Groups(alone, people, now)
		if !profile.InAny(s.Spec.Members, groups) {
			continue
		}
		n++
		if left := until.Sub(now); !until.IsZero() && (lapse == 0 || left < lapse) {
			lapse = left
		}
	}
	return n, lapse
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// ErrNoUser says that a user has neither a bridge nor a BridgePerson.
var ErrNoUser = errors.New("there is no such user")

// Report is what an administrator is told of the access of a user. Times are in UTC. It has
// no secret.
type Report struct {
	User v1alpha1.UserID `json:"user"`
	// Access is what administrators said last. Effective is what counts: a provider or a
	// directory may have taken the access away too.
	Access    v1alpha1.Access `json:"access"`
	Effective v1alpha1.Access `json:"effective"`
	// LoginsEndedTime is when keys and logins ended for good, if they did.
	LoginsEndedTime *time.Time `json:"loginsEndedTime,omitempty"`
	// Bridge is the bridge of the user, nil once it is deleted.
	Bridge *ReportedBridge `json:"bridge,omitempty"`
	// Conditions say how far the user has left.
	Conditions []ReportedCondition `json:"conditions,omitempty"`
	// Steps are what would follow from a change, in order. They are there for a dry run.
	Steps []string `json:"steps,omitempty"`
}

// ReportedBridge is what is left of a bridge.
type ReportedBridge struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Phase     v1alpha1.Phase `json:"phase,omitempty"`
	// Keys is the number of API keys in the spec.
	Keys int `json:"keys"`
	// Secrets is the number of sealed secrets. They are destroyed at SecretsRetainedUntil,
	// and were at SecretsDestroyedTime.
	Secrets              int32      `json:"secrets"`
	SecretsRetainedUntil *time.Time `json:"secretsRetainedUntil,omitempty"`
	SecretsDestroyedTime *time.Time `json:"secretsDestroyedTime,omitempty"`
	// Onboarded says that a first login made the bridge, so that it is deleted at the end.
	Onboarded bool `json:"onboarded"`
	// SecretRefs are the Secrets that the spec names. The installation does not delete them.
	SecretRefs []string `json:"secretRefs,omitempty"`
}

// ReportedCondition is a condition of the user's BridgePerson.
type ReportedCondition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message,omitempty"`
	Since   time.Time              `json:"since"`
}

// ReportOf returns the report on a user: of the BridgePerson by which administrators take
// access away, and of the bridge, nil if the user has no bridge.
func ReportOf(user v1alpha1.UserID, record *v1alpha1.BridgePerson, b *v1alpha1.HostedBridge, people *People) Report {
	r := Report{User: user, Access: record.Spec.Access, Effective: least([]*v1alpha1.BridgePerson{record}), LoginsEndedTime: utc(record.Status.LoginsEndedTime)}
	for _, c := range record.Status.Conditions {
		if c.Type == v1alpha1.ConditionReconciling {
			continue // It repeats what a step says.
		}
		r.Conditions = append(r.Conditions, ReportedCondition{c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime.UTC()})
	}
	if b == nil {
		return r
	}
	r.Effective = people.Bridge(b)
	r.Bridge = &ReportedBridge{
		Namespace: b.Namespace, Name: b.Name, Phase: b.Status.Phase, Keys: len(b.Spec.APIKeys),
		Onboarded: b.Labels[v1alpha1.LabelOnboarded] == "true",
	}
	for _, ref := range b.Spec.SecretRefs {
		r.Bridge.SecretRefs = append(r.Bridge.SecretRefs, ref.Name)
	}
	if s := b.Status.Secrets; s != nil {
		r.Bridge.Secrets, r.Bridge.SecretsRetainedUntil, r.Bridge.SecretsDestroyedTime = s.Count, utc(s.RetainedUntil), utc(s.DestroyedTime)
	}
	return r
}

func utc(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

// Steps returns what follows, in order, when access changes to another one.
func Steps(to v1alpha1.Access) []string {
	switch to {
	case v1alpha1.AccessAllowed:
		return []string{"keys and logins are accepted again, but for those that ended for good", "the pod may run again"}
	case v1alpha1.AccessSuspended:
		return []string{"keys and logins are refused and open streams end, within a second", "the pod ends", "keys, logins and secrets are kept"}
	default:
		return []string{
			"keys and logins are refused and open streams end, within a second",
			"keys that no manifest holds are deleted, and logins end for good", "the pod ends",
			"the salt and the secrets are destroyed after the keybroker's --offboarding-retention",
			"the HostedBridge is deleted if a first login made it",
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// maxBridges is how many bridges a status lists, and maxNamed how many of them a message
// names.
const (
	maxBridges = 256
	maxNamed   = 5
)

// Owns reports whether a bridge is one of those that a person may use. A rule may have made
// its user of another record of the same person.
func (p *People) Owns(person *v1alpha1.BridgePerson, b *v1alpha1.HostedBridge) bool {
	if person.Spec.User != "" {
		return person.Spec.User == b.User()
	}
	key := KeyOf(person)
	if RuledUser(person) == b.User() || slices.Contains(p.Person(key).RuledUsers(), b.User()) {
		return true
	}
	return b.Spec.OAuth != nil && slices.ContainsFunc(b.Spec.OAuth.Subjects, func(s v1alpha1.OAuthSubject) bool {
		return oauth.KeyOf(s.Issuer, s.Subject) == key
	})
}

// DueForDeletion reports whether the operator deletes a bridge: a first login made it, its
// people are offboarded, and its secrets are destroyed.
func DueForDeletion(b *v1alpha1.HostedBridge) bool {
	return b.Labels[v1alpha1.LabelOnboarded] == "true" && b.DeletionTimestamp == nil &&
		b.Status.Access != nil && b.Status.Access.State == v1alpha1.AccessOffboarded &&
		b.Status.Secrets != nil && b.Status.Secrets.DestroyedTime != nil
}

// Leaving sets what the operator says in the status of a person: how far the person has left
// whose access is taken away, and nothing of anybody else. own are the bridges that the
// person may use now, and exists tells whether there is a bridge of a UID.
func Leaving(p *v1alpha1.BridgePerson, own []*v1alpha1.HostedBridge, people *People, exists func(uid string) bool, now time.Time) v1alpha1.BridgePersonStatus {
	s := *p.Status.DeepCopy()
	s.ObservedGeneration = p.Generation
	if least([]*v1alpha1.BridgePerson{p}) == v1alpha1.AccessAllowed {
		s.Bridges, s.Conditions = nil, nil
		return s
	}
	s.Bridges = bridgesOf(p.Status.Bridges, own, people, exists, now)
	l := leaving{status: &s, generation: p.Generation, now: now}
	stopped := l.set(v1alpha1.ConditionStopped, v1alpha1.ReasonLeavingPods, "no pod runs for the person alone", "waiting for the pods of %s",
		func(b v1alpha1.PersonBridge) bool { return b.Stopped })
	if p.Spec.Access != v1alpha1.AccessOffboarded {
		for _, kind := range []string{v1alpha1.ConditionSecretsDestroyed, v1alpha1.ConditionDeleted, v1alpha1.ConditionLeft} {
			meta.RemoveStatusCondition(&s.Conditions, kind)
		}
		l.noteProgress(v1alpha1.ConditionStopped)
		return s
	}
	destroyed := l.set(v1alpha1.ConditionSecretsDestroyed, v1alpha1.ReasonLeavingRetained, "no secret of the person is stored", "the retention time runs for the secrets of %s",
		func(b v1alpha1.PersonBridge) bool { return b.SecretsDestroyedTime != nil })
	onboarded := map[string]bool{}
	for _, b := range own {
		onboarded[string(b.UID)] = b.Labels[v1alpha1.LabelOnboarded] == "true"
	}
	deleted := l.set(v1alpha1.ConditionDeleted, v1alpha1.ReasonLeavingBridges, "no bridge is left that a login made"+kept(s.Bridges, onboarded), "to be deleted, as a login made them: %s",
		func(b v1alpha1.PersonBridge) bool { return !onboarded[b.UID] })
	l.setLeft(stopped && destroyed && deleted && p.Status.LoginsEndedTime != nil)
	l.noteProgress(v1alpha1.ConditionLeft)
	return s
}

// bridgesOf returns what a status says of the bridges of a person. before is what the status
// says now.
func bridgesOf(before []v1alpha1.PersonBridge, own []*v1alpha1.HostedBridge, people *People, exists func(string) bool, now time.Time) []v1alpha1.PersonBridge {
	var bridges []v1alpha1.PersonBridge
	for _, b := range own {
		one := v1alpha1.PersonBridge{
			UID: string(b.UID), Namespace: b.Namespace, Name: b.Name,
			Shared:  people.Bridge(b) == v1alpha1.AccessAllowed,
			Stopped: isStopped(&b.Status),
		}
		if secrets := b.Status.Secrets; secrets != nil {
			one.SecretsRetainedUntil, one.SecretsDestroyedTime = secrets.RetainedUntil, secrets.DestroyedTime
		}
		bridges = append(bridges, one)
	}
	for _, b := range before {
		if exists(b.UID) {
			continue
		}
		if b.DeletedTime == nil {
			b.DeletedTime = new(metav1.NewTime(now.Truncate(time.Second)))
		}
		bridges = append(bridges, b)
	}
	slices.SortFunc(bridges, func(a, b v1alpha1.PersonBridge) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return bridges[:min(len(bridges), maxBridges)]
}

// isStopped reports whether no pod of a bridge runs, since its people have no access. A
// bridge whose spec is not accepted has no phase that says so.
func isStopped(s *v1alpha1.HostedBridgeStatus) bool {
	stopped := s.Phase == v1alpha1.PhaseSuspended || s.Phase == v1alpha1.PhaseOffboarded
	return s.Access != nil && (stopped || s.Phase == v1alpha1.PhaseFailed && s.PodName == "")
}

// leaving sets the conditions of a status.
type leaving struct {
	status     *v1alpha1.BridgePersonStatus
	generation int64
	now        time.Time
}

// set sets a condition, which is true if each bridge that is the person's alone is done or
// deleted. waiting has a place for the names of the others.
func (l leaving) set(kind, reason, done, waiting string, isDone func(v1alpha1.PersonBridge) bool) bool {
	var left []string
	for _, b := range l.status.Bridges {
		if !b.Shared && b.DeletedTime == nil && !isDone(b) {
			left = append(left, b.Namespace+"/"+b.Name)
		}
	}
	if len(left) > 0 {
		l.put(kind, metav1.ConditionFalse, reason, fmt.Sprintf(waiting, named(left)))
		return false
	}
	l.put(kind, metav1.ConditionTrue, v1alpha1.ReasonLeavingDone, done)
	return true
}

// setLeft sets the condition that sums up the others.
func (l leaving) setLeft(left bool) {
	if !left {
		l.put(v1alpha1.ConditionLeft, metav1.ConditionFalse, l.firstUndone(), "the other conditions say what is left to do")
		return
	}
	message := "nothing is left to do"
	var shared []string
	for _, b := range l.status.Bridges {
		if b.Shared && b.DeletedTime == nil {
			shared = append(shared, b.Namespace+"/"+b.Name)
		}
	}
	if len(shared) > 0 {
		message += "; others still use " + named(shared) + ": replace the keys and secrets there that the person may know"
	}
	l.put(v1alpha1.ConditionLeft, metav1.ConditionTrue, v1alpha1.ReasonLeavingDone, message)
}

// noteProgress sets Reconciling unless the condition of a kind is True. It does not set it while
// only the retention time of secrets runs: that may take a month, and a tool that waits for the
// person would fail.
func (l leaving) noteProgress(kind string) {
	c := meta.FindStatusCondition(l.status.Conditions, kind)
	unready := v1alpha1.ConditionReconciling
	if c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonLeavingRetained && l.status.LoginsEndedTime != nil {
		unready = ""
	}
	v1alpha1.NoteKstatus(&l.status.Conditions, unready, c)
}

func (l leaving) firstUndone() string {
	for _, kind := range []string{v1alpha1.ConditionStopped, v1alpha1.ConditionSecretsDestroyed, v1alpha1.ConditionDeleted} {
		if c := meta.FindStatusCondition(l.status.Conditions, kind); c.Status != metav1.ConditionTrue {
			return c.Reason
		}
	}
	return v1alpha1.ReasonLeavingLogins
}

func (l leaving) put(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&l.status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: l.generation,
		LastTransitionTime: metav1.NewTime(l.now.Truncate(time.Second)),
	})
}

// kept names the bridges that no login made: they stay, without secrets and without a pod.
func kept(bridges []v1alpha1.PersonBridge, onboarded map[string]bool) string {
	var names []string
	for _, b := range bridges {
		if !b.Shared && b.DeletedTime == nil && !onboarded[b.UID] {
			names = append(names, b.Namespace+"/"+b.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; " + named(names) + " stays, since a manifest or a person made it: delete it where it comes from"
}

func named(names []string) string {
	if len(names) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	}
	return strings.Join(names, ", ")
}

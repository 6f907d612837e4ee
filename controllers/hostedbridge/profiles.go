// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// profiled is a bridge with the profiles that select it.
type profiled struct {
	// bridge has the spec in effect, and the new status.profiles and status.effective.
	bridge *effective.Bridge
	// pending are profiles of which the bridge does not have the last revision yet.
	pending []string
	// unknownGroups says which groups of the spec nothing else names, empty for none.
	unknownGroups string
	// wait is when the next of these may reach the bridge; zero means that none may.
	wait time.Duration
}

// profiler merges profiles into bridges.
type profiler struct {
	client client.Reader
	// namespace is the installation's, where profiles have an effect.
	namespace string
	tiers     quota.Tiers
	pacer     *profile.Pacer
}

// apply returns the bridge with the profiles that select it.
func (r *profiler) apply(ctx context.Context, b *v1alpha1.HostedBridge, people *access.People, now time.Time) (profiled, error) {
	var list v1alpha1.BridgeProfileList
	if err := r.client.List(ctx, &list, client.InNamespace(r.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return profiled{}, fmt.Errorf("list BridgeProfiles: %w", err)
	}
	var shared v1alpha1.SharedServerList
	if err := r.client.List(ctx, &shared, client.InNamespace(r.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return profiled{}, fmt.Errorf("list SharedServers: %w", err)
	}
	var out profiled
	var err error
	if out.unknownGroups, err = r.unknownGroups(ctx, b, list.Items, shared.Items); err != nil {
		return profiled{}, err
	}
	groups, until := profile.Groups(b, people, now)
	if !until.IsZero() {
		out.wait = until.Sub(now)
	}
	selected, err := r.selected(b, groups, list.Items, now, &out)
	if err != nil {
		return profiled{}, err
	}
	if len(selected) == 0 && b.Status.Effective == nil && b.Status.Profiles == nil {
		out.bridge = effective.Of(b)
		return out, nil
	}
	profile.Sort(selected)
	changed := *b
	changed.Status.Profiles = uses(b, selected, now)
	approved, err := r.approved(ctx, b, selected)
	if err != nil {
		return profiled{}, err
	}
	changed.Status.Effective = profile.Effective(b, selected, r.tiers, profile.SharingOf(b, shared.Items, people, now), approved)
	out.bridge = effective.Of(&changed)
	return out, nil
}

// unknownGroups says which groups of a spec no profile, SharedServer or directory names.
func (r *profiler) unknownGroups(ctx context.Context, b *v1alpha1.HostedBridge, profiles []v1alpha1.BridgeProfile, shared []v1alpha1.SharedServer) (string, error) {
	if len(b.Spec.Groups) == 0 {
		return "", nil
	}
	if said := profile.UnknownGroups(b.Spec.Groups, profile.KnownGroups(profiles, shared, nil)); said == "" {
		return "", nil
	}
	var directories v1alpha1.BridgeGroupList
	if err := r.client.List(ctx, &directories, client.InNamespace(r.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list BridgeGroups: %w", err)
	}
	return profile.UnknownGroups(b.Spec.Groups, profile.KnownGroups(profiles, shared, directories.Items)), nil
}

// bridgesOfUnknownGroups maps an object that names groups to the HostedBridges with a group that
// nothing named so far, and to those that name the group of a directory.
func (m eventMapper) bridgesOfUnknownGroups(ctx context.Context, o client.Object) []reconcile.Request {
	requests := m.requests(ctx, client.MatchingFields{indexGroup: ofUnknownGroups})
	if g, ok := o.(*v1alpha1.BridgeGroup); ok {
		requests = append(requests, m.requests(ctx, client.MatchingFields{indexGroup: ofGroup + g.Spec.Value})...)
	}
	return requests
}

// The values of indexGroup: ofGroup with a group of the spec, and ofUnknownGroups.
const ofGroup, ofUnknownGroups = "of/", "unknown"

// groupKeys returns the values of indexGroup.
func groupKeys(b *v1alpha1.HostedBridge) []string {
	var keys []string
	for _, g := range b.Spec.Groups {
		keys = append(keys, ofGroup+g)
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionProfilesApplied); c != nil && c.Reason == v1alpha1.ReasonUnknownGroup {
		keys = append(keys, ofUnknownGroups)
	}
	return keys
}

// groupsNamed passes an object whose change may have it name another group. The members of a
// BridgeGroup are none.
func groupsNamed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.BridgeGroup)
		after, ok2 := e.ObjectNew.(*v1alpha1.BridgeGroup)
		return ok && ok2 && before.Spec.Value != after.Spec.Value || !ok && e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
	}}
}

// selected returns the revisions of profiles that select a bridge, and adds to out those
// that may not reach it yet.
func (r *profiler) selected(b *v1alpha1.HostedBridge, groups []profile.Group, all []v1alpha1.BridgeProfile, now time.Time, out *profiled) ([]profile.Profile, error) {
	var selected []profile.Profile
	for i := range all {
		p := &all[i]
		revision, wait, err := r.revisionFor(b, groups, p, now)
		if err != nil {
			return nil, err
		}
		if wait != 0 {
			out.pending = append(out.pending, p.Name)
			out.wait = earlier(out.wait, max(wait, 0))
		}
		if revision.Selects(b, groups) {
			selected = append(selected, revision)
		}
	}
	return selected, nil
}

// revisionFor returns the revision of a profile that the bridge is to have now, and for
// how long a newer one has to wait: zero without a newer one, less than zero if it waits for
// a person.
func (r *profiler) revisionFor(b *v1alpha1.HostedBridge, groups []profile.Group, p *v1alpha1.BridgeProfile, now time.Time) (profile.Profile, time.Duration, error) {
	if p.DeletionTimestamp != nil || len(p.Status.Revisions) == 0 {
		return profile.Profile{}, 0, nil
	}
	newest, err := profile.Of(p, p.Status.Revisions[0])
	if err != nil || len(p.Status.Revisions) == 1 {
		return newest, 0, err
	}
	former, err := profile.Of(p, p.Status.Revisions[1])
	if err != nil || !newest.Selects(b, groups) && !former.Selects(b, groups) {
		return newest, 0, err
	}
	if wait := r.wait(b, p, newest, former.Selects(b, groups), now); wait != 0 {
		return former, wait, nil
	}
	return newest, 0, nil
}

// wait returns for how long the bridge has to wait for the newest revision of a profile,
// less than zero if it waits for a person. before says whether the revision before selects
// the bridge too.
func (r *profiler) wait(b *v1alpha1.HostedBridge, p *v1alpha1.BridgeProfile, newest profile.Profile, before bool, now time.Time) time.Duration {
	use, has := profile.Use(b, p)
	switch {
	case has && use.Generation == newest.Generation, newest.Spec.Rollout.Pace == v1alpha1.PaceImmediate:
		return 0
	case p.Status.Paused:
		return -1
	case b.Status.ObservedGeneration != b.Generation, before && !has:
		return 0 // The bridge changes anyway, or its user has just joined a group.
	}
	return r.pacer.Wait(p.UID, newest.Generation, newest.Spec.Rollout.PerSecond, b.UID, now)
}

// uses returns what the status says of the profiles.
func uses(b *v1alpha1.HostedBridge, selected []profile.Profile, now time.Time) []v1alpha1.ProfileUse {
	var list []v1alpha1.ProfileUse
	for _, p := range selected {
		use := v1alpha1.ProfileUse{Name: p.Name, UID: p.UID, Generation: p.Generation, Since: metav1.NewTime(now.Truncate(time.Second))}
		at := slices.IndexFunc(b.Status.Profiles, func(u v1alpha1.ProfileUse) bool { return u.UID == p.UID && u.Generation == p.Generation })
		if at >= 0 {
			use.Since = b.Status.Profiles[at].Since
		}
		list = append(list, use)
	}
	return list
}

// enqueueSelected enqueues the bridges that a profile selects, or selected before, if its
// revisions or its pause changed: those with a pod first. Which of them get a change when
// is decided as each is reconciled.
func (m eventMapper) enqueueSelected(forget func(*v1alpha1.BridgeProfile)) handler.EventHandler {
	all := func(ctx context.Context, o client.Object, q queue) {
		if p, ok := o.(*v1alpha1.BridgeProfile); ok {
			m.enqueueProfile(ctx, q, p)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { all(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*v1alpha1.BridgeProfile)
			after, ok2 := e.ObjectNew.(*v1alpha1.BridgeProfile)
			if !ok || !ok2 {
				return
			}
			if before.Status.Paused != after.Status.Paused || newestGeneration(before) != newestGeneration(after) {
				all(ctx, after, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if p, ok := e.Object.(*v1alpha1.BridgeProfile); ok {
				forget(p)
			}
			all(ctx, e.Object, q)
		},
	}
}

// newestGeneration returns the generation of the last accepted revision, or 0 if no revision
// was accepted.
func newestGeneration(p *v1alpha1.BridgeProfile) int64 {
	if len(p.Status.Revisions) == 0 {
		return 0
	}
	return p.Status.Revisions[0].Generation
}

func (m eventMapper) enqueueProfile(ctx context.Context, q queue, p *v1alpha1.BridgeProfile) {
	var revisions []profile.Profile
	for _, text := range p.Status.Revisions {
		revision, err := profile.Of(p, text)
		if err != nil {
			log.FromContext(ctx).Error(err, "read a BridgeProfile")
			return
		}
		revisions = append(revisions, revision)
	}
	var list v1alpha1.HostedBridgeList
	if err := m.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		// A read of a filled cache fails only when the process ends.
		log.FromContext(ctx).Error(err, "list HostedBridges of a profile")
		return
	}
	var persons v1alpha1.BridgePersonList
	if err := m.client.List(ctx, &persons, client.InNamespace(m.settings.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "list BridgePersons")
		return
	}
	people := access.NewPeople(persons.Items)
	var sleeping []reconcile.Request
	for i := range list.Items {
		b := &list.Items[i]
		_, has := profile.Use(b, p)
		groups, _ := profile.Groups(b, people, m.clock.Now())
		if !has && !slices.ContainsFunc(revisions, func(r profile.Profile) bool { return r.Selects(b, groups) }) {
			continue
		}
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}
		if b.Status.PodName == "" {
			sleeping = append(sleeping, request)
			continue
		}
		addLast(q, 0, request)
	}
	for _, request := range sleeping {
		addLast(q, 0, request)
	}
}

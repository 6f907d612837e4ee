// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridgegroup writes in which groups of directories people are. A directory writes
// groups, each in one object; whoever asks for the groups of a person reads the person.
package bridgegroup

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// manager is the field manager of the groups of people. How far they have left has another
// one: each apply removes what its manager leaves out.
const manager = "hosted-bridge-operator-groups"

// Reconciler reconciles the groups of one person of a directory.
type Reconciler struct {
	// Client reads from caches, and writes.
	Client client.Client
	// Namespace is the installation's, in which people and groups have an effect.
	Namespace string
}

// Reconcile writes the groups of a person that changed.
func (r *Reconciler) Reconcile(ctx context.Context, p *v1alpha1.BridgePerson) (ctrl.Result, error) {
	if p.Namespace != r.Namespace || p.DeletionTimestamp != nil || p.Spec.Directory == nil {
		return ctrl.Result{}, nil
	}
	groups, leftOut, err := r.groupsOf(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	incarnation, known := p.Spec.Directory.Incarnation, p.Status.Directory
	if known != nil && known.Incarnation == incarnation && isSame(known, groups, leftOut) {
		return ctrl.Result{}, nil
	}
	if leftOut > 0 {
		log.FromContext(ctx).Info("a person is in more groups of BridgeProfiles and SharedServers than are stored: "+
			"those of the profiles that decide first count", "groups", len(groups), "leftOut", leftOut)
	}
	object := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}
	patch := apply.Status(v1alpha1.BridgePersonStatus{
		Directory: &v1alpha1.PersonDirectoryGroups{Incarnation: incarnation, Groups: groups, LeftOut: leftOut},
	})
	err = r.Client.Status().Patch(ctx, object, patch, client.FieldOwner(manager), client.ForceOwnership)
	if err != nil && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("apply the groups of a person: %w", err)
	}
	return ctrl.Result{}, nil
}

// isSame reports whether these groups are known, and how many are left out.
func isSame(known *v1alpha1.PersonDirectoryGroups, groups []string, leftOut int32) bool {
	return known.LeftOut == leftOut && slices.Equal(slices.Sorted(slices.Values(known.Groups)), groups)
}

// groupsOf returns the groups of a person that profiles and SharedServers name, in order, and
// how many more these are than are stored.
func (r *Reconciler) groupsOf(ctx context.Context, p *v1alpha1.BridgePerson) (groups []string, leftOut int32, err error) {
	var list v1alpha1.BridgeGroupList
	id := access.MemberID(p.Name, p.Spec.Directory.Incarnation)
	if err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace), client.MatchingFields{indexMembers: id}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, 0, fmt.Errorf("list BridgeGroups: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, 0, nil
	}
	var profiles v1alpha1.BridgeProfileList
	if err := r.Client.List(ctx, &profiles, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, 0, fmt.Errorf("list BridgeProfiles: %w", err)
	}
	var shared v1alpha1.SharedServerList
	if err := r.Client.List(ctx, &shared, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, 0, fmt.Errorf("list SharedServers: %w", err)
	}
	var values []string
	for i := range list.Items {
		// A group of another issuer says nothing of the person, whoever its members are.
		if g := &list.Items[i]; g.Spec.Issuer == p.Spec.Issuer && g.DeletionTimestamp == nil {
			values = append(values, g.Spec.Value)
		}
	}
	groups, over := profile.Kept(profile.Named(profiles.Items, shared.Items, p.Spec.Issuer), oauth.NewGroupSet(values))
	return groups, int32(over), nil //nolint:gosec // There are fewer groups.
}

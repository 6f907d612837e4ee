// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/overview"
)

// UserAccess reads and writes the access of users.
type UserAccess struct {
	Client    client.Client
	Namespace string
	Known     Records
	// Owner is the field manager of what is written, FieldOwnerIngress if it is empty.
	Owner string
}

// Report returns what is known of the access of a user, also of one whose bridge is deleted.
// Its error is access.ErrNoUser where there is neither a bridge nor a BridgePerson.
func (u *UserAccess) Report(ctx context.Context, user v1alpha1.UserID) (access.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	person, err := u.get(ctx, user)
	if err != nil {
		return access.Report{}, err
	}
	return u.report(ctx, user, person)
}

// Set sets the access of a user, and returns what is known of it then. With dryRun it writes
// nothing and returns what would follow.
func (u *UserAccess) Set(ctx context.Context, user v1alpha1.UserID, to v1alpha1.Access, dryRun bool) (access.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	person, err := u.get(ctx, user)
	if err != nil {
		return access.Report{}, err
	}
	if _, err := u.report(ctx, user, person); err != nil {
		return access.Report{}, err // Before a record of nobody is made.
	}
	if dryRun {
		changed := person.DeepCopy()
		changed.Spec.Access = to
		r, err := u.report(ctx, user, changed)
		r.Steps = access.Steps(to)
		return r, err
	}
	object := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: person.Name}}
	spec := apply.Spec(v1alpha1.BridgePersonSpec{User: user, Access: to})
	if err := u.Client.Patch(ctx, object, spec, client.FieldOwner(cmp.Or(u.Owner, v1alpha1.FieldOwnerIngress)), client.ForceOwnership); err != nil {
		return access.Report{}, fmt.Errorf("write the access of a user: %w", err)
	}
	if person, err = u.get(ctx, user); err != nil {
		return access.Report{}, err
	}
	return u.report(ctx, user, person)
}

// State returns what is known of all users.
func (u *UserAccess) State(ctx context.Context) (overview.State, error) {
	persons, err := u.Known.Persons(ctx)
	if err != nil {
		return overview.State{}, err
	}
	bridges, err := u.Known.Bridges(ctx)
	return overview.State{Bridges: bridges, Persons: persons, Now: time.Now()}, err
}

// User returns one user as the API server has them. Its error is access.ErrNoUser if no
// bridge has the user id.
func (u *UserAccess) User(ctx context.Context, user v1alpha1.UserID) (overview.Detail, error) {
	state, err := u.State(ctx)
	if err != nil {
		return overview.Detail{}, err
	}
	b, err := u.bridgeOf(ctx, user)
	switch {
	case err != nil:
		return overview.Detail{}, err
	case b == nil:
		return overview.Detail{}, access.ErrNoUser
	}
	return state.DetailOf(effective.Of(b)), nil
}

// get returns the record of a user. Without a record, the user has access.
func (u *UserAccess) get(ctx context.Context, user v1alpha1.UserID) (*v1alpha1.BridgePerson, error) {
	p := &v1alpha1.BridgePerson{}
	err := u.Client.Get(ctx, types.NamespacedName{Namespace: u.Namespace, Name: access.UserName(user)}, p)
	if apierrors.IsNotFound(err) {
		p.Namespace, p.Name = u.Namespace, access.UserName(user)
		p.Spec = v1alpha1.BridgePersonSpec{User: user, Access: v1alpha1.AccessAllowed}
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get BridgePerson: %w", err)
	}
	return p, nil
}

func (u *UserAccess) report(ctx context.Context, user v1alpha1.UserID, record *v1alpha1.BridgePerson) (access.Report, error) {
	persons, err := u.Known.Persons(ctx)
	if err != nil {
		return access.Report{}, err
	}
	people := access.NewPeople(nil)
	for i := range persons {
		people.Set(&persons[i])
	}
	people.Set(record)
	b, err := u.bridgeOf(ctx, user)
	if err != nil {
		return access.Report{}, err
	}
	if b == nil && record.UID == "" {
		return access.Report{}, access.ErrNoUser
	}
	return access.ReportOf(user, record, b, people), nil
}

// bridgeOf returns the bridge of a user, nil without one. It is read from the API
// server: what the ingress keeps of a bridge does not have all of its status.
func (u *UserAccess) bridgeOf(ctx context.Context, user v1alpha1.UserID) (*v1alpha1.HostedBridge, error) {
	bridges, err := u.Known.Bridges(ctx)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(bridges, func(b *effective.Bridge) bool { return b.User() != user || b.DeletionTimestamp != nil })
	if len(own) == 0 {
		return nil, nil
	}
	slices.SortFunc(own, func(a, b *effective.Bridge) int {
		if a.Precedes(b.HostedBridge) {
			return -1
		}
		return 1
	})
	b := &v1alpha1.HostedBridge{}
	err = u.Client.Get(ctx, client.ObjectKeyFromObject(own[0]), b)
	switch {
	case apierrors.IsNotFound(err) || err == nil && b.UID != own[0].UID:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get HostedBridge: %w", err)
	}
	return b, nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// timeout bounds what one act asks of the API server.
const timeout = 10 * time.Second

// Cluster keeps what users ask for, and the answers, in BridgeRequests of the installation's
// namespace. The name of one is that of its user and server, so that two replicas cannot make
// two of the same. Its errors are those of this package and the API server's.
type Cluster struct {
	// Client reads from the API server, and writes.
	Client client.Client
	// Namespace is the installation's.
	Namespace string
	Now       func() time.Time
}

// Of returns the requests of a user's bridge for these servers.
func (s *Cluster) Of(ctx context.Context, of route.Backend, servers []string) ([]v1alpha1.BridgeRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var found []v1alpha1.BridgeRequest
	for _, server := range servers {
		q, err := s.own(ctx, of, server)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, *q)
	}
	return found, nil
}

// own returns a request of the bridge. A request of an earlier bridge with the same user id does not count.
func (s *Cluster) own(ctx context.Context, of route.Backend, server string) (*v1alpha1.BridgeRequest, error) {
	q, err := s.get(ctx, of.User, server)
	if err == nil && q.Spec.BridgeUID != of.BridgeUID {
		return nil, ErrNotFound
	}
	return q, err
}

func (s *Cluster) get(ctx context.Context, user v1alpha1.UserID, server string) (*v1alpha1.BridgeRequest, error) {
	q := &v1alpha1.BridgeRequest{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: v1alpha1.RequestName(user, server)}, q)
	switch {
	case apierrors.IsNotFound(err) || err == nil && q.DeletionTimestamp != nil:
		return nil, ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("get BridgeRequest: %w", err)
	}
	return q, nil
}

// Ask writes a request. One that was refused is open again by it, and one of an earlier
// bridge of the user id, or for another offer, makes room for it.
func (s *Cluster) Ask(ctx context.Context, asked v1alpha1.BridgeRequestSpec) (*v1alpha1.BridgeRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	q, err := s.create(ctx, asked)
	if !errors.Is(err, errExists) {
		return q, err
	}
	before, err := s.get(ctx, asked.User, asked.Server)
	switch {
	case err != nil:
		return nil, err
	case before.Spec.BridgeUID != asked.BridgeUID || before.Spec.Offer != asked.Offer:
		return s.replace(ctx, before, asked)
	case before.Spec.Decision == nil:
		return nil, ErrOpen
	case before.Spec.Decision.Verdict == v1alpha1.RequestApproved:
		return nil, ErrApproved
	}
	after := before.DeepCopy()
	after.Spec.Reason, after.Spec.Decision = asked.Reason, nil
	return after, s.write(ctx, before, after)
}

var errExists = errors.New("create BridgeRequest: there is one")

func (s *Cluster) create(ctx context.Context, asked v1alpha1.BridgeRequestSpec) (*v1alpha1.BridgeRequest, error) {
	q := &v1alpha1.BridgeRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: v1alpha1.RequestName(asked.User, asked.Server)}, Spec: asked,
	}
	err := s.Client.Create(ctx, q, client.FieldOwner(v1alpha1.FieldOwnerIngress))
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, errExists
	case err != nil:
		return nil, fmt.Errorf("create BridgeRequest: %w", err)
	}
	return q, nil
}

func (s *Cluster) replace(ctx context.Context, before *v1alpha1.BridgeRequest, asked v1alpha1.BridgeRequestSpec) (*v1alpha1.BridgeRequest, error) {
	if err := s.delete(ctx, before); err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	q, err := s.create(ctx, asked)
	if errors.Is(err, errExists) {
		return nil, ErrChanged
	}
	return q, err
}

// Decide answers a request now, also one that was answered before, if the request is the
// version that the decision is about and check returns nil for it.
func (s *Cluster) Decide(ctx context.Context, d Decision, check func(*v1alpha1.BridgeRequest) error) (*v1alpha1.BridgeRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	before, err := s.get(ctx, d.User, d.Server)
	if err != nil {
		return nil, err
	}
	if err := check(before); err != nil {
		return nil, err
	}
	if before.ResourceVersion != d.Version {
		return nil, ErrChanged
	}
	after := before.DeepCopy()
	after.Spec.Decision = &v1alpha1.RequestDecision{Verdict: d.Verdict, Reason: d.Reason, Time: metav1.NewTime(s.Now().Truncate(time.Second))}
	return after, s.write(ctx, before, after)
}

func (s *Cluster) write(ctx context.Context, before, after *v1alpha1.BridgeRequest) error {
	err := s.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(v1alpha1.FieldOwnerIngress))
	switch {
	case apierrors.IsNotFound(err):
		return ErrNotFound
	case apierrors.IsConflict(err):
		return ErrChanged
	case err != nil:
		return fmt.Errorf("write BridgeRequest: %w", err)
	}
	return nil
}

// Withdraw removes a request of the bridge.
func (s *Cluster) Withdraw(ctx context.Context, of route.Backend, server string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	q, err := s.own(ctx, of, server)
	if err != nil {
		return err
	}
	return s.delete(ctx, q)
}

func (s *Cluster) delete(ctx context.Context, q *v1alpha1.BridgeRequest) error {
	err := s.Client.Delete(ctx, q, client.Preconditions{UID: &q.UID})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return ErrNotFound
	case err != nil:
		return fmt.Errorf("delete BridgeRequest: %w", err)
	}
	return nil
}

// All returns the requests of all users.
func (s *Cluster) All(ctx context.Context) ([]v1alpha1.BridgeRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var list v1alpha1.BridgeRequestList
	if err := s.Client.List(ctx, &list, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("list BridgeRequests: %w", err)
	}
	return list.Items, nil
}

// DeleteOf removes all requests of a user.
func (s *Cluster) DeleteOf(ctx context.Context, user v1alpha1.UserID) error {
	all, err := s.All(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].Spec.User != user {
			continue
		}
		if err := s.delete(ctx, &all[i]); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

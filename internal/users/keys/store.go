// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// timeout bounds one act, which is at most three requests to the API server.
const timeout = 10 * time.Second

// Cluster keeps keys in the HostedBridges of a cluster.
type Cluster struct {
	client client.Client
	random io.Reader
}

// NewCluster returns the keys of the client's cluster. The client's scheme has the API's
// types.
func NewCluster(c client.Client, random io.Reader) *Cluster {
	return &Cluster{client: c, random: random}
}

// List returns the public part of the bridge's keys.
func (c *Cluster) List(ctx context.Context, of route.Backend) ([]Info, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, err := ReadBridge(ctx, c.client, of)
	if err != nil {
		return nil, err
	}
	return InfosOf(b), nil
}

// Create adds a new key. The key itself is in the answer and nowhere else. Its errors are
// ErrNoBridge, ErrTooMany or the API server's, in an *UnsureError if the key may exist.
func (c *Cluster) Create(ctx context.Context, of route.Backend, name string, expiresAt time.Time) (*Minted, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, err := ReadBridge(ctx, c.client, of)
	if err != nil {
		return nil, err
	}
	if len(b.Spec.APIKeys) >= Max {
		return nil, ErrTooMany
	}
	minted, err := Mint(c.random, Request{User: b.User(), Bridge: client.ObjectKeyFromObject(b), Name: name, ExpiresAt: expiresAt})
	if err != nil {
		return nil, err
	}
	// With a UID, which only the API server may set on a new object, this never
	// creates a HostedBridge.
	if _, err := c.patch(ctx, of, apply.Spec(minted.Patch.Spec), minted.ID); err != nil {
		return nil, err
	}
	return minted, nil
}

// Revoke removes a key that only its own field manager holds. Its errors are ErrNoBridge,
// ErrNoKey, a *ManagedError or the API server's, in an *UnsureError if something may have been
// removed.
func (c *Cluster) Revoke(ctx context.Context, of route.Backend, id string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Another change of the list may move the key meanwhile.
	for range 4 {
		if err := c.remove(ctx, of, id); !apierrors.IsInvalid(err) {
			return err
		}
	}
	return c.remove(ctx, of, id)
}

// RevokeAll removes the keys of a bridge that no manifest holds. A bridge that is gone has none.
func (c *Cluster) RevokeAll(ctx context.Context, of route.Backend) error {
	infos, err := c.List(ctx, of)
	if errors.Is(err, ErrNoBridge) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list keys of %s/%s: %w", of.Namespace, of.Name, err)
	}
	for _, info := range infos {
		if len(info.ManagedBy) > 0 {
			continue
		}
		err := c.Revoke(ctx, of, info.ID)
		if err != nil && !errors.Is(err, ErrNoKey) && !errors.Is(err, ErrNoBridge) {
			return fmt.Errorf("revoke a key of %s/%s: %w", of.Namespace, of.Name, err)
		}
	}
	return nil
}

// remove removes the key of that id where it is in the list now. Its error is
// invalid for the API server if the key is elsewhere by then.
func (c *Cluster) remove(ctx context.Context, of route.Backend, id string) error {
	b, err := ReadBridge(ctx, c.client, of)
	if err != nil {
		return err
	}
	i, err := removable(b, id)
	if err != nil {
		return err
	}
	patch, err := removal(b, i)
	if err != nil {
		return err
	}
	left, err := c.patch(ctx, of, client.RawPatch(types.JSONPatchType, patch), id)
	if err != nil {
		return err
	}
	// Another field manager may have applied it meanwhile, and then it still
	// exists.
	if _, err := removable(left, id); !errors.Is(err, ErrNoKey) {
		return &UnsureError{KeyID: id, Err: cmp.Or(err, error(&ManagedError{By: []string{"unknown"}}))}
	}
	return nil
}

// removable returns the index of the key, or why it cannot be removed.
func removable(b *v1alpha1.HostedBridge, id string) (int, error) {
	infos := InfosOf(b)
	i := slices.IndexFunc(infos, func(info Info) bool { return info.ID == id })
	switch {
	case i < 0:
		return 0, ErrNoKey
	case infos[i].ManagedBy != nil:
		return 0, &ManagedError{By: infos[i].ManagedBy}
	}
	return i, nil
}

// ReadBridge reads a HostedBridge from the API server, or returns ErrNoBridge if it is gone or
// was replaced by another one of the same name.
func ReadBridge(ctx context.Context, c client.Reader, of route.Backend) (*v1alpha1.HostedBridge, error) {
	b := &v1alpha1.HostedBridge{}
	err := c.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: of.Name}, b)
	switch {
	case apierrors.IsNotFound(err) || err == nil && b.UID != of.BridgeUID:
		return nil, ErrNoBridge
	case err != nil:
		return nil, fmt.Errorf("get HostedBridge: %w", err)
	}
	return b, nil
}

// patch sends the patch as the manager of the key of that id, and returns the
// result.
func (c *Cluster) patch(ctx context.Context, of route.Backend, patch client.Patch, id string) (*v1alpha1.HostedBridge, error) {
	b := &v1alpha1.HostedBridge{}
	b.Namespace, b.Name, b.UID = of.Namespace, of.Name, of.BridgeUID
	if err := c.client.Patch(ctx, b, patch, client.FieldOwner(manager(id))); err != nil {
		return nil, keyError(err, id)
	}
	return b, nil
}

// keyError returns the error for an API server's error about the key of that
// id.
func keyError(err error, id string) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return ErrNoBridge
	case isTooMany(err):
		return ErrTooMany
	}
	failed := fmt.Errorf("patch HostedBridge: %w", err)
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && status.ErrStatus.Code >= 400 && status.ErrStatus.Code < 500 {
		return failed // It was not done.
	}
	return &UnsureError{KeyID: id, Err: failed}
}

// isTooMany reports whether err says that the list of keys became too long. The
// API server can also refuse a HostedBridge because of other content, which is
// older than a rule, or because of the installation's admission webhook.
func isTooMany(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil {
		return false
	}
	return slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "spec.apiKeys" && c.Type == metav1.CauseType(field.ErrorTypeTooMany)
	})
}

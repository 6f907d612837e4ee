// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubestore writes the parts of HostedBridges that belong to their
// users to the API server: keys, the subjects that may log in, bridges that a
// first login creates, and connected accounts. It is a shell: package userkey
// defines the content of keys.
package kubestore

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

// timeout bounds one act, which is at most three requests to the API server.
const timeout = 10 * time.Second

// Keys are the keys of all HostedBridges.
type Keys struct {
	client client.Client
	random io.Reader
}

// NewKeys returns the keyring of the client's cluster. The client's scheme has the
// API's types.
func NewKeys(c client.Client, random io.Reader) *Keys {
	return &Keys{client: c, random: random}
}

// List returns the public part of the bridge's keys.
func (k *Keys) List(ctx context.Context, of userkey.Bridge) ([]userkey.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, err := k.get(ctx, of)
	if err != nil {
		return nil, err
	}
	return userkey.Infos(b), nil
}

// Create adds a new key. The key itself is in the answer and nowhere else. Its
// errors are userkey.ErrNoBridge, userkey.ErrTooMany or the API server's, in a
// *userkey.UnsureError if the key may exist.
func (k *Keys) Create(ctx context.Context, of userkey.Bridge, name string, expiresAt time.Time) (*userkey.Minted, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, err := k.get(ctx, of)
	if err != nil {
		return nil, err
	}
	if len(b.Spec.APIKeys) >= userkey.MaxKeys {
		return nil, userkey.ErrTooMany
	}
	minted, err := userkey.Mint(k.random, userkey.Request{User: b.User(), Bridge: of.NamespacedName, Name: name, ExpiresAt: expiresAt})
	if err != nil {
		return nil, err
	}
	// With a UID, which only the API server may set on a new object, this never
	// creates a HostedBridge.
	object, err := json.Marshal(minted.Patch.WithUID(of.UID))
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	if _, err := k.patch(ctx, of, client.RawPatch(types.ApplyPatchType, object), minted.ID); err != nil {
		return nil, err
	}
	return minted, nil
}

// Revoke removes a key that only its own field manager holds. Its errors are
// userkey.ErrNoBridge, userkey.ErrNoKey, a *userkey.ManagedError or the API
// server's, in a *userkey.UnsureError if something may have been removed.
func (k *Keys) Revoke(ctx context.Context, of userkey.Bridge, id string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Another change of the list may move the key meanwhile.
	for range 4 {
		if err := k.remove(ctx, of, id); !apierrors.IsInvalid(err) {
			return err
		}
	}
	return k.remove(ctx, of, id)
}

// remove removes the key of that id where it is in the list now. Its error is
// invalid for the API server if the key is elsewhere by then.
func (k *Keys) remove(ctx context.Context, of userkey.Bridge, id string) error {
	b, err := k.get(ctx, of)
	if err != nil {
		return err
	}
	i, err := removable(b, id)
	if err != nil {
		return err
	}
	patch, err := userkey.Removal(b, i)
	if err != nil {
		return err
	}
	left, err := k.patch(ctx, of, client.RawPatch(types.JSONPatchType, patch), id)
	if err != nil {
		return err
	}
	// Another field manager may have applied it meanwhile, and then it still
	// exists.
	if _, err := removable(left, id); !errors.Is(err, userkey.ErrNoKey) {
		return &userkey.UnsureError{KeyID: id, Err: cmp.Or(err, error(&userkey.ManagedError{By: []string{"unknown"}}))}
	}
	return nil
}

// removable returns the index of the key, or why it cannot be removed.
func removable(b *v1alpha1.HostedBridge, id string) (int, error) {
	infos := userkey.Infos(b)
	i := slices.IndexFunc(infos, func(info userkey.Info) bool { return info.ID == id })
	switch {
	case i < 0:
		return 0, userkey.ErrNoKey
	case infos[i].ManagedBy != nil:
		return 0, &userkey.ManagedError{By: infos[i].ManagedBy}
	}
	return i, nil
}

func (k *Keys) get(ctx context.Context, of userkey.Bridge) (*v1alpha1.HostedBridge, error) {
	return getBridge(ctx, k.client, of)
}

// getBridge reads a HostedBridge from the API server, or returns userkey.ErrNoBridge.
func getBridge(ctx context.Context, c client.Reader, of userkey.Bridge) (*v1alpha1.HostedBridge, error) {
	b := &v1alpha1.HostedBridge{}
	err := c.Get(ctx, of.NamespacedName, b)
	switch {
	case apierrors.IsNotFound(err) || err == nil && b.UID != of.UID:
		return nil, userkey.ErrNoBridge
	case err != nil:
		return nil, fmt.Errorf("get HostedBridge: %w", err)
	}
	return b, nil
}

// patch sends the patch as the manager of the key of that id, and returns the
// result.
func (k *Keys) patch(ctx context.Context, of userkey.Bridge, patch client.Patch, id string) (*v1alpha1.HostedBridge, error) {
	b := &v1alpha1.HostedBridge{}
	b.Namespace, b.Name = of.Namespace, of.Name
	if err := k.client.Patch(ctx, b, patch, client.FieldOwner(userkey.Manager(id))); err != nil {
		return nil, keyError(err, id)
	}
	return b, nil
}

// keyError returns the error for an API server's error about the key of that
// id.
func keyError(err error, id string) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return userkey.ErrNoBridge
	case isTooMany(err):
		return userkey.ErrTooMany
	}
	failed := fmt.Errorf("patch HostedBridge: %w", err)
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && status.ErrStatus.Code >= 400 && status.ErrStatus.Code < 500 {
		return failed // It was not done.
	}
	return &userkey.UnsureError{KeyID: id, Err: failed}
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

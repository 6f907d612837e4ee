// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keyring adds keys to HostedBridges and removes them, at the API
// server. It is a shell: package userkey says what a key is made of.
package keyring

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
	v1alpha1ac "github.com/hostedbridge/hostedbridge/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

// timeout bounds one act, which is at most three requests of the API server.
const timeout = 10 * time.Second

// Keyring is the keys of all HostedBridges.
type Keyring struct {
	client client.Client
	random io.Reader
	now    func() time.Time
}

// New returns the keyring of the client's cluster. The client's scheme has the
// API's types.
func New(c client.Client, random io.Reader, now func() time.Time) *Keyring {
	return &Keyring{client: c, random: random, now: now}
}

// List returns what may be told of the bridge's keys.
func (k *Keyring) List(ctx context.Context, of userkey.Bridge) ([]userkey.Info, error) {
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
// *userkey.UnsureError where the key may be there.
func (k *Keyring) Create(ctx context.Context, of userkey.Bridge, name string, lifetime time.Duration) (*userkey.Minted, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, err := k.get(ctx, of)
	if err != nil {
		return nil, err
	}
	if len(b.Spec.APIKeys) >= userkey.MaxKeys {
		return nil, userkey.ErrTooMany
	}
	minted, err := userkey.Mint(k.random, userkey.Request{Bridge: of.NamespacedName, Name: name, Lifetime: lifetime}, k.now())
	if err != nil {
		return nil, err
	}
	if _, err := k.apply(ctx, of, minted.Patch, minted.ID); err != nil {
		return nil, err
	}
	return minted, nil
}

// Revoke removes a key that is held by its own field manager alone. Its errors
// are userkey.ErrNoBridge, userkey.ErrNoKey, a *userkey.ManagedError or the API
// server's, in a *userkey.UnsureError where something may have been removed.
func (k *Keyring) Revoke(ctx context.Context, of userkey.Bridge, id string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, err := k.get(ctx, of)
	if err != nil {
		return err
	}
	if err := removable(b, id); err != nil {
		return err
	}
	left, err := k.apply(ctx, of, userkey.Removal(of.NamespacedName), id)
	if err != nil {
		return err
	}
	// Somebody may have taken hold of it meanwhile, and then it is still there.
	if err := removable(left, id); !errors.Is(err, userkey.ErrNoKey) {
		return &userkey.UnsureError{KeyID: id, Err: cmp.Or(err, error(&userkey.ManagedError{By: []string{"unknown"}}))}
	}
	return nil
}

// removable returns why the key cannot be removed.
func removable(b *v1alpha1.HostedBridge, id string) error {
	infos := userkey.Infos(b)
	i := slices.IndexFunc(infos, func(info userkey.Info) bool { return info.ID == id })
	switch {
	case i < 0:
		return userkey.ErrNoKey
	case infos[i].ManagedBy != nil:
		return &userkey.ManagedError{By: infos[i].ManagedBy}
	}
	return nil
}

func (k *Keyring) get(ctx context.Context, of userkey.Bridge) (*v1alpha1.HostedBridge, error) {
	b := &v1alpha1.HostedBridge{}
	err := k.client.Get(ctx, of.NamespacedName, b)
	switch {
	case apierrors.IsNotFound(err) || err == nil && b.UID != of.UID:
		return nil, userkey.ErrNoBridge
	case err != nil:
		return nil, fmt.Errorf("get HostedBridge: %w", err)
	}
	return b, nil
}

// apply applies the object as the manager of the key of that id, and returns
// what became of it. It never creates a HostedBridge: the UID is one that the
// API server would have to give itself.
func (k *Keyring) apply(ctx context.Context, of userkey.Bridge, object *v1alpha1ac.HostedBridgeApplyConfiguration, id string) (*v1alpha1.HostedBridge, error) {
	patch, err := json.Marshal(object.WithUID(of.UID))
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	b := &v1alpha1.HostedBridge{}
	b.Namespace, b.Name = of.Namespace, of.Name
	err = k.client.Patch(ctx, b, client.RawPatch(types.ApplyPatchType, patch), client.FieldOwner(userkey.Manager(id)))
	if err != nil {
		return nil, refusal(err, id)
	}
	return b, nil
}

// refusal returns what err of the API server says of an act on the key of that
// id.
func refusal(err error, id string) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return userkey.ErrNoBridge
	case tooMany(err):
		return userkey.ErrTooMany
	}
	failed := fmt.Errorf("apply HostedBridge: %w", err)
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && status.ErrStatus.Code >= 400 && status.ErrStatus.Code < 500 {
		return failed // It was not done.
	}
	return &userkey.UnsureError{KeyID: id, Err: failed}
}

// tooMany reports whether err is that the list of keys became too long. A
// HostedBridge can also be refused for what else is in it, which was there
// before a rule was, or for what an admission webhook of the installation says.
func tooMany(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil {
		return false
	}
	return slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "spec.apiKeys" && c.Type == metav1.CauseType(field.ErrorTypeTooMany)
	})
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
)

// ErrNoKeybroker is why there are no secrets at a first start.
var ErrNoKeybroker = errors.New("the keybroker's certificate is not known yet")

// UserSecrets are the users' secrets at the keybroker, as soon as it is known.
type UserSecrets struct {
	known atomic.Pointer[client.UserSecrets]
}

// List implements ingress.UserSecrets.
func (u *UserSecrets) List(ctx context.Context, of client.Ref) (client.SecretList, error) {
	known := u.known.Load()
	if known == nil {
		return client.SecretList{}, ErrNoKeybroker
	}
	return known.List(ctx, of)
}

// Put implements ingress.UserSecrets.
func (u *UserSecrets) Put(ctx context.Context, of client.Ref, name string, value []byte) (info client.SecretInfo, created bool, err error) {
	known := u.known.Load()
	if known == nil {
		return client.SecretInfo{}, false, ErrNoKeybroker
	}
	return known.Put(ctx, of, name, value)
}

// Delete implements ingress.UserSecrets.
func (u *UserSecrets) Delete(ctx context.Context, of client.Ref, name string) error {
	known := u.known.Load()
	if known == nil {
		return ErrNoKeybroker
	}
	return known.Delete(ctx, of, name)
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
)

// errNoKeybroker is why there are no secrets at a first start.
var errNoKeybroker = errors.New("the keybroker's certificate is not known yet")

// userSecrets are the users' secrets at the keybroker, as soon as it is known.
type userSecrets struct {
	known atomic.Pointer[client.UserSecrets]
}

// List implements ingress.UserSecrets.
func (u *userSecrets) List(ctx context.Context, of client.Ref) (client.SecretList, error) {
	known := u.known.Load()
	if known == nil {
		return client.SecretList{}, errNoKeybroker
	}
	return known.List(ctx, of)
}

// Put implements ingress.UserSecrets.
func (u *userSecrets) Put(ctx context.Context, of client.Ref, name string, value []byte) (info client.SecretInfo, created bool, err error) {
	known := u.known.Load()
	if known == nil {
		return client.SecretInfo{}, false, errNoKeybroker
	}
	return known.Put(ctx, of, name, value)
}

// Delete implements ingress.UserSecrets.
func (u *userSecrets) Delete(ctx context.Context, of client.Ref, name string) error {
	known := u.known.Load()
	if known == nil {
		return errNoKeybroker
	}
	return known.Delete(ctx, of, name)
}

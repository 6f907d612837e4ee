// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
)

// keybrokerPatience is how long a request waits until the keybroker can be asked,
// which takes some seconds where both begin at the same time. It is what a fetch of
// an issuer's keys has: a new process that gave up sooner would refuse all access
// tokens until the next one.
const keybrokerPatience = 10 * time.Second

// SigningKeys are those of access tokens at the keybroker, as soon as that is known
// and has certified this process. The zero value waits for use.
type SigningKeys struct {
	mu    sync.Mutex
	login *client.Login
	// ready is closed when login can be used, and nil while login is nil.
	ready <-chan struct{}
	// replaced is closed when there is another login. It is nil while nobody waits.
	replaced chan struct{}
}

// Sign implements flow.Signer. It waits until the keybroker can be asked, up to 10
// seconds. The error is ErrNoKeybroker where it cannot by then, or when ctx ends.
func (k *SigningKeys) Sign(ctx context.Context, claims []byte) (string, error) {
	login, err := k.await(ctx)
	if err != nil {
		return "", err
	}
	return login.Sign(ctx, claims)
}

// Keys implements flow.KeySet. It waits as Sign does.
func (k *SigningKeys) Keys(ctx context.Context) (jose.JSONWebKeySet, error) {
	login, err := k.await(ctx)
	if err != nil {
		return jose.JSONWebKeySet{}, err
	}
	return login.Keys(ctx)
}

// use has login asked from now on, as soon as ready is closed: without a certificate
// the keybroker would be asked in vain, and not again for a while.
func (k *SigningKeys) use(login *client.Login, ready <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.login, k.ready = login, ready
	if k.replaced != nil {
		close(k.replaced)
		k.replaced = nil
	}
}

// current returns the keybroker, what is closed when it can be asked, and what is
// closed when there is another one.
func (k *SigningKeys) current() (login *client.Login, ready, replaced <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.replaced == nil {
		k.replaced = make(chan struct{})
	}
	return k.login, k.ready, k.replaced
}

func (k *SigningKeys) await(ctx context.Context) (*client.Login, error) {
	ctx, cancel := context.WithTimeout(ctx, keybrokerPatience)
	defer cancel()
	for {
		login, ready, replaced := k.current()
		select {
		case <-ready: // Also where ctx has ended: that is for the keybroker's client to say.
			return login, nil
		default:
		}
		select {
		case <-ready:
		case <-replaced:
		case <-ctx.Done():
			return nil, ErrNoKeybroker
		}
	}
}

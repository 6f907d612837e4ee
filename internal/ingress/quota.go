// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// bounds limit what requests take. What a step takes, release gives back.
type bounds struct {
	quota     *limits.Quota
	uncounted *limits.Slots
	memory    *limits.Pools
	// bridge returns the bridge of a principal.
	bridge func(p authn.Principal) (route.Backend, error)
	config *Config
}

// findAccount finds the tier of the caller's bridge.
func (b *bounds) findAccount(r *request) error {
	backend, err := b.bridge(r.principal())
	if err != nil {
		return err
	}
	r.account = b.quota.Account(r.context(), backend.BridgeUID, backend.Tier, r.w.Header())
	return nil
}

func (b *bounds) checkTier(r *request) error { return b.quota.CheckTier(&r.account) }

// takeQuota counts the requests of the body, and takes a slot for them.
func (b *bounds) takeQuota(r *request) error {
	r.requests()
	var err error
	if r.taken.slot, err = b.quota.TakeBatch(r.context(), r.w.Header(), &r.account, &r.batch); err == nil && len(r.requests()) > 0 {
		r.know()
	}
	return err
}

// takeStream takes a slot for a stream.
func (b *bounds) takeStream(r *request) error {
	var err error
	if r.taken.slot, err = b.quota.TakeStream(r.context(), r.w.Header(), &r.account); err == nil {
		r.know()
	}
	return err
}

// boundUncounted bounds what is not counted.
func (b *bounds) boundUncounted(r *request) error {
	if r.taken.slot != quota.None {
		return nil
	}
	if !b.uncounted.Take(r.principal().User) {
		return limits.ErrTooManyUncounted
	}
	r.taken.uncounted = true
	r.know()
	return nil
}

// bodyLimit returns how large a body may be: as the tier has it, and not more
// than a user's part of the memory, which would refuse it for ever.
func (b *bounds) bodyLimit(r *request) int64 {
	return min(r.account.Tier.Body(), b.config.MaxBodyMemory/limits.UserShare)
}

// release gives back what the request took, the last first.
func (b *bounds) release(r *request) {
	defer r.taken.body.Release()
	defer func() {
		if r.taken.slot != quota.None {
			b.quota.Give(&r.account, r.taken.slot)
		}
	}()
	if r.taken.uncounted {
		b.uncounted.Give(r.caller.User)
	}
}

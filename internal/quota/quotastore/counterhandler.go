// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// The paths of the calls.
const (
	PathTake  = "/v1/quota/take"
	PathBeat  = "/v1/quota/beat"
	PathTell  = "/v1/quota/tell"
	PathLeave = "/v1/quota/leave"
)

const (
	// maxTake is many times an inquiry, of about 1 KiB.
	maxTake = 16 << 10
	// maxTell has room for some hundred users.
	maxTell = 256 << 10
)

// Taken is the answer to an Inquiry over HTTP.
type Taken struct {
	// Forgotten stands for ErrForgotten.
	Forgotten bool `json:",omitempty"`
	Reply     quota.Reply
}

// Told is what a replica has in flight of some users.
type Told struct {
	Replica  string
	InFlight map[types.UID]quota.Slots
}

// Register adds the calls to mux.
func (c *Counter) Register(mux *http.ServeMux) {
	mux.Handle("POST "+PathTake, jsoncall.Handle(maxTake, func(_ context.Context, q Inquiry) (Taken, error) {
		r, err := c.Take(q)
		if errors.Is(err, ErrForgotten) {
			return Taken{Forgotten: true}, nil
		}
		return Taken{Reply: r}, err
	}))
	mux.Handle("POST "+PathBeat, jsoncall.Handle(maxTake, func(_ context.Context, replica string) (Presence, error) {
		return c.Beat(replica), nil
	}))
	mux.Handle("POST "+PathTell, jsoncall.Handle(maxTell, func(_ context.Context, t Told) (jsoncall.Nothing, error) {
		c.Tell(t.Replica, t.InFlight)
		return jsoncall.Nothing{}, nil
	}))
	mux.Handle("POST "+PathLeave, jsoncall.Handle(maxTake, func(_ context.Context, replica string) (jsoncall.Nothing, error) {
		c.Leave(replica)
		return jsoncall.Nothing{}, nil
	}))
}

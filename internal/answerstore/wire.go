// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package answerstore

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
)

// The paths of the calls.
const (
	pathGet  = "/v1/answers/get"
	pathPut  = "/v1/answers/put"
	pathKeep = "/v1/answers/keep"
)

const (
	maxName = 1 << 10
	// maxPut has room for an answer in base64.
	maxPut = 2*MaxAnswer + maxName
	// maxKeep has room for some 100,000 bridges.
	maxKeep = 4 << 20
	// getTimeout is how long a client waits for an answer: after it, it waits for its bridge.
	getTimeout = 250 * time.Millisecond
	// putTimeout is for calls that nobody waits for.
	putTimeout = 5 * time.Second
)

// Name names an answer: the UID of the HostedBridge, and which of its answers it is.
type Name struct{ Bridge, View string }

// Answer is an answer, as an ingress has sealed it.
type Answer struct {
	Name
	Sealed []byte
}

// found is what there is of a name.
type found struct {
	Sealed []byte `json:",omitempty"`
}

// existing are all bridges.
type existing struct {
	// Without the member, nothing is removed: it is no empty list.
	Bridges *[]string
}

// Register adds the calls to mux.
func (s *Store) Register(mux *http.ServeMux) {
	mux.Handle("POST "+pathGet, jsoncall.Handle(maxName, func(ctx context.Context, n Name) (found, error) {
		sealed, err := s.get(ctx, n)
		return found{sealed}, err
	}))
	mux.Handle("POST "+pathPut, jsoncall.Handle(maxPut, func(ctx context.Context, a Answer) (jsoncall.Nothing, error) {
		if a.Bridge == "" || a.View == "" || len(a.Bridge)+len(a.View) > maxName || len(a.Sealed) > MaxAnswer {
			return jsoncall.Nothing{}, fmt.Errorf("%w: an answer needs a bridge and a view, and has at most %d bytes", jsoncall.ErrQuestion, MaxAnswer)
		}
		return jsoncall.Nothing{}, s.put(ctx, a)
	}))
	mux.Handle("POST "+pathKeep, jsoncall.Handle(maxKeep, func(ctx context.Context, e existing) (jsoncall.Nothing, error) {
		if e.Bridges == nil {
			return jsoncall.Nothing{}, fmt.Errorf("%w: the bridges are missing", jsoncall.ErrQuestion)
		}
		return jsoncall.Nothing{}, s.keep(ctx, *e.Bridges)
	}))
}

// Client calls a Store of another process.
type Client struct{ Calls *jsoncall.Client }

// Get returns an answer, or nil if the store does not have it.
func (c Client) Get(ctx context.Context, bridge, view string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	var f found
	err := c.Calls.Call(ctx, pathGet, Name{bridge, view}, &f)
	return f.Sealed, err
}

// Put replaces an answer.
func (c Client) Put(ctx context.Context, bridge, view string, sealed []byte) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	return c.Calls.Call(ctx, pathPut, Answer{Name{bridge, view}, sealed}, &jsoncall.Nothing{})
}

// Keep removes the answers of all bridges but these.
func (c Client) Keep(ctx context.Context, bridges []string) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	return c.Calls.Call(ctx, pathKeep, existing{&bridges}, &jsoncall.Nothing{})
}

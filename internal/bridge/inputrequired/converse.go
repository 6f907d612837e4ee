// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inputrequired

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// maxRounds limits how often a modern server may ask before it answers. The SDK's own client has
// the same limit.
const maxRounds = 10

var errTooManyRounds = errors.New("the server asked for input too often")

// Converse sends a legacy client's request to a modern server. Such a server returns its questions
// as a result; the bridge asks the client and sends the request again with the answers. The last
// result is in x.
func Converse(ctx context.Context, q *message.Request, l *upstream.Conn, x *inflight.Call, params *message.Outgoing) error {
	for range maxRounds {
		_, err := l.Call(ctx, q.Method, params, x)
		sent := x.Delivery.Result()
		if sent == nil {
			return err
		}
		requests, state, asks, err := message.InputNeeded(sent)
		if !asks || !methods.Of(q.Method).Asks {
			return nil
		}
		x.Delivery.SetResult(nil)
		if err != nil {
			return err
		}
		responses, err := askAll(ctx, q.Session, x, requests)
		if err != nil {
			return err
		}
		params.SetInput(responses, state)
	}
	return errTooManyRounds
}

// askAll asks the client all questions at once, as the server did.
func askAll(ctx context.Context, s message.Client, x *inflight.Call, requests map[string]message.InputRequest) (map[string]json.RawMessage, error) {
	var mu sync.Mutex
	responses := make(map[string]json.RawMessage, len(requests))
	asked, cancel := egress.FollowContext(x.Ctx, ctx)
	defer cancel()
	group, groupCtx := errgroup.WithContext(asked)
	for id, request := range requests {
		group.Go(func() error {
			response, err := askClient(groupCtx, s, request)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			responses[id] = response
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("ask the client: %w", err)
	}
	return responses, nil
}

// askClient asks the client one question.
func askClient(ctx context.Context, s message.Client, request message.InputRequest) (json.RawMessage, error) {
	if !methods.Of(request.Method).IsQuestion() {
		return nil, fmt.Errorf("unknown input request %.80q", request.Method)
	}
	result, err := s.Send(ctx, request.Method, (&message.Params{Raw: request.Params}).OnWire())
	if err != nil {
		return nil, err
	}
	return message.RawAnswer(result)
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inputrequired

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
)

// maxRounds limits how often a modern server may ask before it answers. The SDK's own client has
// the same limit.
const maxRounds = 10

var errTooManyRounds = errors.New("the server asked for input too often")

// Converse sends a legacy client's request to a modern server. Such a server returns its questions
// as a result; the bridge asks the client and sends the request again with the answers. The last
// result is in x.
func Converse(ctx context.Context, q *message.Request, l *upstream.Conn, x *inflight.Call, params mcp.Params) error {
	for range maxRounds {
		result, err := l.CallModern(ctx, q.Method, params)
		if err != nil {
			return err
		}
		requests, state, asks := message.InputNeeded(result)
		if !asks {
			return nil
		}
		x.Delivery.SetResult(nil)
		responses, err := askAll(ctx, q.Session, x, requests)
		if err != nil {
			return err
		}
		message.SetInput(params, responses, state)
	}
	return errTooManyRounds
}

// askAll asks the client all questions at once, as the server did.
func askAll(ctx context.Context, s message.Client, x *inflight.Call, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	var mu sync.Mutex
	responses := make(mcp.InputResponseMap, len(requests))
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
func askClient(ctx context.Context, s message.Client, request mcp.InputRequest) (mcp.InputResponse, error) {
	var method string
	switch request.(type) {
	case *mcp.ElicitParams:
		method = message.MethodElicit
	case *mcp.CreateMessageParams, *mcp.CreateMessageWithToolsParams:
		method = message.MethodCreateMessage
	case *mcp.ListRootsParams:
		method = message.MethodRoots
	}
	params, ok := request.(mcp.Params)
	if method == "" || !ok {
		return nil, fmt.Errorf("unknown input request %T", request)
	}
	result, err := s.Send(ctx, method, params)
	if err != nil {
		return nil, err
	}
	response, ok := result.(mcp.InputResponse)
	if !ok {
		return nil, fmt.Errorf("unexpected answer %T to %s", result, method)
	}
	return response, nil
}

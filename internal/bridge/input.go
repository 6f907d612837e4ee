// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

// maxRounds bounds how often a modern server may ask before it answers. It is
// the bound that the SDK's own client has.
const maxRounds = 10

var errTooManyRounds = errors.New("the server asked for input too often")

// converse sends a legacy client's request to a modern server. Such a server
// does not ask the client but answers what it needs to know; the bridge asks
// the client and sends the request again with what it said.
// The last answer is in x.
func (b *Bridge) converse(ctx context.Context, q *query, l *link, x *exchange, params mcp.Params) error {
	for range maxRounds {
		result, err := l.callModern(ctx, q.method, params)
		if err != nil {
			return err
		}
		requests, state, asks := needed(result)
		if !asks {
			return nil
		}
		x.answered(nil)
		responses, err := q.session.gather(ctx, x, requests)
		if err != nil {
			return err
		}
		respond(params, responses, state)
	}
	return errTooManyRounds
}

// callModern sends a request that a legacy client made. For a tool the SDK adds
// the headers that repeat arguments, which the client did not send.
func (l *link) callModern(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
	p, ok := params.(*mcp.CallToolParamsRaw)
	if !ok {
		return l.call(ctx, method, params)
	}
	call := &mcp.CallToolParams{
		Meta:           p.Meta,
		Name:           p.Name,
		InputResponses: p.InputResponses,
		RequestState:   p.RequestState,
	}
	if len(p.Arguments) > 0 {
		call.Arguments = p.Arguments
	}
	result, err := l.session.CallTool(ctx, call)
	return result, l.guard(err)
}

// needed returns what a server wants to know before it answers.
func needed(result mcp.Result) (requests mcp.InputRequestMap, state string, asks bool) {
	switch r := result.(type) {
	case *mcp.CallToolResult:
		return r.InputRequests, r.RequestState, r.NeedsInput()
	case *mcp.GetPromptResult:
		return r.InputRequests, r.RequestState, r.NeedsInput()
	case *mcp.ReadResourceResult:
		return r.InputRequests, r.RequestState, r.NeedsInput()
	}
	return nil, "", false
}

// respond puts the client's answers into the request.
func respond(params mcp.Params, responses mcp.InputResponseMap, state string) {
	switch p := params.(type) {
	case *mcp.CallToolParamsRaw:
		p.InputResponses, p.RequestState = responses, state
	case *mcp.GetPromptParams:
		p.InputResponses, p.RequestState = responses, state
	case *mcp.ReadResourceParams:
		p.InputResponses, p.RequestState = responses, state
	}
}

// gather asks the client, everything at once as the server did.
func (s *session) gather(ctx context.Context, x *exchange, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	var mu sync.Mutex
	responses := make(mcp.InputResponseMap, len(requests))
	asked, cancel := follow(x.ctx, ctx)
	defer cancel()
	group, groupCtx := errgroup.WithContext(asked)
	for id, request := range requests {
		group.Go(func() error {
			response, err := s.ask(groupCtx, request)
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

// ask puts one question to the client.
func (s *session) ask(ctx context.Context, request mcp.InputRequest) (mcp.InputResponse, error) {
	var method string
	switch request.(type) {
	case *mcp.ElicitParams:
		method = methodElicit
	case *mcp.CreateMessageParams, *mcp.CreateMessageWithToolsParams:
		method = methodSample
	case *mcp.ListRootsParams:
		method = methodRoots
	}
	params, ok := request.(mcp.Params)
	if method == "" || !ok {
		return nil, fmt.Errorf("unknown input request %T", request)
	}
	result, err := s.tell(ctx, method, params)
	if err != nil {
		return nil, err
	}
	response, ok := result.(mcp.InputResponse)
	if !ok {
		return nil, fmt.Errorf("unexpected answer %T to %s", result, method)
	}
	return response, nil
}

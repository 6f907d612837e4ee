// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

// ssePath is where the transport of 2024-11-05, HTTP+SSE, is served.
const ssePath = "/sse"

// newHandler serves MCP, without sessions and over SSE, to who presents one of
// the tokens or one that the authority has given out.
func newHandler(hashes []apikey.Hash, a *authority) http.Handler {
	server := newServer()
	get := func(*http.Request) *mcp.Server { return server }
	mux := http.NewServeMux()
	mux.Handle(tokenPath, a)
	mux.HandleFunc(authorizePath, a.authorize)
	mux.Handle(ssePath, guard(hashes, a, mcp.NewSSEHandler(get, nil)))
	mux.Handle("/", guard(hashes, a, mcp.NewStreamableHTTPHandler(get,
		&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})))
	return mux
}

// guard answers 401 to who presents none of the tokens. The answer says
// nothing of what was presented.
func guard(hashes []apikey.Hash, a *authority, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := bearerToken(r.Header)
		if _, ok := apikey.Match(token, hashes); !ok && !a.knows(token) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="guarded-server"`)
			http.Error(w, "send the token as Authorization: Bearer <token>", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// bearerToken returns the token, or "" without a token or with several.
func bearerToken(h http.Header) string {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	token, ok := strings.CutPrefix(values[0], "Bearer ")
	if !ok {
		return ""
	}
	return token
}

// whoami is what the tool of that name answers. It has everything of the
// request's header that a test wants to see, and no value of it.
type whoami struct {
	// Token is the hash of the token that came with the call.
	Token string `json:"token"`
	// Headers are the hashes of the values of every header of the call, by
	// the header's name.
	Headers map[string][]string `json:"headers"`
	// Connections is how often a client has introduced itself with this token
	// since the server started: by initialize, or by server/discover.
	Connections int `json:"connections"`
}

type echoed struct {
	Text string `json:"text" jsonschema:"what to answer"`
}

// connections counts introductions by the hash of the token.
type connections struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *connections) add(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[token]++
}

func (c *connections) of(token string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[token]
}

func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "guarded-server", Version: "1"}, nil)
	seen := &connections{n: map[string]int{}}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "initialize" || method == "server/discover" {
				seen.add(tokenHash(r.GetExtra()))
			}
			return next(ctx, method, r)
		}
	})
	mcp.AddTool(s, &mcp.Tool{Name: "whoami", Description: "Says what came with the call: hashes of the token and of each header"},
		func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, whoami, error) {
			token := tokenHash(r.Extra)
			return nil, whoami{Token: token, Headers: headerHashes(r.Extra), Connections: seen.of(token)}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Answers the text that it is given"},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
	addWaiting(s)
	return s
}

func tokenHash(e *mcp.RequestExtra) string {
	if e == nil {
		return ""
	}
	return apikey.HashOf(bearerToken(e.Header)).String()
}

func headerHashes(e *mcp.RequestExtra) map[string][]string {
	hashes := map[string][]string{}
	if e == nil {
		return hashes
	}
	for name, values := range e.Header {
		for _, v := range values {
			hashes[name] = append(hashes[name], apikey.HashOf(v).String())
		}
	}
	return hashes
}

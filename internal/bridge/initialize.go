// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// handshake answers the first request of a client.
type handshake struct {
	log     *slog.Logger
	set     *serverSet
	clients *clientSet
}

// allCapabilities are the capabilities that a bridge declares before it knows its servers.
func allCapabilities() *mcp.ServerCapabilities {
	return &mcp.ServerCapabilities{
		Completions: &mcp.CompletionCapabilities{},
		Logging:     &mcp.LoggingCapabilities{},
		Prompts:     &mcp.PromptCapabilities{ListChanged: true},
		Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Tools:       &mcp.ToolCapabilities{ListChanged: true},
	}
}

// servedExtensions are the extensions that work through the bridge, because they have no methods
// of their own: MCP Apps uses resources and the metadata of tools.
var servedExtensions = []string{"io.modelcontextprotocol/ui"}

// initialize opens a legacy session. With one server, it also opens a session at the server, and
// the client sees the server's own answer.
func (h *handshake) initialize(ctx context.Context, next mcp.MethodHandler, q *message.Request, req mcp.Request) (mcp.Result, error) {
	ss, okSession := req.GetSession().(*mcp.ServerSession)
	params, okParams := req.GetParams().(*mcp.InitializeParams)
	if !okSession || !okParams || params == nil {
		return next(ctx, methods.Initialize, req)
	}
	if params.ProtocolVersion >= message.FirstModernVersion {
		params.ProtocolVersion = message.NewestLegacyVersion
	}
	result, err := next(ctx, methods.Initialize, req)
	if err != nil {
		return nil, err
	}
	s := h.clients.open(ss, h.clients.identify(params, q.Hops)) //nolint:contextcheck // The session outlives the request that began it.
	answer, ok := result.(*mcp.InitializeResult)
	if !ok {
		return result, nil
	}
	mark := h.set.keptMark()
	only := h.set.only()
	if only == nil {
		answer.Instructions = h.instructions()
		mayBeKept(ctx, mark)
		return answer, nil
	}
	l, err := s.connect(ctx, only)
	if err != nil {
		h.log.Info("a session begins without its server", "server", only.Config.Name, "error", fault.Describe(err))
		answer.Instructions = only.Availability.Notice()
		return answer, nil
	}
	answer.Capabilities = passedCapabilities(l.Capabilities())
	answer.Instructions = l.Instructions()
	if info := l.ServerInfo(); info != nil {
		answer.ServerInfo = info
	}
	mayBeKept(ctx, mark)
	return answer, nil
}

// discover answers a modern client's first request.
func (h *handshake) discover(ctx context.Context, next mcp.MethodHandler, req mcp.Request) (mcp.Result, error) {
	result, err := next(ctx, methods.Discover, req)
	if err != nil {
		return nil, err
	}
	answer, ok := result.(*mcp.DiscoverResult)
	if !ok {
		return result, nil
	}
	answer.CacheScope = "private"
	mark := h.set.keptMark()
	only := h.set.only()
	if only == nil {
		answer.Instructions = h.instructions()
		mayBeKept(ctx, mark)
		return answer, nil
	}
	l, err := only.Shared(ctx)
	if err != nil {
		h.log.Info("a client discovers the bridge without its server", "server", only.Config.Name, "error", fault.Describe(err))
		answer.Instructions = only.Availability.Notice()
		return answer, nil
	}
	answer.Capabilities = passedCapabilities(l.Capabilities())
	answer.Instructions = l.Instructions()
	if info := l.ServerInfo(); info != nil {
		meta := maps.Clone(answer.GetMeta())
		if meta == nil {
			meta = map[string]any{}
		}
		meta[message.MetaServerInfo] = info
		answer.SetMeta(meta)
	}
	mayBeKept(ctx, mark)
	return answer, nil
}

// passedCapabilities returns the capabilities of a server that also work through the bridge.
// Experimental ones, and those of versions that the bridge does not know, may have methods that
// the bridge does not forward.
func passedCapabilities(caps *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	passed := &mcp.ServerCapabilities{
		Completions: caps.Completions, Logging: caps.Logging, Prompts: caps.Prompts, Resources: caps.Resources, Tools: caps.Tools,
	}
	for _, name := range servedExtensions {
		if settings, ok := caps.Extensions[name].(map[string]any); ok {
			passed.AddExtension(name, settings)
		}
	}
	return passed
}

// instructions returns the instructions of all servers, or why they are not available.
func (h *handshake) instructions() string {
	return inSections(h.set.servers(), func(u *upstream.Server) string {
		return cmp.Or(u.Availability.Notice(), u.Lists.Instructions())
	})
}

// inSections returns what say says of servers, each under the server's name.
func inSections(servers []*upstream.Server, say func(u *upstream.Server) string) string {
	var parts []string
	for _, u := range servers {
		if text := say(u); text != "" {
			parts = append(parts, "# "+u.Config.Name+"\n\n"+text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// answer answers a client's first request.
func (h *handshake) answer(ctx context.Context, next mcp.MethodHandler, q *message.Request, req mcp.Request) (mcp.Result, error) {
	if err := h.set.checkLoop(ctx, h.set.only(), q.Hops); err != nil {
		return nil, err
	}
	if q.Method == methods.Discover {
		return h.discover(ctx, next, req)
	}
	return h.initialize(ctx, next, q, req)
}

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
	log *slog.Logger
	set *serverSet
}

// initialize opens a legacy session. With one server, it also opens a session at the server, and
// the client sees the server's own answer.
func (h *handshake) initialize(ctx context.Context, q *message.Request, rest rest) (mcp.Result, error) {
	result, err := rest(ctx)
	if err != nil {
		return nil, err
	}
	s, answer := sessionOf(q), (*mcp.InitializeResult)(nil)
	if answer, _ = result.(*mcp.InitializeResult); answer == nil || s == nil {
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
	answer.Capabilities = message.PassedCapabilities(l.Capabilities())
	answer.Instructions = l.Instructions()
	if info := l.ServerInfo(); info != nil {
		answer.ServerInfo = info
	}
	mayBeKept(ctx, mark)
	return answer, nil
}

// discover answers a modern client's first request.
func (h *handshake) discover(ctx context.Context, rest rest) (mcp.Result, error) {
	result, err := rest(ctx)
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
	answer.Capabilities = message.PassedCapabilities(l.Capabilities())
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
func (h *handshake) answer(ctx context.Context, q *message.Request, rest rest) (mcp.Result, error) {
	if err := h.set.checkLoop(ctx, h.set.only(), q.Hops); err != nil {
		return nil, err
	}
	if q.Method == methods.Discover {
		return h.discover(ctx, rest)
	}
	return h.initialize(ctx, q, rest)
}

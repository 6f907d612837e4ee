// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// statusTool is the tool of the bridge itself, which says what servers are out of service, and why.
// The instructions of the handshake say so too, but some clients give them to nobody, and none reads
// them again. It is listed while there is such a server. Mode Router has a tool that says it.
type statusTool struct {
	life *life
	set  *serverSet
	// changed rebuilds what clients are listed, and tells them.
	changed func()

	mu    sync.Mutex // held during a look at the servers, so that the last look counts
	down  []string   // the servers that are out of service
	again *time.Timer
}

// check looks which servers are out of service, and tells clients if these are not those of before.
func (s *statusTool) check() {
	if s.life.ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	down, wait := s.look()
	changed := !slices.Equal(s.down, down)
	s.down = down
	if s.again != nil {
		s.again.Stop()
	}
	if wait > 0 {
		s.again = time.AfterFunc(wait, s.check)
	}
	s.mu.Unlock()
	if changed && (s.enabled() || s.set.routerMode()) {
		s.changed()
	}
}

// look returns the servers that are out of service, and after how long one that starts will be, 0 for
// none.
func (s *statusTool) look() (down []string, wait time.Duration) {
	for _, u := range s.set.servers() {
		if u.Availability.Notice() != "" {
			down = append(down, u.Config.Name)
		} else if e := u.Starting(); e != nil {
			rest := max(u.Timing.Start-e.For, time.Millisecond)
			wait = min(cmp.Or(wait, rest), rest)
		}
	}
	return down, wait
}

// enabled reports whether clients may see the tool.
func (s *statusTool) enabled() bool {
	c := s.set.config()
	return c.StatusTool != bridgeconfig.StatusNever && c.Mode != bridgeconfig.Router && !s.set.transparent()
}

// listed returns the tool as clients see it, nil while they do not see it.
func (s *statusTool) listed(name string) json.RawMessage {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if len(down) == 0 || !s.enabled() {
		return nil
	}
	raw, err := json.Marshal(map[string]any{
		"name": name, "title": "Servers that are out of service",
		"description": "These MCP servers of the user are out of service now: " + strings.Join(down, ", ") +
			". Their tools are missing or fail. Call this tool to read why, and what the user can do.",
		"inputSchema": json.RawMessage(`{"type":"object","properties":{}}`),
		"annotations": map[string]any{"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false},
	})
	if err != nil {
		panic(err) // only texts and constants come here
	}
	return raw
}

// handles reports whether the request is a call of the tool, which has this name. It is answered also
// when the tool is no longer listed: the client may have its list of before.
func (s *statusTool) handles(q *message.Request, name string) bool {
	p, ok := q.Params.(*mcp.CallToolParamsRaw)
	return ok && q.Method == methods.CallTool && p.Name == name && s.enabled()
}

// call answers a call of the tool in the words of the handshake.
func (s *statusTool) call(q *message.Request) mcp.Result {
	notice := func(u *upstream.Server) string { return u.Availability.Notice() }
	return q.ReplyText(cmp.Or(inSections(s.set.servers(), notice), "No server is out of service."))
}

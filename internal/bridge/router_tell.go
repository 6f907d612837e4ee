// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
)

const (
	// shortDescription is the length in characters to which a list shortens a
	// tool's description.
	shortDescription = 80
	// serverDescription and maxDescription bound what the one tool says of a
	// server and in all, in bytes: models pay for it with every request.
	serverDescription = 160
	maxDescription    = 4000
	// namedTools is how many tools stand for a server without a description.
	namedTools = 5
)

// metaSchema is the input schema of the one tool.
const metaSchema = `{"type":"object","properties":{` +
	`"action":{"type":"string","enum":["call","list","schema","batch","intent","refresh","status"],"default":"call","description":"What to do."},` +
	`"server":{"type":"string","description":"The server's name. A call needs it only where several servers have the tool."},` +
	`"tool":{"type":"string","description":"The tool's name, as list shows it."},` +
	`"params":{"type":"object","description":"The tool's arguments. For intent: {\"intent\": \"what you want to do\"}."},` +
	`"calls":{"type":"array","maxItems":10,"description":"The calls of a batch.","items":{"type":"object","properties":{` +
	`"server":{"type":"string"},"tool":{"type":"string"},"params":{"type":"object"}},"required":["tool"]}}}}`

const metaPurpose = "Calls the tools of the user's MCP servers. Actions: " +
	"call (the default: tool, params; server where several have the tool), " +
	"list (server: its tools), schema (server, tool: a tool in full), batch (calls: up to 10 at once), " +
	"intent (params.intent: finds the tools that fit), refresh (server: reads the lists again), status (the servers)."

// metaTool returns the one tool that clients see, which names the servers.
func metaTool(upstreams []*upstream, tools []entry) json.RawMessage {
	text := metaPurpose
	if len(upstreams) > 0 {
		text += "\n\nServers:"
	}
	for i, u := range upstreams {
		line := "\n- " + describeServer(u, tools)
		if len(text)+len(line) > maxDescription {
			text += fmt.Sprintf("\n- and %d more, see action status", len(upstreams)-i)
			break
		}
		text += line
	}
	raw, err := json.Marshal(map[string]any{
		"name": metaToolName, "title": "MCP servers", "description": text,
		"inputSchema": json.RawMessage(metaSchema),
		// What a call does depends on the tool, so the most is said.
		"annotations": map[string]any{
			"title": "MCP servers", "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true,
		},
	})
	if err != nil {
		panic(err) // only texts and constants come here
	}
	return raw
}

// describeServer returns a line on a server: what its user says of it, else
// some of its tools.
func describeServer(u *upstream, tools []entry) string {
	count := 0
	var names []string
	for _, e := range tools {
		if e.upstream != u || e.hidden {
			continue
		}
		count++
		if count <= namedTools {
			names = append(names, e.original)
		}
	}
	about := u.server.Description
	if about == "" && count > 0 {
		about = strings.Join(names, ", ")
		if count > namedTools {
			about += " and more"
		}
	}
	line := u.server.Name
	if count > 0 {
		line += fmt.Sprintf(" (%d tools)", count)
	}
	if about != "" {
		line += ": " + about
	}
	return shorten(line, serverDescription)
}

// listedTool is a tool in a list.
type listedTool struct {
	Name           string   `json:"name"`
	Description    string   `json:"description"`
	RequiredParams []string `json:"requiredParams"`
}

// listTools answers with the tools of a server, in short.
func (b *Bridge) listTools(ctx context.Context, q *query, server string) (mcp.Result, error) {
	if upstreams := b.servers(); server == "" && len(upstreams) == 1 {
		server = upstreams[0].server.Name
	}
	u, refused := b.serverNamed(server)
	if refused != nil {
		return q.reply(refused, true)
	}
	if len(b.toolNames(u)) == 0 {
		reached, refused, err := b.reached(ctx, server)
		if err != nil {
			return nil, err
		}
		if refused != nil {
			return q.reply(refused, true)
		}
		u = reached
	}
	tools := []listedTool{}
	for _, e := range b.currentCatalog().lists[methodListTools] {
		if e.upstream != u || e.hidden {
			continue
		}
		s := shapeOf(e.raw)
		required := append([]string{}, s.InputSchema.Required...)
		tools = append(tools, listedTool{e.original, shorten(s.Description, shortDescription), required})
	}
	return q.reply(map[string]any{"server": server, "action": actionList, "tools": tools}, false)
}

// describeTool answers with all that a server says of a tool.
func (b *Bridge) describeTool(ctx context.Context, q *query, server, tool string) (mcp.Result, error) {
	if tool == "" {
		return q.reply(refuse(refusedParams, nil, noTool), true)
	}
	e, refused, err := b.resolve(ctx, callWish{Server: server, Tool: tool})
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return q.reply(refused, true)
	}
	answer := map[string]json.RawMessage{}
	if err := json.Unmarshal(e.raw, &answer); err != nil {
		return nil, fmt.Errorf("read tool: %w", err)
	}
	delete(answer, "name")
	answer["server"] = json.RawMessage(quote(e.server))
	answer["action"] = json.RawMessage(quote(actionSchema))
	answer["tool"] = json.RawMessage(quote(e.original))
	return q.reply(answer, false)
}

// serverStatus is what the tool says of a server.
type serverStatus struct {
	Name      string     `json:"name"`
	Transport string     `json:"transport"`
	Status    string     `json:"status"` // connected, idle or disconnected
	Tools     int        `json:"tools"`
	LastUsed  *time.Time `json:"lastUsed,omitempty"`
	Error     string     `json:"error,omitempty"`
	// ConnectURL is where the user logs in, of a server that waits for that.
	ConnectURL string `json:"connectURL,omitempty"`
}

// tellStatus answers with what is known of the servers. It asks none of them.
func (b *Bridge) tellStatus(q *query) (mcp.Result, error) {
	report := b.Health()
	servers := []serverStatus{}
	for _, u := range b.servers() {
		h := report.Servers[u.server.Name]
		servers = append(servers, serverStatus{
			Name: u.server.Name, Transport: string(u.server.Kind()), Status: u.state(h.Status),
			Tools: h.Tools, LastUsed: h.LastUsed, Error: h.Error, ConnectURL: h.ConnectURL,
		})
	}
	return q.reply(map[string]any{"action": actionStatus, "mode": "router", "servers": servers}, false)
}

// state says in one word whether there is a connection, or would be one if it
// were needed.
func (u *upstream) state(s health.Status) string {
	switch {
	case u.peek().alive():
		return "connected"
	case s == health.Healthy:
		return "idle"
	}
	return "disconnected"
}

// refreshed is what the tool says of a server whose lists were read again.
type refreshed struct {
	Server string   `json:"server"`
	Tools  int      `json:"tools"`
	Error  *refusal `json:"error,omitempty"`
}

// refreshServers reads the lists of one server again, or of all, and forgets the
// results that are kept of them.
func (b *Bridge) refreshServers(ctx context.Context, q *query, server string) (mcp.Result, error) {
	upstreams := b.servers()
	if server != "" {
		u, refused := b.serverNamed(server)
		if refused != nil {
			return q.reply(refused, true)
		}
		upstreams = []*upstream{u}
	}
	answers := make([]refreshed, len(upstreams))
	var reading sync.WaitGroup
	for i, u := range upstreams {
		reading.Go(func() {
			answers[i] = refreshed{Server: u.server.Name}
			b.policies.forget(u)
			if err := u.relist(ctx); err != nil {
				answers[i].Error = failureOf(rpcError(err, u.server.Name))
			}
			answers[i].Tools = len(b.toolNames(u))
		})
	}
	reading.Wait()
	failed := len(answers) > 0
	for _, a := range answers {
		failed = failed && a.Error != nil
	}
	return q.reply(map[string]any{"action": actionRefresh, "servers": answers}, failed)
}

// relist reads the server's lists again.
func (u *upstream) relist(ctx context.Context) error {
	l, err := u.joined(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, u.timing.timeout)
	defer cancel()
	if err := u.list(ctx, l); err != nil {
		return err
	}
	return u.drift()
}

// forget drops the results that are kept of u.
func (p *policies) forget(u *upstream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.of[u]; ok {
		p.cache.Drop(s.prefix)
	}
}

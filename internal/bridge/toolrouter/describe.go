// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package toolrouter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/serverlists"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

const (
	// shortDescription is the maximum length in characters of a tool's description in a list.
	shortDescription = 80
	// serverDescription limits the description of a server within the router's tool, in bytes.
	serverDescription = 160
	// MaxDescription limits the description of the router's tool, in bytes: models pay for it with
	// every request.
	MaxDescription = 4000
	// namedTools is the number of tools that describe a server without a description.
	namedTools = 5
)

// metaSchema is the input schema of the router's tool.
const metaSchema = `{"type":"object","properties":{` +
	`"action":{"type":"string","enum":["call","list","schema","intent","refresh","status"],"default":"call","description":"What to do."},` +
	`"server":{"type":"string","description":"The server's name. A call needs it only where several servers have the tool."},` +
	`"tool":{"type":"string","description":"The tool's name, as list shows it."},` +
	`"params":{"type":"object","description":"The tool's arguments. For intent: {\"intent\": \"what you want to do\"}."}}}`

const metaPurpose = "Calls the tools of the user's MCP servers. Actions: " +
	"call (the default: tool, params; server where several have the tool), " +
	"list (server: its tools), schema (server, tool: a tool in full), " +
	"intent (params.intent: finds the tools that fit), refresh (server: reads the lists again), status (the servers)."

// Tool returns the router's tool, whose description names the servers.
func Tool(upstreams []*upstream.Server, tools []serverlists.Entry) json.RawMessage {
	text := metaPurpose
	if len(upstreams) > 0 {
		text += "\n\nServers:"
	}
	for i, u := range upstreams {
		line := "\n- " + describeServer(u, tools)
		if len(text)+len(line) > MaxDescription {
			text += fmt.Sprintf("\n- and %d more, see action status", len(upstreams)-i)
			break
		}
		text += line
	}
	raw, err := json.Marshal(map[string]any{
		"name": ToolName, "title": "MCP servers", "description": text,
		"inputSchema": json.RawMessage(metaSchema),
		// The effect of a call depends on the called tool, so the annotations state the worst
		// case.
		"annotations": map[string]any{
			"title": "MCP servers", "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true,
		},
	})
	if err != nil {
		panic(err) // only texts and constants come here
	}
	return raw
}

// describeServer returns one line about a server: the user's description, or the names of some of
// its tools.
func describeServer(u *upstream.Server, tools []serverlists.Entry) string {
	count := 0
	var names []string
	for _, e := range tools {
		if e.Server != u || e.Hidden {
			continue
		}
		count++
		if count <= namedTools {
			names = append(names, e.Original)
		}
	}
	about := u.Config.Description
	if about == "" && count > 0 {
		about = strings.Join(names, ", ")
		if count > namedTools {
			about += " and more"
		}
	}
	line := u.Config.Name
	if count > 0 {
		line += fmt.Sprintf(" (%d tools)", count)
	}
	if u.Availability.Notice() != "" {
		line += ", out of service (status says why)"
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

// listTools returns a short list of a server's tools.
func (r *Router) listTools(ctx context.Context, q *message.Request, server string) (mcp.Result, error) {
	if upstreams := r.host.Servers(); server == "" && len(upstreams) == 1 {
		server = upstreams[0].Config.Name
	}
	u, refused := r.serverNamed(server)
	if refused != nil {
		return q.Reply(refused, true)
	}
	if len(r.toolNames(u)) == 0 {
		if err := r.awaitStart(ctx, server); err != nil {
			return nil, err
		}
		reached, refused, err := r.awaitServer(ctx, server)
		if err != nil {
			return nil, err
		}
		if refused != nil {
			return q.Reply(refused, true)
		}
		u = reached
	}
	tools := []listedTool{}
	for _, e := range r.host.Catalog().Lists[methods.ListTools] {
		if e.Server != u || e.Hidden {
			continue
		}
		s := serverlists.ShapeOf(e.Raw)
		required := append([]string{}, s.InputSchema.Required...)
		tools = append(tools, listedTool{e.Original, shorten(s.Description, shortDescription), required})
	}
	return q.Reply(map[string]any{"server": server, "action": ActionList, "tools": tools}, false)
}

// describeTool returns the full description of a tool.
func (r *Router) describeTool(ctx context.Context, q *message.Request, server, tool string) (mcp.Result, error) {
	if tool == "" {
		return q.Reply(refuse(refusedParams, nil, noTool), true)
	}
	e, refused, err := r.resolve(ctx, call{Server: server, Tool: tool})
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return q.Reply(refused, true)
	}
	answer := map[string]json.RawMessage{}
	if err := json.Unmarshal(e.Raw, &answer); err != nil {
		return nil, fmt.Errorf("read tool: %w", err)
	}
	delete(answer, "name")
	answer["server"] = json.RawMessage(message.Quote(e.ServerName))
	answer["action"] = json.RawMessage(message.Quote(ActionSchema))
	answer["tool"] = json.RawMessage(message.Quote(e.Original))
	return q.Reply(answer, false)
}

// serverStatus is the status of a server in the tool's answer.
type serverStatus struct {
	Name      string     `json:"name"`
	Transport string     `json:"transport"`
	Status    string     `json:"status"` // connected, idle, starting or disconnected
	Tools     int        `json:"tools"`
	LastUsed  *time.Time `json:"lastUsed,omitempty"`
	Error     string     `json:"error,omitempty"`
	// ConnectURL is the login page of a server that waits for a login.
	ConnectURL string `json:"connectURL,omitempty"`
}

// tellStatus returns the last known status of the servers. It sends them no request.
func (r *Router) tellStatus(q *message.Request) (mcp.Result, error) {
	report := r.host.Health()
	servers := []serverStatus{}
	for _, u := range r.host.Servers() {
		h := report.Servers[u.Config.Name]
		servers = append(servers, serverStatus{
			Name: u.Config.Name, Transport: string(u.Config.Kind()), Status: u.State(h.Status),
			Tools: h.Tools, LastUsed: h.LastUsed, Error: h.Error, ConnectURL: h.ConnectURL,
		})
	}
	return q.Reply(map[string]any{"action": actionStatus, "mode": "router", "servers": servers}, false)
}

// refreshed is the outcome of reading a server's lists again.
type refreshed struct {
	Server string   `json:"server"`
	Tools  int      `json:"tools"`
	Error  *refusal `json:"error,omitempty"`
}

// refreshServers reads the lists of one server or of all servers again, and drops their cached
// results.
func (r *Router) refreshServers(ctx context.Context, q *message.Request, server string) (mcp.Result, error) {
	upstreams := r.host.Servers()
	if server != "" {
		u, refused := r.serverNamed(server)
		if refused != nil {
			return q.Reply(refused, true)
		}
		upstreams = []*upstream.Server{u}
	}
	answers := make([]refreshed, len(upstreams))
	var reading sync.WaitGroup
	for i, u := range upstreams {
		reading.Go(func() {
			answers[i] = refreshed{Server: u.Config.Name}
			r.host.Forget(u)
			err := r.awaitStart(ctx, u.Config.Name)
			if err == nil {
				err = fault.ToRPC(u.Lists.ReadAgain(ctx), u.Config.Name)
			}
			if err != nil {
				answers[i].Error = failureOf(err)
			}
			answers[i].Tools = len(r.toolNames(u))
		})
	}
	reading.Wait()
	failed := len(answers) > 0
	for _, a := range answers {
		failed = failed && a.Error != nil
	}
	return q.Reply(map[string]any{"action": ActionRefresh, "servers": answers}, failed)
}

// failureOf converts a JSON-RPC error to a refusal, for answers that combine several servers.
func failureOf(err error) *refusal {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) {
		return refuse(failedMCP, nil, "the call was given up")
	}
	r := refuse(failedMCP, nil, "%s", rpc.Message)
	r.Code = rpc.Code
	var data struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(rpc.Data, &data) == nil && data.Code == "upstream_unavailable" {
		r.Kind = failedConnection
	}
	return r
}

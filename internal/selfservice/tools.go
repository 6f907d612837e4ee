// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
)

// Tools are the tools of a bridge.
type Tools struct {
	Bridge Bridge `json:"bridge"`
	// Mode is how clients see the tools: Direct lists each, and Router lists one tool
	// that finds and calls them.
	Mode v1alpha1.Mode `json:"mode"`
	// Known says whether Tools are the bridge's present list. They are not known while
	// the bridge does not run: Servers then has how many tools each server had.
	Known bool   `json:"known"`
	Tools []Tool `json:"tools"`
	// Missing are the tools that clients do not see, and the servers without tools.
	Missing []MissingTool `json:"missing"`
	// Servers are how many tools each server has.
	Servers []ServerTools `json:"servers"`
	// Next is the cursor of the next page, empty if this is the last one.
	Next string `json:"next,omitempty"`
}

// The number of tools on a page.
const (
	DefaultTools = 100
	MaxTools     = 200
)

// ToolQuery selects tools.
type ToolQuery struct {
	// Search is a text in the name, title or description, in any case.
	Search string
	// Server is the server whose tools are wanted, empty for those of all.
	Server string
	// Cursor is Tools.Next of the page before, empty for the first page.
	Cursor string
	// Limit is how many tools a page has at most, from 1 to MaxTools; 0 means DefaultTools.
	Limit int
}

// Page returns the page of a bridge's list, or an error that says what of the query is
// wrong.
func (q ToolQuery) Page() (health.ToolPage, error) {
	p := health.ToolPage{Limit: cmp.Or(q.Limit, DefaultTools)}
	if q.Cursor != "" {
		first, err := strconv.ParseUint(q.Cursor, 10, 16)
		if err != nil {
			return p, errors.New("cursor: it must be next of the page before")
		}
		p.First = int(first)
	}
	if p.Limit < 1 || p.Limit > MaxTools {
		return p, fmt.Errorf("limit: it must be a number from 1 to %d", MaxTools)
	}
	text := strings.ToLower(strings.TrimSpace(q.Search))
	p.Keep = func(t health.Tool) bool {
		return !t.Hidden && (q.Server == "" || q.Server == t.Server) && strings.Contains(strings.ToLower(t.Name+" "+t.Tool+" "+t.Title+" "+t.Description), text)
	}
	return p, nil
}

// Tool is a tool that clients can use.
type Tool struct {
	// Name is the name by which clients call the tool, and Tool the server's own.
	Name        string `json:"name"`
	Server      string `json:"server"`
	Tool        string `json:"tool"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

// MissingTool is a tool that clients do not see, or all tools of a server.
type MissingTool struct {
	Server string `json:"server"`
	// Tool is the server's own name of the tool, empty for all tools of the server.
	Tool    string `json:"tool,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Fix     *Fix   `json:"fix,omitempty"`
}

// ServerTools is how many tools a server has.
type ServerTools struct {
	Server string `json:"server"`
	Tools  int    `json:"tools"`
}

// The reasons of a single tool.
const (
	// ReasonDeniedByChoice: the user's choice denies the tool.
	ReasonDeniedByChoice = "denied_by_choice"
	// ReasonDenied: the profile, the HostedBridge or the recipe does not allow the tool.
	ReasonDenied = "denied"
)

// ToolsOf returns a page of the tools of a bridge. list is what the bridge itself says, nil
// if it does not run or did not answer. The first page has the servers that do not work.
func ToolsOf(v View, list *health.ToolList, first bool) Tools {
	servers := ServersOf(v)
	out := Tools{
		Bridge: servers.Bridge, Mode: servers.Bridge.Mode, Known: list != nil,
		Tools: []Tool{}, Missing: []MissingTool{}, Servers: []ServerTools{},
	}
	for _, s := range servers.Servers {
		if s.Has() {
			out.Servers = append(out.Servers, ServerTools{s.Name, s.Tools})
		}
		if first && !s.Works() && s.State != health.Healthy {
			out.Missing = append(out.Missing, MissingTool{
				Server: s.Name, Reason: cmp.Or(s.Reason, string(s.State)), Message: cmp.Or(s.Message, "The server does not work."), Fix: s.Fix,
			})
		}
	}
	if list == nil {
		return out
	}
	for _, t := range list.Tools {
		out.addTool(servers, t)
	}
	if list.Next > 0 {
		out.Next = strconv.Itoa(list.Next)
	}
	return out
}

// addTool adds a tool of the bridge's list.
func (o *Tools) addTool(servers Servers, t health.Tool) {
	s, known := servers.Find(t.Server)
	switch {
	case !known || t.Hidden:
		// The whole server is missing, and stands in the list already.
	case t.Denied:
		o.Missing = append(o.Missing, deniedTool(s, t))
	default:
		o.Tools = append(o.Tools, Tool{Name: t.Name, Server: t.Server, Tool: t.Tool, Title: t.Title, Description: t.Description})
	}
}

func deniedTool(s Server, t health.Tool) MissingTool {
	m := MissingTool{Server: s.Name, Tool: t.Tool, Reason: ReasonDenied, Message: "The configuration of the server does not allow this tool.",
		Fix: &Fix{Code: FixAskAdmin, Text: "Ask an administrator to allow the tool."}}
	if s.Choice != nil && slices.Contains(s.Choice.Deny, t.Tool) {
		m.Reason, m.Message = ReasonDeniedByChoice, "Your choice about the server denies this tool."
		m.Fix = &Fix{Code: FixTurnOn, Text: "Take the tool off the denied tools of the server."}
	}
	return m
}

// ToolNames are the servers' own names of the tools that apps see, by server, or would see if the
// user's own choice did not deny them. It lacks servers that are out of service, whose tools are
// not known to be gone.
type ToolNames map[string][]string

// ToolNamesOf reads the list of a bridge, by calling list with what it has to be called with for
// each tool.
func ToolNamesOf(b *v1alpha1.HostedBridge, list func(each func(health.Tool)) error) (ToolNames, error) {
	names, hidden := ToolNames{}, map[string]bool{}
	err := list(func(t health.Tool) {
		hidden[t.Server] = hidden[t.Server] || t.Hidden
		if c := ChoiceOf(b, t.Server); !t.Denied || c != nil && slices.Contains(c.Deny, t.Tool) {
			names[t.Server] = append(names[t.Server], t.Tool)
		}
	})
	for server := range hidden {
		if hidden[server] {
			delete(names, server)
		}
	}
	return names, err
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"net/http"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge/serverlists"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// serveTools answers GET /tools, by which the ingress tells users which tools they have and
// why others are missing. It asks no server.
func (d *directory) serveTools(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(jsondoc.EncodeExact(d.tools()))
}

// tools returns the tools of all servers: those that clients see, those that the
// configuration denies, and those of servers that are out of service.
func (d *directory) tools() health.ToolList {
	c := d.currentCatalog()
	l := health.ToolList{Tools: []health.Tool{}}
	add := func(u *upstream.Server, t health.Tool, raw json.RawMessage) {
		if len(l.Tools) == health.MaxTools {
			l.More = true
			return
		}
		shape, redact := serverlists.ShapeOf(raw), u.Granted().Redactor.Redact
		t.Server, t.Title, t.Description = u.Config.Name, redact(shape.Title), redact(shape.Description)
		l.Tools = append(l.Tools, t.Bounded())
	}
	for _, e := range c.Lists[methods.ListTools] {
		add(e.Server, health.Tool{Name: e.Key, Tool: e.Original, Hidden: e.Hidden}, e.Raw)
	}
	for _, u := range d.set.servers() {
		for _, it := range u.Lists.Items(methods.ListTools) {
			if !u.Config.Tools.Allows(it.Key) {
				add(u, health.Tool{Tool: it.Key, Denied: true, Hidden: it.Hidden}, it.Raw)
			}
		}
	}
	return l
}

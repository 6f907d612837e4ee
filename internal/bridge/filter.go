// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// filtered reports whether there may be tools at the server that the user wants
// nobody to have.
func (u *upstream) filtered() bool {
	return len(u.server.Tools.Allow)+len(u.server.Tools.Deny) > 0 || u.audited()
}

// offered returns what the server last listed, without the tools that are taken
// away. The slice must not be changed.
func (u *upstream) offered(method string) []item {
	items := u.items(method)
	if method != methodListTools || !u.filtered() {
		return items
	}
	kept := make([]item, 0, len(items))
	for _, it := range items {
		if u.server.Tools.Allows(it.key) {
			kept = append(kept, it)
		}
	}
	return kept
}

// offers reports whether a tool that a transparent bridge is asked for is one
// that the server lists and that is not taken away. A list that the bridge read
// before the server changed it is read once more.
//
// That the server lists it matters too: it would answer a call of a tool that it
// does not have in words of its own, by which a tool that is taken away could be
// told from one that does not exist.
func (u *upstream) offers(ctx context.Context, tool string) bool {
	if !u.filtered() {
		return true
	}
	if !u.server.Tools.Allows(tool) {
		return false
	}
	if u.has(tool) {
		return true
	}
	if err := u.relist(ctx); err != nil {
		return true // The call finds out the same and says so.
	}
	return u.has(tool)
}

func (u *upstream) has(tool string) bool {
	_, ok := u.find(methodListTools, tool)
	return ok
}

// offer forwards a request and takes out of a page of tools those that are not
// offered. A page may become empty; the cursor of the next one stays.
func (b *Bridge) offer(ctx context.Context, q *query, u *upstream) (mcp.Result, error) {
	result, err := b.forward(ctx, q, u)
	page, ok := result.(*rawResult)
	if err != nil || !ok || q.method != methodListTools || !u.filtered() {
		return result, err
	}
	return u.withoutTools(page)
}

// withoutTools returns the page without the tools that are taken away. The page
// itself stays as it is, since it may be kept for others.
func (u *upstream) withoutTools(page *rawResult) (mcp.Result, error) {
	items, err := itemsOf(methodListTools, page)
	if err != nil {
		return nil, rpcError(err, u.server.Name)
	}
	raws := []json.RawMessage{}
	for _, it := range items {
		if u.server.Tools.Allows(it.key) {
			raws = append(raws, it.raw)
		}
	}
	kept := page.clone()
	kept.set(listOf[methodListTools].field, raws)
	return kept, nil
}

// clone returns a result that can be changed apart from r.
func (r *rawResult) clone() *rawResult {
	return &rawResult{ResultBase: r.ResultBase, fields: maps.Clone(r.fields)}
}

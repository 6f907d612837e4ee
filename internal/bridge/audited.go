// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// A server whose configuration names the fingerprint of its audited tools is out
// of service while it shows others. Nothing is called on a connection on which
// the tools were not compared since it was made, or since the server last said
// on any connection that they changed; and clients are shown the list that was
// compared, not another one that they would ask for.

// audited reports whether the server may have no other tools than those that
// were audited.
func (u *upstream) audited() bool { return u.server.ToolsHash != "" }

// judge returns in what the tools differ from those that were audited, empty for
// nothing. They are all that the server lists, whatever is taken away of them.
func (u *upstream) judge(tools []item) string {
	if !u.audited() {
		return ""
	}
	raws := make([][]byte, len(tools))
	for i, it := range tools {
		raws[i] = it.raw
	}
	seen, err := recipe.ToolsHash(raws)
	switch {
	case err != nil:
		return "its tools are not those that were audited: they cannot be compared"
	case seen != u.server.ToolsHash:
		return fmt.Sprintf("its tools are not those that were audited: %s expected, %s seen", u.server.ToolsHash, seen)
	}
	return ""
}

// drift returns the error of a server that has other tools than were audited.
func (u *upstream) drift() error {
	if !u.audited() {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.drifted == "" {
		return nil
	}
	return &unavailableError{server: u.server.Name, reason: u.drifted}
}

// accept takes over what the server lists, or takes the server out of service
// where the tools are not those that were audited. It returns the notifications
// of what that changes. The caller holds u.mu.
func (u *upstream) accept(l *link, lists map[string][]item, drifted string) (notes []string) {
	was := u.drifted
	u.drifted = drifted
	if drifted != "" {
		notes = u.withdraw(drifted)
		u.health.Reason = health.ReasonToolsChanged
		return notes
	}
	before := u.lists
	u.lists = lists
	u.introduction = l.session.InitializeResult().Instructions
	if was != "" {
		u.health = u.health.After(health.Probe{
			At: time.Now(), Tools: len(lists[methodListTools]), Latency: time.Duration(u.health.LatencyMS) * time.Millisecond,
		})
	}
	return changes(before, lists)
}

// vet has the tools compared that the server shows on this connection, unless
// they were since it last said that they changed.
func (l *link) vet(ctx context.Context) error {
	u := l.upstream
	if !u.audited() || l.vetted.Load() == u.changes.Load() {
		return nil
	}
	l.vetting.Lock()
	defer l.vetting.Unlock()
	state := u.changes.Load()
	if l.vetted.Load() == state {
		return nil
	}
	ctx, end := follow(l.grant.rest, ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, u.timing.timeout)
	defer cancel()
	if l == u.peek() {
		if err := u.list(ctx, l); err != nil {
			return err
		}
		return u.drift()
	}
	return l.compare(ctx, state)
}

// compare compares the tools on a connection that is a client's own. That they
// differ there says nothing of the others, which are asked to make sure.
func (l *link) compare(ctx context.Context, state uint64) error {
	u := l.upstream
	var tools []item
	if l.capabilities().Tools != nil {
		listed, err := listAll(ctx, l, methodListTools)
		if err != nil {
			if lost(err) {
				l.retire()
			}
			return fmt.Errorf("%s: %w", methodListTools, err)
		}
		tools = listed
	}
	if drifted := u.judge(tools); drifted != "" {
		u.reread()
		return &unavailableError{server: u.server.Name, reason: drifted}
	}
	l.vetted.Store(state)
	return nil
}

// clears reports an error where the request must not go out on the connection.
// A server may have tools that it does not list: nobody audited those.
func (l *link) clears(ctx context.Context, q *query) error {
	if err := l.vet(ctx); err != nil {
		return err
	}
	if p, ok := q.params.(*mcp.CallToolParamsRaw); ok && l.upstream.audited() && !l.upstream.has(p.Name) {
		return invalidParams("unknown %s", subject(q))
	}
	return nil
}

// noteChange has all connections compared anew of a server that says that its
// tools changed.
func (l *link) noteChange(method string) {
	if method == noteToolsChanged {
		l.upstream.changes.Add(1)
	}
}

// relays reports whether the one server of a transparent bridge answers a list
// request itself.
func (b *Bridge) relays(method string) bool {
	u := b.only()
	return u != nil && !(method == methodListTools && u.audited())
}

// compared waits until the tools of a transparent bridge's audited server are
// those of the catalog.
func (b *Bridge) compared(ctx context.Context, q *query) error {
	u := b.only()
	if u == nil || !u.audited() {
		return nil
	}
	if err := b.probe(ctx, u, q.hops); err != nil {
		return err
	}
	l, err := u.shared(ctx)
	if err == nil {
		err = l.vet(ctx)
	}
	return rpcError(err, u.server.Name)
}

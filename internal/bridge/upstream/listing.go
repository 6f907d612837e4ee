// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Item is one entry of a server's list.
type Item struct {
	Key        string // the name or URI
	Raw        json.RawMessage
	Hidden     bool // whether its server is out of service
	FromBridge bool // whether its server is a bridge
}

// RepeatHeaders returns the headers that repeat arguments of a tool, which only clients of 2026-07-28 over
// HTTP send. Servers of 2026-07-28 require them.
func (o *Lists) RepeatHeaders(q *message.Request) http.Header {
	p, ok := q.Params.(*mcp.CallToolParamsRaw)
	if q.Era == message.Modern && q.Header != nil || !ok {
		return message.ParamHeaders(q.Header)
	}
	found := http.Header{}
	if tool, ok := o.Find(methods.ListTools, p.Name); ok {
		for name, value := range message.HeadersOfCall(tool.Raw, p.Arguments) {
			found.Set(name, value)
		}
	}
	return found
}

// Filtered reports whether the user's configuration may hide tools of the server.
func (o *Lists) Filtered() bool {
	return len(o.server.Config.Tools.Allow)+len(o.server.Config.Tools.Deny) > 0 || o.server.Audited()
}

// Offered returns the last list of the server, without hidden tools. The slice must not be
// changed.
func (o *Lists) Offered(method string) []Item {
	items := o.Items(method)
	if method != methods.ListTools || !o.Filtered() {
		return items
	}
	kept := make([]Item, 0, len(items))
	for _, it := range items {
		if o.server.Config.Tools.Allows(it.Key) {
			kept = append(kept, it)
		}
	}
	return kept
}

// Offers reports whether a tool of a transparent bridge is in the server's list and not hidden. If
// the list may be out of date, it is read once more.
//
// A tool outside of the list is refused, too: the server's own error for an unknown tool would
// otherwise show the difference between a hidden tool and one that does not exist.
func (o *Lists) Offers(ctx context.Context, tool string) bool {
	if !o.Filtered() {
		return true
	}
	if !o.server.Config.Tools.Allows(tool) {
		return false
	}
	if o.has(tool) {
		return true
	}
	if err := o.ReadAgain(ctx); err != nil {
		return true // The call fails in the same way and returns the error.
	}
	return o.has(tool)
}

func (o *Lists) has(tool string) bool {
	_, ok := o.Find(methods.ListTools, tool)
	return ok
}

// withdraw takes u out of service and returns the resulting change notifications. The caller holds
// u.mu. The entries of the server keep their names, so that no name comes to mean another server's
// tool, but they are hidden.
func (o *Lists) withdraw(reason string) (notes []string) {
	o.server.Availability.health = o.server.Availability.health.OutOfService(time.Now(), reason)
	before := o.Lists
	o.Lists = make(map[string][]Item, len(before))
	for method, items := range before {
		for _, it := range items {
			it.Hidden = true
			o.Lists[method] = append(o.Lists[method], it)
		}
	}
	return changes(before, o.Lists)
}

// Instructions returns the server's instructions, also while it is idle, but not while it is out
// of service.
func (o *Lists) Instructions() string {
	o.server.mu.Lock()
	defer o.server.mu.Unlock()
	if !o.server.grant.Usable() || o.server.Availability.mismatch != "" {
		return ""
	}
	return o.introduction
}

// ReadAgain reads the server's lists again.
func (o *Lists) ReadAgain(ctx context.Context) error {
	l, err := o.server.joined(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.server.Timing.Timeout)
	defer cancel()
	if err := o.list(ctx, l); err != nil {
		return err
	}
	return o.server.Availability.ToolsMismatch()
}

// Lists holds the lists of a server.
type Lists struct {
	server *Server

	Lists map[string][]Item // by list method
	// until is how long each list of Lists is good according to the server, zero if it does not say.
	until map[string]time.Time
	// introduction holds the server's instructions from the last connection.
	introduction string
	// changes is one more than the number of the server's notifications of changed tools.
	changes atomic.Uint64
}

// itemsOf returns the entries of a list result.
func itemsOf(method string, result *message.Result) ([]Item, error) {
	shape := methods.Of(method).List
	var raws []json.RawMessage
	if raw, ok := result.Fields[shape.Field]; ok {
		if err := json.Unmarshal(raw, &raws); err != nil {
			return nil, fmt.Errorf("parse %s: %w", shape.Field, err)
		}
	}
	if len(raws) > MaxListed {
		return nil, listTooLarge(method)
	}
	items := make([]Item, 0, len(raws))
	for _, raw := range raws {
		var fields map[string]json.RawMessage
		var key string
		if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields[shape.Key], &key) != nil || key == "" {
			continue // an entry without a name cannot be requested
		}
		items = append(items, Item{Key: key, Raw: raw})
	}
	return items, nil
}

// sameItems reports whether two lists are equal for clients.
func sameItems(a, b []Item) bool {
	return slices.EqualFunc(a, b, func(x, y Item) bool {
		return x.Key == y.Key && x.Hidden == y.Hidden && string(x.Raw) == string(y.Raw)
	})
}

// list reads every list of the server.
func (o *Lists) list(ctx context.Context, l *Conn) error {
	caps := l.Capabilities()
	offered := map[string]bool{
		methods.ListTools:     caps.Tools != nil,
		methods.ListPrompts:   caps.Prompts != nil,
		methods.ListResources: caps.Resources != nil,
		methods.ListTemplates: caps.Resources != nil,
	}
	state := o.changes.Load()
	lists, until := make(map[string][]Item, len(offered)), map[string]time.Time{}
	for method, ok := range offered {
		if !ok {
			continue
		}
		items, good, err := listAll(ctx, l, method)
		if err != nil && (method != methods.ListTemplates || !fault.IsMethodNotFound(err)) {
			return fmt.Errorf("%s: %w", method, err)
		}
		lists[method], until[method] = items, good
	}
	drifted := o.compareTools(lists[methods.ListTools])
	o.server.mu.Lock()
	if l.grant != o.server.grant {
		o.server.mu.Unlock()
		return fault.ErrStale
	}
	was := o.server.Availability.mismatch
	o.until = until
	notes := o.accept(l, lists, drifted)
	o.server.mu.Unlock()
	switch {
	case drifted == "":
		l.Tools.verified.Store(state)
		if was != "" {
			o.server.Log.Info("server is back in service: its tools are those that were audited")
		}
	case drifted != was:
		o.server.Log.Warn("server is out of service", "error", drifted)
	}
	for _, note := range notes {
		o.server.Changed(o.server, note)
	}
	return nil
}

// changes returns the notifications for the differences between two states of the lists.
func changes(before, after map[string][]Item) (notes []string) {
	for _, note := range methods.Changes {
		if slices.ContainsFunc(methods.Of(note).Outdates, func(list string) bool { return !sameItems(before[list], after[list]) }) {
			notes = append(notes, note)
		}
	}
	return notes
}

// maxPages limits the pages of a list, so that a server with endless pages cannot block the
// bridge.
const maxPages = 100

// The limits of one list of a server. The numbers are a choice: 100,000 tools of 5.5 MB made the
// answers of a bridge take seconds. A bridge keeps the lists of all its servers in memory, and each client's
// list of tools is made of them.
const (
	MaxListed      = 5000
	MaxListedBytes = 4 << 20
)

// listTooLarge says that a list exceeds its limits.
func listTooLarge(method string) error {
	what := methods.Of(method).List.Field
	return &fault.TooMuch{Text: fmt.Sprintf("the server lists too much: at most %d %s of %d MiB in total are accepted",
		MaxListed, what, MaxListedBytes>>20)}
}

// listEndless says that a list has no end.
func listEndless(method string) error {
	return &fault.TooMuch{Text: fmt.Sprintf("the server's list of %s has no end: its cursor repeats", methods.Of(method).List.Field)}
}

// listAll reads a list of the server. until is how long it is good, zero if the server does not say.
func listAll(ctx context.Context, l *Conn, method string) (items []Item, until time.Time, err error) {
	cursor, size, cursors := "", 0, map[string]bool{}
	for range maxPages {
		p := &mcp.ListToolsParams{Cursor: cursor} // all four have the same wire format
		result, err := l.query(ctx, method, p)
		if err != nil {
			return nil, until, err
		}
		if l.Era == message.Modern { // SDKs write 0 in versions that do not have it.
			until = result.GoodUntil(time.Now(), until)
		}
		page, err := itemsOf(method, result)
		if err != nil {
			return nil, until, err
		}
		items = append(items, page...)
		for _, it := range page {
			size += len(it.Raw)
		}
		if len(items) > MaxListed || size > MaxListedBytes {
			return nil, until, listTooLarge(method)
		}
		if cursor = result.NextCursor(); cursor == "" {
			break
		}
		if cursors[cursor] {
			return nil, until, listEndless(method)
		}
		cursors[cursor] = true
	}
	for i := range items {
		items[i].FromBridge = l.isBridge()
	}
	return items, until, nil
}

// KeepFor returns for how long clients may keep what the bridge has of the server's list: what is left
// of the time that the server gives, at most the time for which they may keep one of which it says
// nothing.
func (o *Lists) KeepFor(method string) time.Duration {
	most := o.watched()
	o.server.mu.Lock()
	defer o.server.mu.Unlock()
	if until := o.until[method]; !until.IsZero() {
		return min(most, max(0, time.Until(until)))
	}
	return most
}

// watched returns for how long clients may keep a list of which the server says nothing: no time
// while the bridge would not learn of a change, because it is not connected or the server fails.
func (o *Lists) watched() time.Duration {
	o.server.mu.Lock()
	defer o.server.mu.Unlock()
	if h := o.server.Availability.health; !o.server.Connector.link.Alive() || h.Status != health.Healthy || h.Failures > 0 {
		return 0
	}
	return o.server.Timing.Keep
}

// Items returns the last list of the server. The slice must not be changed.
func (o *Lists) Items(method string) []Item {
	o.server.mu.Lock()
	defer o.server.mu.Unlock()
	return o.Lists[method]
}

// Find returns the item with that name or URI.
func (o *Lists) Find(method, key string) (Item, bool) {
	items := o.Items(method)
	i := slices.IndexFunc(items, func(it Item) bool { return it.Key == key })
	if i < 0 {
		return Item{}, false
	}
	return items[i], true
}

func (o *Lists) count(method string) int { return len(o.Items(method)) }

// compareTools returns how the tools differ from the audited tools, or an empty string. It
// compares all tools of the server, including hidden ones.
func (o *Lists) compareTools(tools []Item) string {
	if !o.server.Audited() {
		return ""
	}
	raws := make([][]byte, len(tools))
	for i, it := range tools {
		raws[i] = it.Raw
	}
	seen, err := bridgeconfig.ToolsHash(raws)
	switch {
	case err != nil:
		return "its tools are not those that were audited: they cannot be compared"
	case seen != o.server.Config.ToolsHash:
		return fmt.Sprintf("its tools are not those that were audited: %s expected, %s seen", o.server.Config.ToolsHash, seen)
	}
	return ""
}

// accept stores new lists of the server, or takes the server out of service if the tools differ
// from the audited ones. It returns the resulting change notifications. The caller holds u.mu.
func (o *Lists) accept(l *Conn, lists map[string][]Item, drifted string) (notes []string) {
	was := o.server.Availability.mismatch
	o.server.Availability.mismatch = drifted
	if drifted != "" {
		notes = o.withdraw(drifted)
		o.server.Availability.health.Reason = health.ReasonToolsChanged
		return notes
	}
	before := o.Lists
	o.Lists = lists
	o.introduction = l.session.Instructions
	if was != "" {
		o.server.Availability.health = o.server.Availability.health.After(health.Probe{
			At: time.Now(), Tools: len(lists[methods.ListTools]),
			Latency: time.Duration(o.server.Availability.health.LatencyMS) * time.Millisecond,
		})
	}
	return changes(before, lists)
}

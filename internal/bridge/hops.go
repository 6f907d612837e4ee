// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
)

const (
	// headerHops lists the bridges that a request has passed, the first one
	// first.
	headerHops = "Hosted-Bridge-Hops"
	// metaHops is the key of the same list in a request's metadata where there
	// are no headers, and in that of an entry of a list where it is the way that
	// the entry came.
	metaHops = "hostedbridge.dev/hops"
	// maxHops is how many bridges may stand behind each other. Two are of use, a
	// laptop's before a hosted one; more than a few are a mistake.
	maxHops = 5
)

// wellFormedHops is a list of at least one bridge.
var wellFormedHops = regexp.MustCompile(`^[0-9a-f]{16}(,[0-9a-f]{16})*$`)

// hopID returns what stands for this bridge in a list of hops.
func (b *Bridge) hopID() string { return token.BridgeID(b.config.BridgeUID) }

// hopsFrom returns the hops of the client's connection, for a transport whose
// requests have no headers.
func hopsFrom(ctx context.Context) string { return carrierOf(ctx).hops }

// hopsOf returns the bridges that a request has passed, as a header says it.
func hopsOf(ctx context.Context, header http.Header, meta map[string]any) string {
	if hops := strings.Join(header.Values(headerHops), ","); hops != "" {
		return strings.ReplaceAll(hops, " ", "")
	}
	if hops, ok := meta[metaHops].(string); ok && hops != "" {
		return hops
	}
	return hopsFrom(ctx)
}

// checkHops refuses a request that has been here before, or that passed as many
// bridges as there may be. Both are refused before anything else happens, so
// that a loop costs one request for each bridge in it.
func (b *Bridge) checkHops(hops string) error {
	if hops == "" {
		return nil
	}
	if !wellFormedHops.MatchString(hops) {
		return hopsError("bridge_hops_invalid", "the list of bridges that the request has passed is malformed")
	}
	passed := strings.Split(hops, ",")
	if slices.Contains(passed, b.hopID()) {
		return hopsError("bridge_loop", "the request has passed this bridge before: its servers form a loop")
	}
	if len(passed) >= maxHops {
		return hopsError("too_many_bridges", fmt.Sprintf("the request has passed %d bridges, and no more than %d may stand behind each other", len(passed), maxHops))
	}
	return nil
}

func hopsError(code, message string) error {
	data, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		panic(err) // strings always encode
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: message, Data: data}
}

// refusedHops returns what err says if it is such a refusal, of this bridge or
// of one behind it, else nothing.
func refusedHops(err error) string {
	var rpc *jsonrpc.Error
	var data struct {
		Code string `json:"code"`
	}
	if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidRequest || json.Unmarshal(rpc.Data, &data) != nil {
		return ""
	}
	switch data.Code {
	case "bridge_loop", "too_many_bridges", "bridge_hops_invalid":
		return rpc.Message
	}
	return ""
}

// probe finds out whether a bridge that asks for u would be asked itself. While
// u is not connected, both would wait for each other and nobody would learn why.
func (b *Bridge) probe(ctx context.Context, u *upstream, hops string) error {
	if hops == "" || u == nil || u.shares() || u.peek().alive() {
		return nil
	}
	ctx, cancel := follow(b.ctx, ctx)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, u.timing.wait/2)
	defer cancelTimeout()
	l, err := dial(ctx, u, u.granted(), identity{info: implementation, hops: hops}, &panel{})
	if err == nil {
		l.close()
		return nil
	}
	if refusedHops(err) != "" {
		return rpcError(err, u.server.Name)
	}
	return nil // Whoever waits for the server hears what is wrong with it.
}

// traced makes the result of a list one for the client. A bridge learns which
// bridges each entry came through, and gets none that came through itself or
// through those before it: without that, two bridges that serve each other
// would list each other's lists for ever. Other clients learn nothing of it.
func (b *Bridge) traced(method, hops string, result mcp.Result) mcp.Result {
	list, ok := result.(*rawResult)
	if !ok || hops != "" && b.relays(method) {
		return result // Its one server was asked with the hops, and this bridge among them.
	}
	field := listOf[method].field
	var entries []json.RawMessage
	noted := bytes.Contains(list.fields[field], []byte(metaHops))
	if hops == "" && !noted || json.Unmarshal(list.fields[field], &entries) != nil {
		return result
	}
	passed := strings.Split(hops, ",")
	kept := make([]json.RawMessage, 0, len(entries))
	for _, entry := range entries {
		way := wayOf(entry)
		switch {
		case hops == "":
			kept = append(kept, withWay(entry, nil))
		case len(way) < maxHops && !slices.ContainsFunc(way, func(id string) bool { return slices.Contains(passed, id) }):
			kept = append(kept, withWay(entry, append(way, b.hopID())))
		}
	}
	list.set(field, kept)
	return list
}

// wayOf returns the bridges that an entry of a list came through.
func wayOf(entry json.RawMessage) []string {
	var e struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var way string
	if !bytes.Contains(entry, []byte(metaHops)) || json.Unmarshal(entry, &e) != nil ||
		json.Unmarshal(e.Meta[metaHops], &way) != nil || !wellFormedHops.MatchString(way) {
		return nil
	}
	return strings.Split(way, ",")
}

// withWay returns the entry with the bridges that it came through, none for no
// note of them.
func withWay(entry json.RawMessage, way []string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(entry, &fields) != nil || fields == nil {
		return entry
	}
	meta := map[string]json.RawMessage{}
	if raw, ok := fields["_meta"]; ok && json.Unmarshal(raw, &meta) != nil {
		return entry
	}
	delete(meta, metaHops)
	if len(way) > 0 {
		meta[metaHops] = json.RawMessage(quote(strings.Join(way, ",")))
	}
	delete(fields, "_meta")
	if len(meta) > 0 {
		raw, err := json.Marshal(meta)
		if err != nil {
			return entry
		}
		fields["_meta"] = raw
	}
	noted, err := json.Marshal(fields)
	if err != nil {
		return entry
	}
	return noted
}

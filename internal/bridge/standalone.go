// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/session"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stateless"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// standAlone serves the requests of the modern era over HTTP.
type standAlone struct {
	bridge  *Bridge
	handler *stateless.Handler
}

func newStandAlone(b *Bridge) *standAlone {
	s := &standAlone{bridge: b}
	s.handler = &stateless.Handler{Answer: s.answer, CheckArguments: b.directory.checkArguments, Implementation: message.Implementation}
	return s
}

// ServeHTTP implements http.Handler.
func (s *standAlone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	version := r.Header.Get(message.HeaderVersion)
	if supported := mcp.SupportedProtocolVersions(); version != "" && version < message.FirstModernVersion && !slices.Contains(supported, version) {
		http.Error(w, "Bad Request: Unsupported protocol version (supported versions: "+strings.Join(supported, ",")+")", http.StatusBadRequest)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	body, ok := session.ReadPost(w, r)
	if !ok {
		return
	}
	if len(r.Header.Values(session.HeaderLastEventID)) > 0 {
		http.Error(w, "can't send Last-Event-ID for POST request", http.StatusBadRequest)
		return
	}
	if !s.bridge.life.admit() {
		http.Error(w, session.ErrShuttingDown.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.bridge.life.leave()
	r.Body = http.NoBody // It would keep the message in memory for as long as the call takes.
	s.handler.Serve(w, r, body)
}

// answer answers a request that stands alone.
func (s *standAlone) answer(ctx context.Context, q *message.Request) (mcp.Result, error) {
	q.Record, q.Hops = q.Header.Get(callaudit.HeaderRecord), session.HopsOf(ctx, q.Header, q.Meta)
	delete(q.Meta, message.MetaHops)
	send := q.Send
	q.Send = s.bridge.clients.observed(send)
	return s.bridge.serve(ctx, q, func(ctx context.Context) (mcp.Result, error) { return s.answerItself(ctx, q, send) })
}

// answerItself answers modern requests that go to no server.
func (s *standAlone) answerItself(ctx context.Context, q *message.Request, send message.Send) (mcp.Result, error) {
	switch params := q.Params.(type) {
	case *mcp.DiscoverParams:
		result := &mcp.DiscoverResult{SupportedVersions: mcp.SupportedProtocolVersions(), Capabilities: message.AllCapabilities()}
		result.ResultType = "complete"
		return result, nil
	case *mcp.SubscriptionsListenParams:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.bridge.life.ctx, cancel)() //nolint:contextcheck // The stream ends with the bridge too.
		client := stateless.Listening{ID: q.ID, Send: send, Kept: q.Header.Get(bridgeconfig.HeaderLists) != ""}
		return s.bridge.clients.listeners.Listen(ctx, params, client)
	}
	return nil, fault.MethodNotFound(q.Method)
}

// checkArguments compares the headers of a call that repeat arguments with the arguments, because
// the server may not do so. In mode Router no such tool is called by name.
func (d *directory) checkArguments(tool string, arguments json.RawMessage, header http.Header) error {
	c := d.currentCatalog()
	if c.RouterTool != nil {
		return nil
	}
	for _, e := range c.Lists[methods.ListTools] {
		if e.Key != tool {
			continue
		}
		return message.CompareParamHeaders(e.Raw, arguments, header)
	}
	return nil
}

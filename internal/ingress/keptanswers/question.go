// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keptanswers

import (
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"

	// firstModern is the first version of the protocol without sessions. Versions are dates, so
	// they compare as strings.
	firstModern = "2026-07-28"
	// sessionAge is for how long bridges restore a session, from its beginning.
	sessionAge = 30 * 24 * time.Hour
	// form is part of every view: answers that another version has kept are not found by this one.
	form = "1"
)

// Question is a request whose answer may be kept.
type Question struct {
	// id is nil for the notification that a client begins a session.
	id     jsontext.Value
	method string
	// own names the answers that are for this client, and shared those that are for all, empty if
	// there are none.
	own, shared string
}

// ask is a message as its sender wrote it.
type ask struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Meta         map[string]jsontext.Value `json:"_meta"`
		Version      string                    `json:"protocolVersion"`
		Client       jsontext.Value            `json:"clientInfo"`
		Capabilities jsontext.Value            `json:"capabilities"`
		Rest         jsontext.Value            `json:",embed"`
	} `json:"params"`
}

// The members of _meta that are part of what an answer depends on.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// knownMeta are the members of _meta with which the answer is the same as without them, or is named
// by them.
var knownMeta = []string{
	metaVersion, metaClient, metaCapabilities,
	"io.modelcontextprotocol/logLevel", "progressToken", "traceparent", "tracestate", "baggage",
}

// QuestionOf returns the question that a POST is, nil for all others. messages are the requests in
// its body.
func QuestionOf(header http.Header, body []byte, messages []jsonrpc.Request, now time.Time) *Question {
	if !mayAsk(header, messages) || len(header[bridgeclient.HopsHeader]) > 0 || !acceptsBoth(header) {
		return nil
	}
	var a ask
	if json.Unmarshal(body, &a) != nil {
		return nil
	}
	if len(messages) == 0 {
		return begunSession(a, header.Get(headerSession), now)
	}
	if len(a.Params.Rest) > 0 || jsonrpc.ID(body) == nil || !knows(a.Params.Meta) {
		return nil
	}
	q := &Question{id: a.ID, method: a.Method}
	if !q.name(&a, header, now) {
		return nil
	}
	return q
}

// mayAsk tells from the methods whether a body may be a question: most are not, and are not read
// again.
func mayAsk(header http.Header, messages []jsonrpc.Request) bool {
	if len(messages) == 0 {
		return token.IsSibling(header.Get(headerSession))
	}
	return len(messages) == 1 && isKept(messages[0].Method)
}

func isKept(method string) bool {
	return methods.Of(method).Introduces || methods.Of(method).IsList()
}

// acceptsBoth reports whether a bridge would not refuse the request for its Accept header.
func acceptsBoth(header http.Header) bool {
	accept := strings.Join(header.Values("Accept"), ",")
	return strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream")
}

func knows(meta map[string]jsontext.Value) bool {
	for name := range meta {
		if !slices.Contains(knownMeta, name) {
			return false
		}
	}
	return true
}

// begunSession is the notification of a client whose session was begun by a kept answer. The bridge
// restores such a session as one that has begun, so nobody else needs it.
func begunSession(a ask, session string, now time.Time) *Question {
	if a.Method != methods.Initialized || len(a.ID) > 0 || !lives(session, now) {
		return nil
	}
	return &Question{method: a.Method}
}

// lives reports whether a session is not too old to be restored.
func lives(session string, now time.Time) bool {
	s, err := token.Claims(session)
	return err == nil && now.Sub(s.Issued) < sessionAge
}

// name names the answers to the question. It returns false for a request that a bridge would
// refuse, or answer by more than what is part of the names.
func (q *Question) name(a *ask, header http.Header, now time.Time) bool {
	p := &a.Params
	switch {
	case a.Method == methods.Initialize:
		return q.nameFirst(a, header)
	case len(p.Version)+len(p.Client)+len(p.Capabilities) > 0:
		return false
	case header.Get(headerVersion) >= firstModern:
		return q.nameModern(a, header)
	}
	return q.nameOfSession(a, header, now)
}

// nameFirst names the answer to initialize, which is one client's in any case.
func (q *Question) nameFirst(a *ask, header http.Header) bool {
	p := &a.Params
	if header.Get(headerSession) != "" || header.Get(headerVersion) >= firstModern {
		return false
	}
	q.own = view(a.Method, p.Version, string(p.Client), string(p.Capabilities))
	return p.Version != "" && len(p.Client) > 0 && len(p.Capabilities) > 0
}

// nameModern names the answers to a request that says itself who its client is.
func (q *Question) nameModern(a *ask, header http.Header) bool {
	meta, version := a.Params.Meta, header.Get(headerVersion)
	var named string
	_ = json.Unmarshal(meta[metaVersion], &named) // Another type is no version.
	q.shared = view(a.Method, version)
	q.own = view(a.Method, version, string(meta[metaClient]), string(meta[metaCapabilities]))
	return named == version && header.Get(headerMethod) == a.Method
}

// nameOfSession names the answers to a request whose session says who its client is.
func (q *Question) nameOfSession(a *ask, header http.Header, now time.Time) bool {
	s, err := token.Claims(header.Get(headerSession))
	if err != nil || now.Sub(s.Issued) >= sessionAge || a.Method == methods.Discover || len(a.Params.Meta[metaVersion]) > 0 {
		return false
	}
	q.shared = view(a.Method, s.Version)
	q.own = view(a.Method, s.Version, string(s.Client), string(s.Capabilities))
	version := header.Get(headerVersion)
	return version == "" || version == s.Version
}

// view names one answer of a bridge.
func view(method string, parts ...string) string {
	all := [][]byte{[]byte(form), []byte(method)}
	for _, part := range parts {
		all = append(all, []byte(part))
	}
	digest := token.Digest(all...)
	return method + " " + hex.EncodeToString(digest[:16])
}

// NeedsNoBridge reports whether the answer is the same whether or not the bridge runs.
func (q *Question) NeedsNoBridge() bool { return q.method == methods.Initialized }

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

const (
	// FirstModernVersion is the first protocol version without sessions.
	// Versions are dates, so they compare as strings.
	FirstModernVersion = "2026-07-28"

	// BatchVersion is the only protocol version with batches.
	BatchVersion = "2025-03-26"

	// HeaderVersion names the protocol version of a request.
	HeaderVersion = "Mcp-Protocol-Version"
	// HeaderSessionID names the session of a request of the legacy era.
	HeaderSessionID = "Mcp-Session-Id"
	// HeaderMethod repeats the method of a request.
	HeaderMethod = "Mcp-Method"
	// HeaderName repeats the name or URI in a request.
	HeaderName = "Mcp-Name"

	// MaxBody is the size in bytes above which a request's body is refused with 413. It is the
	// largest limit of any tier; the ingress enforces the limit of the user's own tier. It is
	// defined here because detecting the era must not read further than its handler does.
	MaxBody = 16 << 20
)

// Era says which of the two protocols a request uses.
type Era int

const (
	// Legacy is every version before 2026-07-28.
	Legacy Era = iota
	// Modern is 2026-07-28 and later.
	Modern
	// Sessionless is a legacy request without the session id that it needs.
	Sessionless
)

// DetectEra decides which handler serves a request. A version header that names a modern version
// decides. A POST without a session may come from a modern client without that header; then its
// body decides, and can be read again afterwards. Everything else is legacy.
func DetectEra(r *http.Request) (Era, json.RawMessage, error) {
	if r.Header.Get(HeaderVersion) >= FirstModernVersion {
		return Modern, nil, nil
	}
	if r.Method != http.MethodPost || r.Header.Get(HeaderSessionID) != "" || r.Body == nil {
		return Legacy, nil, nil
	}
	body, err := rpc.ReadAll(io.LimitReader(r.Body, MaxBody+1), r.ContentLength)
	if err != nil {
		return Legacy, nil, err
	}
	r.Body = replayed{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	e, id := eraOfBody(body)
	return e, id, nil
}

// replayed is a body that was partly read and put back.
type replayed struct {
	io.Reader
	io.Closer
}

// eraOfBody detects the era of one JSON-RPC message and returns its id. Other bodies are legacy:
// the legacy handler returns the right error.
func eraOfBody(body []byte) (Era, json.RawMessage) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	// Params of an unexpected shape only leave Meta empty, so a type error does not matter here.
	if err := json.Unmarshal(body, &m); err != nil && m.Method == "" {
		return Legacy, nil
	}
	// An unknown newer version is modern too: only the modern handler returns the right error.
	var version string
	if json.Unmarshal(m.Params.Meta[MetaProtocolVersion], &version) == nil && version >= FirstModernVersion {
		return Modern, m.ID
	}
	switch method := methods.Of(m.Method); {
	case m.Method == "":
		return Legacy, m.ID
	case !method.Opening || method.Notification || method.IsList():
		return Sessionless, m.ID
	case method.In == methods.Modern:
		return Modern, m.ID
	}
	return Legacy, m.ID
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

const (
	// firstModernVersion is the first protocol version without sessions.
	// Versions are dates, so they compare as strings.
	firstModernVersion = "2026-07-28"

	headerVersion   = "Mcp-Protocol-Version"
	headerSessionID = "Mcp-Session-Id"
	headerMethod    = "Mcp-Method"

	// maxBody is the size in bytes above which a request's body is refused with
	// 413: the most that a tier may allow, of which the ingress lets no more
	// through than the user's does. It is stated here because the look into the
	// body must not read further than the SDK would.
	maxBody = 16 << 20
)

// era tells which of the two protocols a request speaks.
type era int

const (
	// legacy is every version before 2026-07-28.
	legacy era = iota
	// modern is 2026-07-28 and later.
	modern
	// stray is a legacy request that names no session though it must.
	stray
)

// detectEra decides how a request is served. The version header decides where
// it names a modern version. A POST without a session may be a modern client's
// that sends no header, which its body tells; the body can be read again
// afterwards. Everything else is legacy.
func detectEra(r *http.Request) (era, json.RawMessage, error) {
	if r.Header.Get(headerVersion) >= firstModernVersion {
		return modern, nil, nil
	}
	if r.Method != http.MethodPost || r.Header.Get(headerSessionID) != "" || r.Body == nil {
		return legacy, nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return legacy, nil, err
	}
	r.Body = replayed{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	e, id := eraOfBody(body)
	return e, id, nil
}

// replayed is a body of which a part was read and put back.
type replayed struct {
	io.Reader
	io.Closer
}

// eraOfBody decides by one JSON-RPC message and returns its id. What is not one
// message is left to the legacy handler, which says what is wrong with it.
func eraOfBody(body []byte) (era, json.RawMessage) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	// Params of an unexpected shape leave Meta empty and say nothing about the
	// rest, so the error of a mismatch does not matter here.
	if err := json.Unmarshal(body, &m); err != nil && m.Method == "" {
		return legacy, nil
	}
	// A version that nobody speaks yet is modern too: the answer to it is an
	// error that only the modern handler gives.
	var version string
	if json.Unmarshal(m.Params.Meta[metaProtocolVersion], &version) == nil && version >= firstModernVersion {
		return modern, m.ID
	}
	switch m.Method {
	case methodDiscover, methodListen:
		return modern, m.ID
	case methodInitialize, methodPing, "":
		return legacy, m.ID
	}
	return stray, m.ID
}

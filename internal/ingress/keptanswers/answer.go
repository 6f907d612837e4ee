// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keptanswers

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// maxResult bounds what is read of an answer, in bytes.
const maxResult = 2 << 20

// answer is what is kept.
type answer struct {
	// Session is the id that the bridge gave, for the answer to initialize.
	Session string         `json:"session,omitzero"`
	Result  jsontext.Value `json:"result"`
}

// errNotKept says that an answer is not one that is kept: an error, a page of several, or none.
var errNotKept = errors.New("the answer is not one to be kept")

// parseAnswer returns what is kept of a bridge's answer: that of its last message.
func parseAnswer(raw []byte, events bool) (answer, error) {
	message := raw
	if events {
		message = lastEvent(raw)
	}
	var m struct {
		Result jsontext.Value `json:"result"`
	}
	var page struct {
		Next jsontext.Value `json:"nextCursor"`
	}
	if json.Unmarshal(message, &m) != nil || m.Result.Kind() != '{' || json.Unmarshal(m.Result, &page) != nil || page.Next != nil {
		return answer{}, errNotKept
	}
	result, err := stale(m.Result)
	return answer{Result: result}, err
}

// stale returns a result that says of itself that clients may keep it for no time: it was made some
// time ago, and the bridge may have another one in a moment.
func stale(result jsontext.Value) (jsontext.Value, error) {
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(result, &fields); err != nil {
		return nil, err
	}
	if fields["ttlMs"] == nil {
		return result, nil
	}
	fields["ttlMs"] = jsontext.Value("0")
	return json.Marshal(fields, json.Deterministic(true))
}

// lastEvent returns the data of the last event, which a bridge writes in one line.
func lastEvent(raw []byte) (data []byte) {
	for line := range bytes.Lines(raw) {
		if found, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = bytes.TrimSpace(found)
		}
	}
	return data
}

// pack returns an answer in few bytes.
func (a answer) pack() ([]byte, error) {
	encoded, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(encoded)
	}
	if err == nil {
		err = w.Close()
	}
	return packed.Bytes(), err
}

func unpack(packed []byte) (a answer, err error) {
	encoded, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), 2*maxResult))
	if err == nil {
		err = json.Unmarshal(encoded, &a)
	}
	return a, err
}

// response returns the answer to a question. It returns nil for a session that would not live for
// long.
func (a answer) response(q *Question, now time.Time) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}}
	if q.method == methods.Initialize {
		s, err := token.Claims(a.Session)
		if err != nil || now.Sub(s.Issued) > sessionAge/2 {
			return nil
		}
		header.Set(headerSession, token.Sibling(a.Session, rand.Text()))
	}
	var body bytes.Buffer
	body.WriteString(`{"jsonrpc":"2.0","id":`)
	body.Write(q.id)
	body.WriteString(`,"result":`)
	body.Write(a.Result)
	body.WriteString("}")
	return responseOf(http.StatusOK, header, body.Bytes())
}

func responseOf(status int, header http.Header, body []byte) *http.Response {
	header.Set("Content-Length", strconv.Itoa(len(body)))
	return &http.Response{StatusCode: status, Header: header, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
}

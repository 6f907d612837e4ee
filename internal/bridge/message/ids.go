// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// The SDK reads an id as a text or as a float64, of which it makes an integer: it rounds large
// numbers, drops fractions, and writes texts in its own way. The other side would wait for ever for
// the answer to its own id. So an id that the SDK would change is hidden in a text that it keeps,
// and shown again when the SDK's message is written.

// hidingPlace begins the texts in which ids are hidden. Nobody can guess it, so no message contains
// it by itself.
var hidingPlace = "id-" + rand.Text() + "-"

// hidden says that an id was hidden once: until then no written message has to be searched.
var hidden atomic.Bool

// KeepIDs returns a message, or a batch of messages, whose request ids the SDK does not change. The
// ids of answers stay: they are those of the SDK itself.
func KeepIDs(text []byte) []byte {
	each, ok := rpc.Batch(text)
	if !ok {
		return keepID(text)
	}
	changed := false
	for i, one := range each {
		each[i] = keepID(one)
		changed = changed || !bytes.Equal(each[i], one)
	}
	if !changed {
		return text
	}
	return jsondoc.EncodeExact(each)
}

// keepID is KeepIDs for one message. It reads no further than it has to.
func keepID(text []byte) []byte {
	r := jsonscan.Open(text)
	defer r.Close()
	var id, method, params json.RawMessage
	for name := range r.Members() {
		switch string(name) {
		case "id":
			id = r.Raw()
		case "method":
			method = r.Raw()
		case "params":
			params = r.Raw()
		case "result", "error":
			return text
		}
		if id != nil && method != nil {
			break
		}
	}
	switch {
	case method == nil:
		return text
	case id != nil:
		return hideIn(text, "id", id)
	case jsonscan.Text(method) == methods.Cancelled:
		return keepCancelled(text, params)
	}
	return text
}

// keepCancelled is KeepIDs for a notification that a request is cancelled.
func keepCancelled(text, params []byte) []byte {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil || len(p.ID) == 0 {
		return text
	}
	if merged := hideIn(params, "requestId", p.ID); !bytes.Equal(merged, params) {
		return with(text, "params", json.RawMessage(merged))
	}
	return text
}

// hideIn hides the id in a member of an object, if the SDK would change it.
func hideIn(object []byte, member string, id json.RawMessage) []byte {
	if keptBySDK(id) {
		return object
	}
	hidden.Store(true)
	return with(object, member, hidingPlace+base64.RawURLEncoding.EncodeToString(id))
}

// with is WithField for an object that may be invalid, which then stays.
func with(object []byte, member string, v any) []byte {
	changed, err := WithField(object, member, v)
	if err != nil {
		return object
	}
	return changed
}

// maxExact is the largest integer up to which a float64 has all integers.
const maxExact = 1 << 53

// keptBySDK reports whether the SDK writes an id as it was sent. What is neither a text nor a number
// is left to the SDK.
func keptBySDK(id json.RawMessage) bool {
	switch {
	case id[0] == '"':
		return !bytes.ContainsAny(id, "\\\u2028\u2029") && utf8.Valid(id)
	case id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -maxExact <= n && n <= maxExact && strconv.FormatInt(n, 10) == string(id)
}

// ShowIDs returns a message of the SDK with the ids that KeepIDs has hidden.
func ShowIDs(text []byte) []byte {
	if !hidden.Load() {
		return text
	}
	before := []byte(`"` + hidingPlace)
	var shown []byte
	rest := text
	for {
		start := bytes.Index(rest, before)
		if start < 0 {
			break
		}
		tail := rest[start+len(before):]
		end := bytes.IndexByte(tail, '"')
		id, ok := shownID(string(rest[start+1 : start+len(before)+max(end, 0)]))
		if !ok {
			break
		}
		shown = append(append(shown, rest[:start]...), id...)
		rest = tail[end+1:]
	}
	if shown == nil {
		return text
	}
	return append(shown, rest...)
}

// shownID returns the id that is hidden in a text.
func shownID(text string) (json.RawMessage, bool) {
	encoded, ok := strings.CutPrefix(text, hidingPlace)
	if !ok {
		return nil, false
	}
	id, err := base64.RawURLEncoding.DecodeString(encoded)
	return id, err == nil && len(id) > 0
}

// ErrFractionalID refuses a request whose id is a number with a fraction.
var ErrFractionalID = &jsonrpc.Error{
	Code: jsonrpc.CodeInvalidRequest, Message: "the request's id is a number with a fraction: use an integer or a text",
}

// HidesFraction reports whether an id of the SDK, as a value or as JSON, hides a number with a
// fraction.
func HidesFraction(id any) bool {
	text := fmt.Sprintf("%s", id)
	shown, ok := shownID(strings.Trim(text, `"`))
	return ok && IsFraction(shown)
}

// IsFraction reports whether an id, as it was sent, is a number with a fraction. 1.0 has none.
func IsFraction(id json.RawMessage) bool {
	if len(id) == 0 || id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return false
	}
	if bytes.ContainsAny(id, "eE") {
		f, err := strconv.ParseFloat(string(id), 64)
		return err != nil || f != math.Trunc(f)
	}
	_, fraction, _ := bytes.Cut(id, []byte("."))
	return len(bytes.Trim(fraction, "0")) > 0
}

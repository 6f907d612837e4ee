// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxAnswer bounds an answer that is not a stream, in bytes. It equals the
// SDK's bound on one event of a stream.
const maxAnswer = mcp.DefaultMaxEventSize

var errAnswerTooLarge = errors.New("the server's answer is larger than 16 MiB")

// tap stands between the SDK's client and the network. On the answer to a
// request it sees, in the order in which the server wrote them, the
// notifications and the result. The SDK alone would lose three things: which
// request a notification belongs to, that it came before the result, and the
// fields of the result that the SDK does not know.
type tap struct {
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return t.next.RoundTrip(r)
	}
	if len(x.header) > 0 && r.Header.Get(headerMethod) == methodCallTool {
		r = r.Clone(r.Context())
		maps.Copy(r.Header, x.header)
	}
	// A GET only asks for the rest of an answer: its fate says nothing about
	// the request, which was delivered before.
	delivers := r.Method == http.MethodPost
	if delivers {
		x.sending()
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if delivers && resp.StatusCode == http.StatusNotFound {
		x.refuse()
	}
	if resp.StatusCode != http.StatusOK {
		return resp, nil
	}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch mediaType {
	case "text/event-stream":
		resp.Body = &eventBody{src: resp.Body, lines: bufio.NewReader(resp.Body), exchange: x}
	case "application/json":
		return tapJSON(resp, x)
	}
	return resp, nil
}

// tapJSON reads an answer that is one message.
func tapJSON(resp *http.Response, x *exchange) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, errAnswerTooLarge
	}
	resp.Body = io.NopCloser(bytes.NewReader(observe(body, x)))
	return resp, nil
}

// observe shows one message to the exchange and returns what the SDK is to see
// instead: nothing of a notification that was passed on, and a request with a
// note of the exchange that it belongs to.
func observe(message []byte, x *exchange) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(message, &m) != nil {
		return message
	}
	switch {
	case m.Method == "" && m.Result != nil:
		x.answered(m.Result)
	case m.Method != "" && m.ID != nil:
		return x.tag(message)
	case m.Method == noteProgress || m.Method == noteMessage:
		x.notify(m.Method, m.Params)
		return nil
	}
	return message
}

// eventBody is the body of an event stream, event by event.
type eventBody struct {
	src      io.ReadCloser
	lines    *bufio.Reader
	exchange *exchange
	out      []byte
	err      error
	blind    bool // an event was too large; the rest passes unseen
}

// Read implements io.Reader.
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if b.blind {
			return b.lines.Read(p)
		}
		b.out, b.err = b.event()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// Close implements io.Closer.
func (b *eventBody) Close() error { return b.src.Close() }

// event reads up to the end of the next event and returns what the SDK is to
// see of it. To the SDK the end of the stream ends an event too, so such an
// event comes with io.EOF; one that the network broke off is none.
func (b *eventBody) event() ([]byte, error) {
	var whole, data, rest []byte
	var end error
	for end == nil {
		start := len(whole)
		whole, end = b.line(whole)
		if end != nil && !errors.Is(end, io.EOF) || b.blind {
			return whole, end
		}
		content := bytes.TrimRight(whole[start:], "\r\n")
		if len(content) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(content, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		} else {
			rest = append(append(rest, content...), '\n')
		}
	}
	if len(data) == 0 {
		return whole, end
	}
	seen := observe(data, b.exchange)
	switch {
	case seen == nil:
		// What remains may be the event's id, from which a broken stream
		// resumes.
		return append(rest, '\n'), end
	case &seen[0] != &data[0]:
		return fmt.Appendf(rest, "data: %s\n\n", seen), end
	}
	return whole, end
}

// line appends the next line to whole. It gives up on looking into the stream
// when the event grows too large; the SDK then refuses it.
func (b *eventBody) line(whole []byte) ([]byte, error) {
	for {
		part, err := b.lines.ReadSlice('\n')
		whole = append(whole, part...)
		if len(whole) > maxAnswer {
			b.blind = true
			return whole, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

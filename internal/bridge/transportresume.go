// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	headerLastEventID = "Last-Event-Id"
	// lostEvent is the id of the event that tells of an answer which nobody has any
	// more. Who asks for what comes after it is told that there is no stream: a
	// client that takes an error for no answer would ask for ever.
	lostEvent = "lost"
	// maxSpelling bounds what an event's id repeats of its request's, in bytes.
	maxSpelling = 128
)

// The id of an event is that of the SDK, of the stream and the event's number in
// it, with two parts behind it: the mark of the stay, and the id of the request
// whose answer the stream is. A process that does not know the stream can so
// tell the client which of its requests will get no answer.

// newMark returns a mark that no other stay has.
func newMark() string { return rand.Text()[:8] }

// spell returns the id of a request in a form that fits into an event's, empty
// for none.
func spell(id json.RawMessage) string {
	if len(id) > maxSpelling {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id)
}

// marked is a response whose events carry the mark. The SDK writes an event at
// once, its id in the second line.
type marked struct {
	http.ResponseWriter
	mark string
}

// Unwrap serves http.ResponseController.
func (m *marked) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// Write implements http.ResponseWriter.
func (m *marked) Write(p []byte) (int, error) {
	name, rest, ok := bytes.Cut(p, []byte("\n"))
	if !ok || !bytes.HasPrefix(name, []byte("event: ")) || !bytes.HasPrefix(rest, []byte("id: ")) {
		return m.ResponseWriter.Write(p)
	}
	end := len(name) + 1 + bytes.IndexByte(rest, '\n')
	event := make([]byte, 0, len(p)+1+len(m.mark))
	event = append(event, p[:end]...)
	event = append(event, '.')
	event = append(event, m.mark...)
	event = append(event, p[end:]...)
	if _, err := m.ResponseWriter.Write(event); err != nil {
		return 0, err
	}
	return len(p), nil
}

// resume serves a GET, which may ask for the rest of a stream that broke.
func (s *stays) resume(w http.ResponseWriter, r *http.Request, st *stay) {
	last := r.Header.Get(headerLastEventID)
	event, mark, request := cutEventID(last)
	if last != "" && mark == st.mark {
		event = st.conn.current(r.Context(), event)
	}
	stream, _, _ := strings.Cut(event, "_")
	switch {
	case mark == st.mark && s.has(r.Context(), st, event):
		r.Header.Set(headerLastEventID, event)
	case stream == "":
		// What the client missed between its requests may be gone, but it can hear
		// what is left, and what comes.
		r.Header.Del(headerLastEventID)
		request = ""
		if first := s.oldest(r.Context(), st); first > 0 {
			r.Header.Set(headerLastEventID, fmt.Sprintf("_%d", first-1))
		}
	default:
		gone(w, last, request)
		return
	}
	st.relisten(&marked{ResponseWriter: w, mark: st.mark + "." + request}, r, stream)
}

// cutEventID returns the parts of an event's id: the SDK's, the mark and the
// request's.
func cutEventID(id string) (event, mark, request string) {
	event, rest, _ := strings.Cut(id, ".")
	mark, request, _ = strings.Cut(rest, ".")
	return event, mark, request
}

// has reports whether what came after the event can be sent again.
func (s *stays) has(ctx context.Context, st *stay, event string) bool {
	stream, number, ok := strings.Cut(event, "_")
	var n int
	if _, err := fmt.Sscanf(number, "%d", &n); !ok || err != nil || n < 0 {
		return false
	}
	return s.keeps(ctx, st, stream, n)
}

// keeps reports whether all of a stream is there that came after its nth event.
func (s *stays) keeps(ctx context.Context, st *stay, stream string, n int) bool {
	for _, err := range s.events.After(ctx, st.id, stream, n) {
		return err == nil
	}
	return true
}

// oldest returns the number of the first event that is left of those that belong
// to no request. The SDK refuses to begin before it.
func (s *stays) oldest(ctx context.Context, st *stay) int {
	if s.keeps(ctx, st, "", -1) {
		return 0
	}
	return sort.Search(math.MaxInt32, func(n int) bool { return s.keeps(ctx, st, "", n-1) })
}

// gone tells a client that waits for the rest of an answer that it will not
// come. Without the request's id it can only be told that there is no stream.
func gone(w http.ResponseWriter, last, request string) {
	id, err := base64.RawURLEncoding.DecodeString(request)
	if last == lostEvent || err != nil || len(id) == 0 || !json.Valid(id) {
		w.Header().Set("Allow", "POST, DELETE")
		http.Error(w, "the stream is gone", http.StatusMethodNotAllowed)
		return
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0",
		"id":      json.RawMessage(id),
		"error": map[string]any{
			"code":    jsonrpc.CodeInternalError,
			"message": "the answer was lost when the bridge restarted: whether the request was carried out is not known",
			"data":    map[string]string{"code": "answer_lost"},
		},
	})
	if err != nil {
		panic(err) // the id is valid
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	_, _ = fmt.Fprintf(w, "event: message\nid: %s\ndata: %s\n\n", lostEvent, answer)
}

// versions are the protocol versions of the legacy era, each with a context in
// which the SDK finds it. The SDK keeps a request's version in its context under
// a key of its own, where only its handler can put it.
type versions map[string]context.Context

// newVersions has the SDK's handler put each version into a context.
func newVersions(ctx context.Context) versions {
	known := versions{}
	for _, version := range mcp.SupportedProtocolVersions() {
		if version >= firstModernVersion {
			continue
		}
		handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
			known[version] = r.Context() // The last time, it is there.
			return nil
		}, &mcp.StreamableHTTPOptions{Logger: quiet, DisableLocalhostProtection: true})
		r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, "/", http.NoBody)
		if err != nil {
			panic(err) // method and path are valid
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set(headerVersion, version)
		handler.ServeHTTP(nowhere{}, r)
	}
	return known
}

// tell returns the request in whose context the SDK finds the version.
func (v versions) tell(r *http.Request, version string) *http.Request {
	known, ok := v[version]
	if !ok {
		return r
	}
	return r.WithContext(versioned{r.Context(), known}) //nolint:contextcheck // It is inherited.
}

// versioned is a context with the values of another behind its own.
type versioned struct {
	context.Context
	version context.Context
}

// Value implements context.Context.
func (v versioned) Value(key any) any {
	if value := v.Context.Value(key); value != nil {
		return value
	}
	return v.version.Value(key)
}

// nowhere is a response that nobody reads.
type nowhere struct{}

// Header implements http.ResponseWriter.
func (nowhere) Header() http.Header { return http.Header{} }

// Write implements http.ResponseWriter.
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (nowhere) WriteHeader(int) {}

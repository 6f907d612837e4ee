// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

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
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

const (
	// HeaderLastEventID names the last received event of a broken stream.
	HeaderLastEventID = "Last-Event-Id"
	// lostEvent is the id of the event that reports a lost answer. A client that resumes after
	// this event gets "no stream": a client that does not accept an error as an answer would retry
	// for ever.
	lostEvent = "lost"
	// maxSpelling limits the bytes of a request's id within an event's id.
	maxSpelling = 128
)

// The id of an event is the SDK's id (the stream, and the number of the event in it) with two
// parts appended: the epoch of the session in this process, and the id of the request that the
// stream answers. With these parts, a process that does not know the stream can tell the client
// which of its requests will get no answer.

// newEpoch returns a unique epoch.
func newEpoch() string { return rand.Text()[:8] }

// encodeID returns the id of a request in a form for an event's id, empty if there is none.
func encodeID(id json.RawMessage) string {
	if len(id) > maxSpelling {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id)
}

// eventIDWriter is a response that adds the epoch to event ids, shows the ids of requests as they
// were sent, and leaves out the answers to cancelled requests. The SDK writes each event at once, with its id in the second line.
type eventIDWriter struct {
	http.ResponseWriter
	mark string
}

// Unwrap serves http.ResponseController.
func (m *eventIDWriter) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// Write implements http.ResponseWriter.
func (m *eventIDWriter) Write(p []byte) (int, error) {
	if isWithdrawn(p) {
		return len(p), nil
	}
	sent := len(p)
	p = message.ShowIDs(p)
	name, rest, ok := bytes.Cut(p, []byte("\n"))
	if !ok || !bytes.HasPrefix(name, []byte("event: ")) || !bytes.HasPrefix(rest, []byte("id: ")) {
		_, err := m.ResponseWriter.Write(p)
		return sent, err
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
	return sent, nil
}

// isWithdrawn reports whether an event, or its data, is the answer to a cancelled request: it ends
// with the text of its error.
func isWithdrawn(event []byte) bool {
	end := event[max(0, len(event)-len(withdrawnAnswer)-len("\"}}\n\n")):]
	return bytes.Contains(end, []byte(withdrawnAnswer))
}

// resume serves a GET, which may ask for the rest of a broken stream.
func (s *Store) resume(w http.ResponseWriter, r *http.Request, st *Session) {
	last := r.Header.Get(HeaderLastEventID)
	event, mark, request := cutEventID(last)
	stream, _, _ := strings.Cut(event, "_")
	switch {
	case mark == st.mark && stream != "" && s.withdrawn(r.Context(), st, event):
		// A client that did not get its answer would ask for the rest of the stream for ever.
		answerLost(w, lostEvent, request)
		return
	case mark == st.mark && s.has(r.Context(), st, event):
		r.Header.Set(HeaderLastEventID, event)
	case stream == "":
		// Messages between the client's requests may be lost, but the client can get the remaining
		// and future ones.
		r.Header.Del(HeaderLastEventID)
		request = ""
		if first := s.oldest(r.Context(), st); first > 0 {
			r.Header.Set(HeaderLastEventID, fmt.Sprintf("_%d", first-1))
		}
	default:
		answerLost(w, last, request)
		return
	}
	st.serveBrokenStream(&eventIDWriter{ResponseWriter: w, mark: st.mark + "." + request}, r, stream)
}

// cutEventID returns the parts of an event's id: the SDK's id, the epoch and the request's id.
func cutEventID(id string) (event, mark, request string) {
	event, rest, _ := strings.Cut(id, ".")
	mark, request, _ = strings.Cut(rest, ".")
	return event, mark, request
}

// has reports whether all later messages of the stream can be sent again.
func (s *Store) has(ctx context.Context, st *Session, event string) bool {
	stream, number, ok := strings.Cut(event, "_")
	var n int
	if _, err := fmt.Sscanf(number, "%d", &n); !ok || err != nil || n < 0 {
		return false
	}
	return s.keeps(ctx, st, stream, n)
}

// withdrawn reports whether nothing follows the event but answers to cancelled requests.
func (s *Store) withdrawn(ctx context.Context, st *Session, event string) bool {
	stream, number, _ := strings.Cut(event, "_")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return false
	}
	found := false
	for data, err := range s.events.After(ctx, st.id, stream, n) {
		if err != nil || !isWithdrawn(data) {
			return false
		}
		found = true
	}
	return found
}

// keeps reports whether all events of a stream after its nth event are stored.
func (s *Store) keeps(ctx context.Context, st *Session, stream string, n int) bool {
	for _, err := range s.events.After(ctx, st.id, stream, n) {
		return err == nil
	}
	return true
}

// oldest returns the number of the oldest stored event that belongs to no request. The SDK refuses
// to start before it.
func (s *Store) oldest(ctx context.Context, st *Session) int {
	if s.keeps(ctx, st, "", -1) {
		return 0
	}
	return sort.Search(math.MaxInt32, func(n int) bool { return s.keeps(ctx, st, "", n-1) })
}

// answerLost tells a client that the rest of an answer is lost. Without the request's id it can
// only answer that there is no stream.
func answerLost(w http.ResponseWriter, last, request string) {
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

// versionContexts are the protocol versions of the legacy era, each with a context that carries it
// for the SDK. The SDK stores a request's version in its context under a private key that only its
// own handler can set.
type versionContexts map[string]context.Context

// newVersions calls the SDK's handler to get a context for each version.
func newVersions(ctx context.Context) versionContexts {
	known := versionContexts{}
	for _, version := range mcp.SupportedProtocolVersions() {
		if version >= message.FirstModernVersion {
			continue
		}
		handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
			known[version] = r.Context() // The last call's context has the version.
			return nil
		}, &mcp.StreamableHTTPOptions{Logger: message.DiscardLog, DisableLocalhostProtection: true})
		r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, "/", http.NoBody)
		if err != nil {
			panic(err) // method and path are valid
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set(message.HeaderVersion, version)
		handler.ServeHTTP(discardWriter{}, r)
	}
	return known
}

// apply returns the request with the version in its context.
func (v versionContexts) apply(r *http.Request, version string) *http.Request {
	known, ok := v[version]
	if !ok {
		return r
	}
	return r.WithContext(versionedContext{r.Context(), known}) //nolint:contextcheck // The context derives from the request's.
}

// versionedContext is a context that falls back to the values of another context.
type versionedContext struct {
	context.Context
	version context.Context
}

// Value implements context.Context.
func (v versionedContext) Value(key any) any {
	if value := v.Context.Value(key); value != nil {
		return value
	}
	return v.version.Value(key)
}

// discardWriter is a response that discards everything.
type discardWriter struct{}

// Header implements http.ResponseWriter.
func (discardWriter) Header() http.Header { return http.Header{} }

// Write implements http.ResponseWriter.
func (discardWriter) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (discardWriter) WriteHeader(int) {}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stays serves the legacy era over streamable HTTP. Unlike the SDK's handler it
// takes sessions that another process began: their ids carry what a session is
// restored from. What a client asked for later on is not in the id and lost
// with the process: the log level, until the client sets one again, and the
// subscriptions to resources. A session that sends no request for the timeout is
// closed, and restored in the same way when one comes.
type stays struct {
	bridge   *Bridge
	events   mcp.EventStore
	versions versions
	timeout  time.Duration
	ended    tombs

	mu   sync.Mutex
	open map[string]*stay
}

// stay is one session while this process has it.
type stay struct {
	id        string
	transport *mcp.StreamableServerTransport
	session   *mcp.ServerSession
	// mark tells the events of this stay, and its requests to the client, from
	// those of an earlier one.
	mark string

	mu    sync.Mutex
	posts int         // in progress
	timer *time.Timer // ends the stay while there are none; nil when it is over
}

func newStays(b *Bridge) *stays {
	return &stays{
		bridge: b, events: newEventStore(), versions: newVersions(b.ctx),
		timeout: sessionTimeout, open: map[string]*stay{},
	}
}

// ServeHTTP implements http.Handler.
func (s *stays) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	version := r.Header.Get(headerVersion)
	if supported := mcp.SupportedProtocolVersions(); version != "" && !slices.Contains(supported, version) {
		http.Error(w, "Bad Request: Unsupported protocol version (supported versions: "+strings.Join(supported, ",")+")", http.StatusBadRequest)
		return
	}
	r = s.versions.tell(r, version)
	switch r.Method {
	case http.MethodGet:
		s.listen(w, r)
	case http.MethodPost:
		s.post(w, r)
	case http.MethodDelete:
		s.end(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	}
}

// post takes a message of the client.
func (s *stays) post(w http.ResponseWriter, r *http.Request) {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		http.Error(w, "Content-Type must be 'application/json'", http.StatusUnsupportedMediaType)
		return
	}
	if jsonOK, streamOK := accepts(r.Header); !jsonOK || !streamOK {
		http.Error(w, "Accept must contain both 'application/json' and 'text/event-stream'", http.StatusBadRequest)
		return
	}
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	id := r.Header.Get(headerSessionID)
	if id == "" {
		s.begin(w, r, body)
		return
	}
	st, ok := s.find(r, id)
	if !ok {
		s.refuse(w)
		return
	}
	s.serve(w, r, st, body)
}

// readBody reads the whole body and puts it back. It reports false where it
// answered that it could not.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
			http.Error(w, fmt.Sprintf("request body exceeds %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
		} else {
			http.Error(w, "failed to read body", http.StatusBadRequest)
		}
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}

// begin serves a message without a session, which begins one if it initializes
// it.
func (s *stays) begin(w http.ResponseWriter, r *http.Request, body []byte) {
	id, err := s.bridge.signing.name(body, time.Now())
	if err != nil {
		http.Error(w, "failed connection", http.StatusInternalServerError)
		return
	}
	s.mu.Lock()
	st, err := s.admit(r.Context(), id, nil)
	s.mu.Unlock()
	if err != nil {
		http.Error(w, "failed connection", http.StatusServiceUnavailable)
		return
	}
	s.serve(w, r, st, body)
	if st.session.InitializeParams() == nil {
		s.bury(id)
		s.close(st)
	}
}

// serve hands a message to the SDK. The session does not end meanwhile.
func (s *stays) serve(w http.ResponseWriter, r *http.Request, st *stay, body []byte) {
	st.starts()
	defer st.stops(s.timeout)
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(body, &m) // The SDK says what is wrong with it.
	st.transport.ServeHTTP(&marked{ResponseWriter: w, mark: st.mark + "." + spell(m.ID)}, r)
}

// listen opens a stream of messages to the client, or goes on with one that
// broke.
func (s *stays) listen(w http.ResponseWriter, r *http.Request) {
	if _, streamOK := accepts(r.Header); !streamOK {
		http.Error(w, "Accept must contain 'text/event-stream' for GET requests", http.StatusBadRequest)
		return
	}
	id := r.Header.Get(headerSessionID)
	if id == "" {
		http.Error(w, "Bad Request: GET requires an Mcp-Session-Id header", http.StatusBadRequest)
		return
	}
	st, ok := s.find(r, id)
	if !ok {
		s.refuse(w)
		return
	}
	s.resume(w, r, st)
}

// end ends a session for good.
func (s *stays) end(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(headerSessionID)
	if id == "" {
		http.Error(w, "Bad Request: DELETE requires an Mcp-Session-Id header", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	st, known := s.open[id]
	s.mu.Unlock()
	if !s.bury(id) && !known {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if known {
		s.close(st)
	}
	w.WriteHeader(http.StatusNoContent)
}

// refuse answers a request whose session there is not. One that comes while the
// bridge shuts down may have one in the next process.
func (s *stays) refuse(w http.ResponseWriter) {
	if s.bridge.ctx.Err() != nil {
		http.Error(w, errOver.Error(), http.StatusServiceUnavailable)
		return
	}
	http.Error(w, "session not found", http.StatusNotFound)
}

// bury keeps a session from being restored. It reports whether the id was that
// of one that could have been.
func (s *stays) bury(id string) bool {
	t, ok := s.bridge.signing.open(id, time.Now())
	if !ok || s.ended.hold(t.Nonce) {
		return false
	}
	s.ended.bury(t.Nonce)
	return true
}

// find returns the session with the id, restored where this process does not
// have it. Who asks for it at the same time gets the same one.
func (s *stays) find(r *http.Request, id string) (*stay, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st, ok := s.open[id]; ok {
		return st, true
	}
	t, ok := s.bridge.signing.open(id, time.Now())
	if !ok || s.ended.hold(t.Nonce) {
		return nil, false
	}
	state, ok := stateOf(t)
	if !ok {
		return nil, false
	}
	st, err := s.admit(r.Context(), id, state)
	if err != nil {
		return nil, false
	}
	s.bridge.restored(st.session, state.InitializeParams, hopsOf(r.Context(), r.Header, nil)) //nolint:contextcheck // The session outlives the request that restores it.
	return st, true
}

var errOver = errors.New("the bridge is shutting down")

// admit connects a session, in the given state where it is restored. The caller
// holds s.mu.
func (s *stays) admit(ctx context.Context, id string, state *mcp.ServerSessionState) (*stay, error) {
	if s.bridge.ctx.Err() != nil {
		return nil, errOver
	}
	st := &stay{
		id:        id,
		transport: &mcp.StreamableServerTransport{SessionID: id, EventStore: s.events},
		mark:      newMark(),
	}
	session, err := s.bridge.server.Connect(ctx, &askingTransport{st.transport, st.mark}, &mcp.ServerSessionOptions{State: state})
	if err != nil {
		return nil, err
	}
	st.session = session
	st.timer = time.AfterFunc(s.timeout, func() { s.close(st) })
	s.open[id] = st
	return st, nil
}

// close ends the session in this process. It waits for what is in progress.
func (s *stays) close(st *stay) {
	s.mu.Lock()
	if s.open[st.id] == st {
		delete(s.open, st.id)
	}
	s.mu.Unlock()
	st.mu.Lock()
	if st.timer != nil {
		st.timer.Stop()
		st.timer = nil
	}
	st.mu.Unlock()
	_ = st.session.Close()
}

// starts keeps the session while a message is in progress.
func (s *stay) starts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts++
	if s.timer != nil {
		s.timer.Stop()
	}
}

// stops ends what starts began.
func (s *stay) stops(timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts--
	if s.posts == 0 && s.timer != nil {
		s.timer.Reset(timeout)
	}
}

// accepts reports which of the two forms of an answer the client takes.
func accepts(h http.Header) (jsonOK, streamOK bool) {
	for token := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		mediaType, _, _ := strings.Cut(token, ";")
		switch strings.ToLower(strings.TrimSpace(mediaType)) {
		case "application/json", "application/*":
			jsonOK = true
		case "text/event-stream", "text/*":
			streamOK = true
		case "*/*":
			return true, true
		}
	}
	return jsonOK, streamOK
}

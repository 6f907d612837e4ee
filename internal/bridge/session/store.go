// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
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

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// sessionTimeout ends a session without an open event stream after this time without a request. Its id
// restores it, at the cost of a new connection to each server; during a working day there are no longer
// pauses.
const sessionTimeout = 2 * time.Hour

// Store serves the legacy era over streamable HTTP. It accepts sessions of earlier processes: the id of a
// session holds the data to restore it. Later settings are not
// in the id and are lost with the process: the log level, until the client sets it again, and the
// subscriptions to resources. A session without a request or stream is closed after
// sessionTimeout, and restored in the same way by its next request. If there are too many
// sessions, the store closes the one that has been idle longest.
type Store struct {
	host    Host
	events  replay
	Timeout time.Duration
	Limit   int
	ended   endedIDs

	mu   sync.Mutex
	open map[string]*streamable
}

// maxOpen limits the open sessions of a process. A session uses about 100 KB with its connections
// to servers, and a bridge may use 128 MiB in total. A user's clients rarely have a dozen
// sessions; some clients start a new session for each operation and leave the old ones open.
const maxOpen = 128

var (
	// ErrShuttingDown refuses a request that arrives while the bridge closes.
	ErrShuttingDown = errors.New("the bridge is shutting down")
	errFull         = errors.New("too many sessions wait for answers")
	errGone         = errors.New("session not found")
)

// NewStore returns an empty store.
func NewStore(h Host) *Store {
	return &Store{host: h, events: replay{streams: map[string]*stream{}}, Timeout: sessionTimeout, Limit: maxOpen, open: map[string]*streamable{}}
}

// ServeHTTP implements http.Handler.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	version := r.Header.Get(message.HeaderVersion)
	if supported := mcp.SupportedProtocolVersions(); version != "" && !slices.Contains(supported, version) {
		http.Error(w, "Bad Request: Unsupported protocol version (supported versions: "+strings.Join(supported, ",")+")", http.StatusBadRequest)
		return
	}
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

// post handles a POST of the client.
func (s *Store) post(w http.ResponseWriter, r *http.Request) {
	body, ok := ReadPost(w, r)
	if !ok {
		return
	}
	id := r.Header.Get(message.HeaderSessionID)
	if id == "" {
		s.begin(w, r, body)
		return
	}
	st, err := s.find(r, id, (*streamable).posting)
	if err != nil {
		refuse(w, err)
		return
	}
	defer s.stops(st, (*streamable).posting)
	st.serve(w, r, body)
}

// ReadPost reads the message in a client's POST. It returns false after it answered that there is
// no message.
func ReadPost(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		http.Error(w, "Content-Type must be 'application/json'", http.StatusUnsupportedMediaType)
		return nil, false
	}
	if jsonOK, streamOK := accepts(r.Header); !jsonOK || !streamOK {
		http.Error(w, "Accept must contain both 'application/json' and 'text/event-stream'", http.StatusBadRequest)
		return nil, false
	}
	return readBody(w, r)
}

// readBody reads the whole body and puts it back. It returns false after it answered with an
// error.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	body, err := rpc.ReadAll(http.MaxBytesReader(w, r.Body, message.MaxBody), r.ContentLength)
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

// begin handles a message without a session. If the message initializes a session, begin opens it.
func (s *Store) begin(w http.ResponseWriter, r *http.Request, body []byte) {
	id, err := s.host.Signing.IssueID(body, time.Now())
	if err != nil {
		http.Error(w, "failed connection", http.StatusInternalServerError)
		return
	}
	s.mu.Lock()
	st, err := s.admit(id, nil)
	if err == nil {
		st.starts((*streamable).posting)
	}
	s.mu.Unlock()
	if err != nil {
		http.Error(w, "failed connection", http.StatusServiceUnavailable)
		return
	}
	defer s.stops(st, (*streamable).posting)
	st.serve(w, r, body)
	if st.Params() == nil {
		s.markEnded(id)
		s.close(st)
	}
}

// listen opens a stream of messages to the client, or resumes a broken stream.
func (s *Store) listen(w http.ResponseWriter, r *http.Request) {
	if _, streamOK := accepts(r.Header); !streamOK {
		http.Error(w, "Accept must contain 'text/event-stream' for GET requests", http.StatusBadRequest)
		return
	}
	id := r.Header.Get(message.HeaderSessionID)
	if id == "" {
		http.Error(w, "Bad Request: GET requires an Mcp-Session-Id header", http.StatusBadRequest)
		return
	}
	st, err := s.find(r, id, (*streamable).listening)
	if err != nil {
		refuse(w, err)
		return
	}
	defer s.stops(st, (*streamable).listening)
	s.resume(w, r, st)
}

// end ends a session for good.
func (s *Store) end(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(message.HeaderSessionID)
	if id == "" {
		http.Error(w, "Bad Request: DELETE requires an Mcp-Session-Id header", http.StatusBadRequest)
		return
	}
	// A request that restores the session at the same time either comes first, and the session is
	// open, or comes later, and the session has ended for good.
	s.mu.Lock()
	buried := s.markEnded(id)
	st, known := s.open[id]
	s.mu.Unlock()
	if !buried && !known {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if known {
		s.close(st)
	}
	w.WriteHeader(http.StatusNoContent)
}

// refuse answers a request whose session does not exist. While the bridge shuts down, the session
// may exist in the next process.
func refuse(w http.ResponseWriter, err error) {
	if errors.Is(err, errGone) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

// markEnded prevents a session from being restored. It reports whether the id was one of a
// restorable session.
func (s *Store) markEnded(id string) bool {
	t, ok := s.host.Signing.OpenID(id, time.Now())
	if !ok || s.ended.has(t.Nonce) {
		return false
	}
	s.ended.add(t.Nonce)
	return true
}

// counter selects the count that a request increases while it is in progress.
type counter func(*streamable) *int

func (s *streamable) posting() *int { return &s.posts }

func (s *streamable) listening() *int { return &s.gets }

// find returns the session with the id. It restores a session that this process does not have;
// simultaneous requests get the same session. The session stays open until the caller releases it.
func (s *Store) find(r *http.Request, id string, p counter) (*streamable, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.open[id], error(nil)
	if st == nil {
		st, err = s.restore(r, id)
	}
	if err != nil {
		return nil, err
	}
	st.starts(p)
	return st, nil
}

// restore opens a session of an earlier process. The caller holds s.mu.
func (s *Store) restore(r *http.Request, id string) (*streamable, error) {
	if s.host.Life.Err() != nil {
		return nil, ErrShuttingDown
	}
	t, ok := s.host.Signing.OpenID(id, time.Now())
	if !ok || s.ended.has(t.Nonce) {
		return nil, errGone
	}
	params, ok := paramsOf(t)
	if !ok {
		return nil, errGone
	}
	st, err := s.admit(id, params)
	if err != nil {
		return nil, err
	}
	s.host.Restored(st.Session, HopsOf(r.Context(), r.Header, nil))
	return st, nil
}

// admit opens a session. A restored one has the parameters of its first request. The caller holds s.mu.
func (s *Store) admit(id string, params *mcp.InitializeParams) (*streamable, error) {
	if s.host.Life.Err() != nil {
		return nil, ErrShuttingDown
	}
	if len(s.open) >= s.Limit && !s.evict() {
		return nil, errFull
	}
	st := newStreamable(s, id, params)
	st.timer = time.AfterFunc(s.Timeout, func() { s.expire(st) })
	s.open[id] = st
	return st, nil
}

// evict closes the session that has been idle longest, preferably one without a listener. It
// returns false if all sessions have messages or requests in progress. The caller holds s.mu.
func (s *Store) evict() bool {
	var found *streamable
	for _, st := range s.open {
		if st.posts == 0 && !st.busy() && (found == nil || st.before(found)) {
			found = st
		}
	}
	if found == nil {
		return false
	}
	s.forget(found)
	s.host.Run(func() { _ = found.Close() })
	return true
}

// before reports whether s should be closed before other.
func (s *streamable) before(other *streamable) bool {
	if (s.gets == 0) != (other.gets == 0) {
		return s.gets == 0
	}
	return s.quiet.Before(other.quiet)
}

// expire closes a session that was idle for sessionTimeout.
func (s *Store) expire(st *streamable) {
	s.mu.Lock()
	idle := st.posts+st.gets == 0 && !st.busy()
	switch {
	case idle:
		s.forget(st)
	case st.posts+st.gets == 0 && s.open[st.id] == st:
		st.timer.Reset(s.Timeout)
	}
	s.mu.Unlock()
	if idle {
		_ = st.Close()
	}
}

// close ends the session in this process. It waits for requests in progress.
func (s *Store) close(st *streamable) {
	s.mu.Lock()
	s.forget(st)
	s.mu.Unlock()
	_ = st.Close()
}

// forget removes the session from the open sessions. The caller holds s.mu.
func (s *Store) forget(st *streamable) {
	st.timer.Stop()
	if s.open[st.id] == st {
		delete(s.open, st.id)
	}
}

// starts keeps the session open while a request is in progress. The caller holds Store.mu.
func (s *streamable) starts(p counter) {
	*p(s)++
	s.timer.Stop()
}

// stops ends what starts began.
func (s *Store) stops(st *streamable, p counter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*p(st)--
	st.quiet = time.Now()
	if st.posts+st.gets == 0 && s.open[st.id] == st {
		st.timer.Reset(s.Timeout)
	}
}

// accepts reports which of the two answer formats the client accepts.
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

// Holds reports whether this process has the session with the id.
func (s *Store) Holds(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id] != nil
}

// KeepBusy marks the session as busy until the returned function is called.
func (s *Store) KeepBusy(id string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.open[id]
	st.starts((*streamable).posting)
	return func() { s.stops(st, (*streamable).posting) }
}

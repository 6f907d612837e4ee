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

	"github.com/hostedbridge/hostedbridge/internal/bridge/plain"
)

// stays serves the legacy era over streamable HTTP. Unlike the SDK's handler it
// takes sessions that another process began: their ids carry what a session is
// restored from. What a client asked for later on is not in the id and lost
// with the process: the log level, until the client sets one again, and the
// subscriptions to resources. A session of which there is neither a request nor a
// stream for the timeout is closed, and restored in the same way when one comes.
// So is the one that has been quiet for longest where there are too many.
type stays struct {
	bridge   *Bridge
	events   mcp.EventStore
	versions versions
	timeout  time.Duration
	limit    int
	ended    tombs

	mu   sync.Mutex
	open map[string]*stay
}

// maxOpen bounds the sessions that a process has. One takes about 100 KB with its
// connections to servers, and a bridge may take 128 MiB in all. A user's clients
// rarely have a dozen; those that begin a session for each thing they do leave
// them behind.
const maxOpen = 128

var (
	errOver = errors.New("the bridge is shutting down")
	errFull = errors.New("too many sessions wait for answers")
	errGone = errors.New("session not found")
)

// stay is one session while this process has it. stays.mu guards what changes.
type stay struct {
	id        string
	bridge    *Bridge
	transport *mcp.StreamableServerTransport
	conn      *askingConn
	session   *mcp.ServerSession
	// mark tells the events of this stay, and its requests to the client, from
	// those of an earlier one.
	mark      string
	listeners listeners

	posts, gets int         // in progress
	quiet       time.Time   // when the last one ended
	timer       *time.Timer // ends the stay while there is nothing in progress
}

func newStays(b *Bridge) *stays {
	return &stays{
		bridge: b, events: newEventStore(), versions: newVersions(b.ctx),
		timeout: sessionTimeout, limit: maxOpen, open: map[string]*stay{},
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
	st, err := s.find(r, id, (*stay).posting)
	if err != nil {
		dismiss(w, err)
		return
	}
	defer s.stops(st, (*stay).posting)
	st.serve(w, r, body, s.events)
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
	if err == nil {
		st.starts((*stay).posting)
	}
	s.mu.Unlock()
	if err != nil {
		http.Error(w, "failed connection", http.StatusServiceUnavailable)
		return
	}
	defer s.stops(st, (*stay).posting)
	st.serve(w, r, body, s.events)
	if st.session.InitializeParams() == nil {
		s.bury(id)
		s.close(st)
	}
}

// serve hands a message to the session. What is odd about it, the SDK says.
func (s *stay) serve(w http.ResponseWriter, r *http.Request, body []byte, events mcp.EventStore) {
	if m, ok := plain.Parse(body); ok {
		if call := s.express(r, m); call != nil {
			s.rush(&marked{ResponseWriter: w, mark: s.mark + "." + spell(m.ID)}, r, call, events)
			return
		}
	}
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(body, &m)
	s.conn.widen(r.Context())
	s.converse(&marked{ResponseWriter: w, mark: s.mark + "." + spell(m.ID)}, r)
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
	st, err := s.find(r, id, (*stay).listening)
	if err != nil {
		dismiss(w, err)
		return
	}
	defer s.stops(st, (*stay).listening)
	s.resume(w, r, st)
}

// end ends a session for good.
func (s *stays) end(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(headerSessionID)
	if id == "" {
		http.Error(w, "Bad Request: DELETE requires an Mcp-Session-Id header", http.StatusBadRequest)
		return
	}
	// A request that restores the session at the same time comes before, and then
	// it is open, or after, and then it is buried.
	s.mu.Lock()
	buried := s.bury(id)
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

// dismiss answers a request whose session there is not. One that comes while the
// bridge shuts down may have one in the next process.
func dismiss(w http.ResponseWriter, err error) {
	if errors.Is(err, errGone) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
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

// presence is what a request adds to while it is in progress.
type presence func(*stay) *int

func (s *stay) posting() *int   { return &s.posts }
func (s *stay) listening() *int { return &s.gets }

// find returns the session with the id, restored where this process does not
// have it. Who asks for it at the same time gets the same one. It does not end
// until the caller says that the request is over.
func (s *stays) find(r *http.Request, id string, p presence) (*stay, error) {
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

// restore connects a session that another process began. The caller holds s.mu.
func (s *stays) restore(r *http.Request, id string) (*stay, error) {
	if s.bridge.ctx.Err() != nil {
		return nil, errOver
	}
	t, ok := s.bridge.signing.open(id, time.Now())
	if !ok || s.ended.hold(t.Nonce) {
		return nil, errGone
	}
	state, ok := stateOf(t)
	if !ok {
		return nil, errGone
	}
	st, err := s.admit(r.Context(), id, state)
	if err != nil {
		return nil, err
	}
	s.bridge.restored(st.session, state.InitializeParams, hopsOf(r.Context(), r.Header, nil)) //nolint:contextcheck // The session outlives the request that restores it.
	return st, nil
}

// admit connects a session, in the given state where it is restored. The caller
// holds s.mu.
func (s *stays) admit(ctx context.Context, id string, state *mcp.ServerSessionState) (*stay, error) {
	if s.bridge.ctx.Err() != nil {
		return nil, errOver
	}
	if len(s.open) >= s.limit && !s.evict() {
		return nil, errFull
	}
	st := &stay{
		id:        id,
		bridge:    s.bridge,
		transport: &mcp.StreamableServerTransport{SessionID: id, EventStore: s.events},
		mark:      newMark(),
		quiet:     time.Now(),
	}
	ctx = context.WithValue(ctx, carrierKey{}, carrier{posted: true})
	asking := &askingTransport{StreamableServerTransport: st.transport, mark: st.mark}
	session, err := s.bridge.server.Connect(ctx, asking, &mcp.ServerSessionOptions{State: state})
	if err != nil {
		return nil, err
	}
	st.session, st.conn = session, asking.conn
	st.timer = time.AfterFunc(s.timeout, func() { s.expire(st) })
	s.open[id] = st
	return st, nil
}

// evict closes the session that has been quiet for longest, preferably one to
// which nobody listens. It reports whether there is one without a message in
// progress. The caller holds s.mu.
func (s *stays) evict() bool {
	var found *stay
	for _, st := range s.open {
		if st.posts == 0 && (found == nil || st.before(found)) {
			found = st
		}
	}
	if found == nil {
		return false
	}
	s.forget(found)
	s.bridge.done.Go(func() { _ = found.session.Close() })
	return true
}

// before reports whether s is to be closed rather than other.
func (s *stay) before(other *stay) bool {
	if (s.gets == 0) != (other.gets == 0) {
		return s.gets == 0
	}
	return s.quiet.Before(other.quiet)
}

// expire closes a session of which nothing was heard for the timeout.
func (s *stays) expire(st *stay) {
	s.mu.Lock()
	idle := st.posts+st.gets == 0
	if idle {
		s.forget(st)
	}
	s.mu.Unlock()
	if idle {
		_ = st.session.Close()
	}
}

// close ends the session in this process. It waits for what is in progress.
func (s *stays) close(st *stay) {
	s.mu.Lock()
	s.forget(st)
	s.mu.Unlock()
	_ = st.session.Close()
}

// forget takes the session out of those that are open. The caller holds s.mu.
func (s *stays) forget(st *stay) {
	st.timer.Stop()
	if s.open[st.id] == st {
		delete(s.open, st.id)
	}
}

// starts keeps the session while a request is in progress. The caller holds
// stays.mu.
func (s *stay) starts(p presence) {
	*p(s)++
	s.timer.Stop()
}

// stops ends what starts began.
func (s *stays) stops(st *stay, p presence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*p(st)--
	st.quiet = time.Now()
	if st.posts+st.gets == 0 && s.open[st.id] == st {
		st.timer.Reset(s.timeout)
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

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// streamable is a session over streamable HTTP that is open in this process.
type streamable struct {
	*Session
	store *Store

	// Store.mu guards these: what is in progress, when the last request ended, and what closes the session
	// when it has been idle.
	posts, gets int
	quiet       time.Time
	timer       *time.Timer

	streaming sync.Mutex         // guards what follows
	streams   map[string]*stream // the one that belongs to no request has no name
	sweepAt   int                // the number of streams at which those that nobody can resume are removed
}

// newStreamable returns a session. A restored one has the parameters of its first request.
func newStreamable(s *Store, id string, params *mcp.InitializeParams) *streamable {
	apart := &stream{}
	x := &streamable{
		Session: newSession(&s.host, ConnKind{posted: true, LegacyOnly: true}, apart, params), store: s, quiet: time.Now(),
		streams: map[string]*stream{"": apart}, sweepAt: minSweep,
	}
	x.id, x.mark, apart.session = id, newEpoch(), x
	return x
}

// Close ends the session. It waits for requests in progress.
func (s *streamable) Close() error {
	defer s.store.events.drop(s)
	return s.Session.Close()
}

// duplicate is the error of a request with the id of another one in progress.
func duplicate(id json.RawMessage) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("duplicate in-flight request ID %s", id)}
}

// versionOf returns the protocol version in the parameters of a first request.
func versionOf(params json.RawMessage) string {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &p) // Other parameters are refused.
	return p.Version
}

// minSweep is the number of streams from which those that nobody can resume are removed.
const minSweep = 64

// keep keeps a stream for clients that come back.
func (s *streamable) keep(to *stream) {
	s.streaming.Lock()
	defer s.streaming.Unlock()
	if s.streams[to.id] = to; len(s.streams) < s.sweepAt {
		return
	}
	maps.DeleteFunc(s.streams, func(id string, each *stream) bool {
		return each != to && id != "" && inflight.Closed(each.done) && s.store.events.empty(each)
	})
	s.sweepAt = max(minSweep, 2*len(s.streams))
}

// stream returns a stream that is kept, or nil.
func (s *streamable) stream(id string) *stream {
	s.streaming.Lock()
	defer s.streaming.Unlock()
	return s.streams[id]
}

// posted are the messages of a POST.
type posted struct {
	messages []rpc.Message
	calls    []rpc.Message // those of them that are answered
	batch    bool
}

// readPosted reads the messages in a body.
func readPosted(body []byte) (posted, error) {
	each, batch := rpc.Batch(body)
	switch {
	case len(body) == 0:
		return posted{}, errors.New("POST requires a non-empty body")
	case batch && len(each) == 0:
		return posted{}, errors.New("malformed payload: empty batch")
	case !batch:
		each = []json.RawMessage{body}
	}
	p := posted{batch: batch, messages: make([]rpc.Message, len(each))}
	for i, one := range each {
		m, err := readMessage(one)
		if err != nil {
			return posted{}, fmt.Errorf("malformed payload: %w", err)
		}
		if p.messages[i] = m; m.Request && m.ID != nil {
			p.calls = append(p.calls, m)
		}
	}
	return p, nil
}

// readMessage reads a message of the client.
func readMessage(text []byte) (rpc.Message, error) {
	m, ok := rpc.Read(text)
	switch {
	case !ok || !m.Request && !m.IsAnswer():
		return m, errors.New("not a JSON-RPC message")
	case !m.IsVersion2():
		return m, errors.New(`the message is not of JSON-RPC "2.0"`)
	case m.Request && m.Method == "":
		return m, errors.New("a method is a text")
	case m.ID != nil && !strings.ContainsRune(`"-0123456789`, rune(m.ID[0])):
		return m, errors.New("an id is a text or a number")
	}
	return m, nil
}

// check returns an error if a message has not the form of its method. Unknown methods are refused in the
// answer.
func check(m rpc.Message) error {
	known := methods.Of(m.Method)
	if !m.Request || !known.FromClient() {
		return nil
	}
	switch {
	case known.Notification && m.ID != nil:
		return fmt.Errorf("invalid request: unexpected id for %q", m.Method)
	case !known.Notification && m.ID == nil:
		return fmt.Errorf("invalid request: missing id for %q", m.Method)
	case !known.OptionalParams && len(m.Params) == 0:
		return errors.New(`invalid request: missing required "params"`)
	}
	return nil
}

// serve answers a POST of the session's client.
func (s *streamable) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	if len(r.Header.Values(HeaderLastEventID)) > 0 {
		http.Error(w, "can't send Last-Event-ID for POST request", http.StatusBadRequest)
		return
	}
	p, err := readPosted(body)
	for _, m := range p.messages {
		err = errors.Join(err, check(m))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	version := cmp.Or(r.Header.Get(message.HeaderVersion), message.BatchVersion)
	if p.batch && version > message.BatchVersion {
		http.Error(w, "JSON-RPC batching is not supported in 2025-06-18 and later (request version: "+version+")", http.StatusBadRequest)
		return
	}
	if len(p.calls) == 0 {
		for _, m := range p.messages {
			s.take(context.WithoutCancel(r.Context()), m, r.Header)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.answer(w, r, p, version)
}

// answer answers the requests in a POST by a stream, which goes on when the client leaves.
func (s *streamable) answer(w http.ResponseWriter, r *http.Request, p posted, version string) {
	to := &stream{session: s, id: rand.Text(), request: encodeID(p.calls[0].ID), done: make(chan struct{}), waits: len(p.calls)}
	if p.batch {
		to.request = ""
	}
	requests, twice, ok := s.begin(to, p.calls...)
	switch {
	case !ok:
		http.Error(w, "session is closing", http.StatusNotFound)
		return
	case twice != nil:
		answerError(w, http.StatusBadRequest, twice, duplicate(twice))
		return
	}
	s.keep(to)
	streamHeader(w.Header())
	if first := p.calls[0]; first.Method == methods.Initialize {
		w.Header().Set(message.HeaderSessionID, s.id)
		version = versionOf(first.Params)
	}
	reads := to.open(w, r)
	defer reads.leave()
	to.begin(reads, version >= message.NewestLegacyVersion)
	ctx := context.WithoutCancel(r.Context())
	for _, m := range p.messages {
		if !m.Request || m.ID == nil {
			s.take(ctx, m, r.Header)
			continue
		}
		s.call(ctx, m, r.Header, requests[0])
		requests = requests[1:]
	}
	reads.wait()
}

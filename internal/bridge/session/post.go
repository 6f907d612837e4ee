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
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// streamable is a session over streamable HTTP that is open in this process.
type streamable struct {
	*Session
	store *Store
	own   *stream // the one that belongs to no request

	// Store.mu guards these: what is in progress, when the last request ended, and what closes the session
	// when it has been idle.
	posts, gets int
	quiet       time.Time
	timer       *time.Timer
}

// newStreamable returns a session. A restored one has the parameters of its first request.
func newStreamable(s *Store, id string, params *mcp.InitializeParams) *streamable {
	own := &stream{}
	x := &streamable{
		Session: newSession(&s.host, ConnKind{posted: true, LegacyOnly: true}, own, params), store: s, own: own, quiet: time.Now(),
	}
	x.id, x.mark, own.session = id, newEpoch(), x
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

// posted are the messages of a POST.
type posted struct {
	messages []rpc.Message
	calls    []rpc.Message // those of them that are answered
	batch    bool
}

// readPosted reads the messages in a body.
func readPosted(body []byte) (posted, error) {
	each, batch := rpc.Batch(body)
	if len(body) == 0 {
		return posted{}, errors.New("POST requires a non-empty body")
	}
	if !batch {
		each = []json.RawMessage{body}
	}
	if len(each) == 0 {
		return posted{}, errors.New("malformed payload: empty batch")
	}
	p := posted{batch: batch, messages: make([]rpc.Message, len(each))}
	for i, one := range each {
		m, err := readMessage(one)
		if err != nil {
			return posted{}, err
		}
		if batch && m.Method == methods.Initialize {
			return posted{}, fmt.Errorf("invalid request: %q must not be part of a batch", m.Method)
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
		return m, errors.New("malformed payload: not a JSON-RPC message")
	case !m.IsVersion2():
		return m, errors.New(`malformed payload: the message is not of JSON-RPC "2.0"`)
	case m.Request && m.Method == "":
		return m, errors.New("malformed payload: a method is a text")
	case m.ID != nil && !strings.ContainsRune(`"-0123456789`, rune(m.ID[0])):
		return m, errors.New("malformed payload: an id is a text or a number")
	}
	return m, checkID(m)
}

// checkID returns an error if a request has no id. Without one it would be taken for a notification.
func checkID(m rpc.Message) error {
	if known := methods.Of(m.Method); m.Request && m.ID == nil && known.FromClient() && !known.Notification {
		return fmt.Errorf("invalid request: missing id for %q", m.Method)
	}
	return nil
}

// check returns an error if a request or a notification has not the form of its method. Unknown methods are refused in the
// answer.
func check(m rpc.Message) error {
	known := methods.Of(m.Method)
	if !m.Request || !known.FromClient() {
		return nil
	}
	switch {
	case known.Notification && m.ID != nil:
		return fmt.Errorf("invalid request: unexpected id for %q", m.Method)
	case !known.OptionalParams && len(m.Params) == 0:
		return errors.New(`invalid request: missing required "params"`)
	}
	return nil
}

// read reads the messages in a body that the session may have. The version is that of the request, for a session without one.
func (s *streamable) read(body []byte, version string) (posted, error) {
	p, err := readPosted(body)
	for _, m := range p.messages {
		err = errors.Join(err, s.invalidAnswer(m), check(m))
	}
	if agreed := s.version(version); err == nil && p.batch && agreed > message.BatchVersion {
		err = fmt.Errorf("JSON-RPC batching is not supported in 2025-06-18 and later (version of the session: %s)", agreed)
	}
	return p, err
}

// serve answers a POST of the session's client.
func (s *streamable) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	if len(r.Header.Values(HeaderLastEventID)) > 0 {
		http.Error(w, "can't send Last-Event-ID for POST request", http.StatusBadRequest)
		return
	}
	version := cmp.Or(r.Header.Get(message.HeaderVersion), message.BatchVersion)
	p, err := s.read(body, version)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(p.calls) == 0 {
		for _, m := range p.messages {
			s.take(context.WithoutCancel(r.Context()), m, r.Header)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if first := p.calls[0]; !p.batch && !methods.Of(first.Method).FromClient() && !message.IsFraction(first.ID) {
		answerError(w, http.StatusOK, first.ID, unknownMethod(first.Method))
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
	s.store.events.open(to)
	streamHeader(w.Header())
	reads := to.open(w, r)
	defer reads.leave()
	begin := sync.OnceFunc(func() { to.begin(reads, version >= message.NewestLegacyVersion) })
	if first := p.calls[0]; first.Method == methods.Initialize {
		if params, err := initializeParams(first.Params); err == nil {
			version = params.ProtocolVersion
		}
		// The header names the session as soon as there is one, which may be long before the answer.
		requests[0].opened = func() {
			w.Header().Set(message.HeaderSessionID, s.id)
			begin()
		}
		requests[0].answering = func(error) { begin() }
	} else {
		begin()
	}
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

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// Session is a session with a client, over any transport.
type Session struct {
	host *Host
	// id is empty over one stream. mark distinguishes the questions of this session in this process from those
	// of an earlier process; it is empty for a session that ends with the process.
	id, mark string
	kind     ConnKind
	// apart takes what belongs to no request of the client.
	apart sender
	// closing is done when the session takes no more messages, and over is closed when its requests have ended, too.
	closing context.Context //nolint:containedctx // It is the life of the session.
	close   context.CancelFunc
	over    chan struct{}

	mu sync.Mutex
	// params are those of the client's first request, nil before it.
	params    *mcp.InitializeParams
	requests  map[string]*request
	running   sync.WaitGroup
	questions map[string]*question // to the client, by id
	asked     int
	notes     notes
}

// sender sends messages to the client.
type sender interface {
	send(message []byte) error
	// forget says that the client needs a question no more that was sent.
	forget(question []byte)
}

// question is a question to the client.
type question struct {
	to    sender
	id    json.RawMessage
	text  []byte
	reply chan rpc.Message
}

// answerer takes what belongs to a request of the client.
type answerer interface {
	sender
	// answer sends the answer, nil if there is none.
	answer(message []byte)
}

// request is a request of the client in progress.
type request struct {
	of     *Session
	id     json.RawMessage
	method string
	to     answerer
	sent   message.Sent
	cancel context.CancelFunc
	// opened, if set, is called when the session has begun with this request, and answering with the outcome before the
	// answer is sent.
	opened    func()
	answering func(error)
}

// newSession returns a session. A restored one has the parameters of its first request.
func newSession(h *Host, kind ConnKind, apart sender, params *mcp.InitializeParams) *Session {
	closing, end := context.WithCancel(context.Background()) //nolint:forbidigo // A session outlives the request that begins it.
	return &Session{
		host: h, kind: kind, apart: apart, closing: closing, close: end, over: make(chan struct{}),
		params: params, requests: map[string]*request{}, questions: map[string]*question{},
	}
}

// ID returns the id of the session, empty over one stream.
func (s *Session) ID() string { return s.id }

// Params returns the parameters of the client's first request, nil before it.
func (s *Session) Params() *mcp.InitializeParams {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.params
}

// version returns the version of the protocol that was agreed in the first request, or unknown before it.
func (s *Session) version(unknown string) string {
	if params := s.Params(); params != nil {
		return params.ProtocolVersion
	}
	return unknown
}

// Close ends the session. It cancels the requests in progress, and waits for them.
func (s *Session) Close() error {
	s.mu.Lock()
	first := s.closing.Err() == nil
	s.close()
	for _, rq := range s.requests {
		if rq.cancel != nil {
			rq.cancel()
		}
	}
	s.mu.Unlock()
	if first {
		s.running.Wait()
		close(s.over)
	}
	<-s.over
	return nil
}

// cancelStreams cancels the requests that have no end of their own.
func (s *Session) cancelStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rq := range s.requests {
		if rq.cancel != nil && methods.Of(rq.method).Stream {
			rq.cancel()
		}
	}
}

// busy reports whether requests are in progress. Those of a POST that broke are, too.
func (s *Session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests) > 0
}

// Wait waits until the session has ended.
func (s *Session) Wait() error {
	<-s.over
	return nil
}

// requestKey is the context key of the request that is answered.
type requestKey struct{}

// Send is a message.Send. A message that is sent in the context of a request reaches the client in the answer
// to it, and others on the stream that belongs to no request.
func (s *Session) Send(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
	var raw json.RawMessage
	if params != nil {
		var err error
		if raw, err = jsondoc.Marshal(params); err != nil {
			return nil, err
		}
	}
	to := s.senderFor(ctx)
	if to == nil {
		return nil, errOver
	}
	if methods.Of(method).Notification {
		return nil, to.send(rpc.Append(nil, nil, method, raw))
	}
	return s.ask(ctx, to, method, raw)
}

// senderFor returns where messages go that are sent in a context, nil if its request was answered.
func (s *Session) senderFor(ctx context.Context) sender {
	s.mu.Lock()
	defer s.mu.Unlock()
	rq, ok := ctx.Value(requestKey{}).(*request)
	switch {
	case !ok || rq.of != s:
		return s.apart
	case s.requests[keyOf(rq.id)] != rq:
		return nil
	}
	return rq.to
}

// ask sends a question to the client and returns the answer as the client sent it.
func (s *Session) ask(ctx context.Context, to sender, method string, params json.RawMessage) (mcp.Result, error) {
	q := s.question(to, method, params)
	defer s.settle(q.id)
	if err := to.send(q.text); err != nil {
		return nil, err
	}
	select {
	case m := <-q.reply:
		if m.Fault != "" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client's answer is not a valid JSON-RPC answer: " + m.Fault}
		}
		if failure := m.Failure(); failure != nil {
			return nil, failure
		}
		return &message.Answer{Raw: m.Result}, nil
	case <-s.closing.Done():
		return nil, errGone
	case <-ctx.Done():
	}
	withdrawn := jsondoc.EncodeExact(map[string]any{"requestId": q.id, "reason": ctx.Err().Error()})
	if w := message.WithdrawalOf(ctx); w != nil {
		withdrawn = w.Merge(withdrawn)
	}
	_ = to.send(rpc.Append(nil, nil, methods.Cancelled, withdrawn)) // The request may have been answered.
	return nil, ctx.Err()
}

// question returns a question to the client, whose answer is awaited. No other process uses its id for this session: a
// user may answer a dialog minutes later, when another process serves the session and has asked something else.
func (s *Session) question(to sender, method string, params json.RawMessage) *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	id := json.RawMessage(strconv.Itoa(s.asked))
	if s.mark != "" {
		id = json.RawMessage(message.Quote(s.mark + "-" + string(id)))
	}
	q := &question{to: to, id: id, text: rpc.Append(nil, id, method, params), reply: make(chan rpc.Message, 1)}
	s.questions[keyOf(id)] = q
	return q
}

// settle ends the wait for the answer to a question, and returns the question if it was awaited.
func (s *Session) settle(id json.RawMessage) *question {
	s.mu.Lock()
	key := keyOf(id)
	q := s.questions[key]
	delete(s.questions, key)
	s.mu.Unlock()
	if q != nil {
		q.to.forget(q.text)
	}
	return q
}

// replied takes an answer of the client, valid or not. Those to questions of an earlier process have other ids.
func (s *Session) replied(m rpc.Message) {
	if q := s.settle(m.ID); q != nil {
		q.reply <- m
	}
}

// invalidAnswer returns an error for an invalid answer of the client, which ends its question all the same. One without
// an id, as to what the client could not read, is taken.
func (s *Session) invalidAnswer(m rpc.Message) error {
	if m.Fault == "" || m.ID == nil {
		return nil
	}
	s.replied(m)
	return errors.New("invalid answer: " + m.Fault)
}

// plainID matches ids in the form in which clients usually write them.
var plainID = regexp.MustCompile(`^("[A-Za-z0-9_.:-]*"|0|[1-9][0-9]{0,14})$`)

// keyOf returns an id in the form in which equal ids are equal.
func keyOf(id json.RawMessage) string {
	if plainID.Match(id) {
		return string(id)
	}
	if n, err := strconv.ParseFloat(string(id), 64); err == nil && n == math.Trunc(n) && math.Abs(n) < 1e15 {
		return strconv.FormatInt(int64(n), 10)
	}
	key, err := jsondoc.CanonicalExact(id)
	if err != nil {
		return string(id)
	}
	return key
}

// begin begins requests. It returns an id that is in use already, or false if the session has ended.
func (s *Session) begin(to answerer, calls ...rpc.Message) (begun []*request, twice json.RawMessage, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return nil, nil, false
	}
	for _, m := range calls {
		if s.requests[keyOf(m.ID)] != nil {
			for _, other := range begun {
				delete(s.requests, keyOf(other.id))
			}
			return nil, m.ID, true
		}
		rq := &request{of: s, id: m.ID, method: m.Method, to: to, sent: message.Sent{Params: m.Params}}
		s.requests[keyOf(m.ID)] = rq
		begun = append(begun, rq)
	}
	s.running.Add(len(begun))
	return begun, nil, true
}

// answered ends a request with an answer, which is left out if the client cancelled it. Without a result and an
// error there is none.
func (s *Session) answered(rq *request, result mcp.Result, err error) {
	defer s.running.Done()
	s.mu.Lock()
	delete(s.requests, keyOf(rq.id))
	s.mu.Unlock()
	if rq.answering != nil {
		rq.answering(err)
	}
	if _, withdrawn := rq.sent.Withdrawn.Get(); withdrawn || result == nil && err == nil {
		rq.to.answer(nil)
		return
	}
	rq.to.answer(encodeAnswer(rq.id, result, err))
}

// encodeAnswer returns the answer to a request.
func encodeAnswer(id json.RawMessage, result mcp.Result, err error) []byte {
	if failure := rpc.ErrorOf(err); failure != nil {
		return rpc.Answer(id, nil, failure)
	}
	large, ok := result.(*message.Result)
	if !ok || large.Size() < minPart {
		raw, err := jsondoc.Marshal(result)
		if err != nil {
			return rpc.Answer(id, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the result could not be encoded"})
		}
		return rpc.Answer(id, raw, nil)
	}
	// The encoder's buffers take several times the size of a result.
	var b bytes.Buffer
	b.Grow(large.Size() + 1<<10)
	head := rpc.Answer(id, nil, nil)
	b.Write(head[:len(head)-1])
	if err := large.Write(&b); err != nil {
		return rpc.Answer(id, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the result could not be encoded"})
	}
	b.WriteByte('}')
	return b.Bytes()
}

// cancelled cancels a request of the client.
func (s *Session) cancelled(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rq := s.requests[keyOf(p.ID)]
	if rq == nil || rq.method == methods.Initialize { // A client must not cancel it.
		return
	}
	rq.sent.Withdrawn.Set(params)
	if rq.cancel != nil {
		rq.cancel()
	}
}

// Answer answers what is between the two ends of a session. What it does not know does not exist.
func (s *Session) Answer(ctx context.Context, q *message.Request) (mcp.Result, error) {
	switch q.Method {
	case methods.Ping:
		return message.EmptyResult(), nil
	case methods.Initialize:
		return s.initialize(ctx, q)
	}
	return nil, unknownMethod(q.Method)
}

// unknownMethod is the error of a request with a method that does not exist.
func unknownMethod(method string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %.80q", method)}
}

// initialize begins the session.
func (s *Session) initialize(ctx context.Context, q *message.Request) (mcp.Result, error) {
	params, ok := q.Params.(*mcp.InitializeParams)
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: `invalid request: missing required "params"`}
	}
	s.mu.Lock()
	first := s.params == nil
	if first {
		params.ProtocolVersion = negotiated(params.ProtocolVersion)
		s.params = params
	}
	s.mu.Unlock()
	if !first {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: `duplicate "initialize" received`}
	}
	if rq, ok := ctx.Value(requestKey{}).(*request); ok && rq.opened != nil {
		rq.opened()
	}
	return &mcp.InitializeResult{
		ProtocolVersion: params.ProtocolVersion, Capabilities: message.AllCapabilities(), ServerInfo: message.Implementation,
	}, nil
}

// take handles a message without an answer. ctx outlasts it.
func (s *Session) take(ctx context.Context, m rpc.Message, header http.Header) {
	switch known := methods.Of(m.Method); {
	case !m.Request:
		s.replied(m)
	case m.Method == methods.Cancelled:
		s.cancelled(m.Params)
	case known.Notification && known.ToServers() && !known.OfCall:
		s.notify(ctx, m, header)
	}
}

// request returns a request of the client without its parameters.
func (s *Session) request(m rpc.Message, header http.Header, sent *message.Sent) *message.Request {
	return &message.Request{
		Method: m.Method, Params: &message.Params{}, Sent: sent, Era: message.Legacy, Header: header,
		Send: s.Send, Record: header.Get(callaudit.HeaderRecord),
	}
}

// call begins a request, which waits for the notifications before it. ctx outlasts it. Only the first request of a session
// is answered before what follows it.
func (s *Session) call(ctx context.Context, m rpc.Message, header http.Header, rq *request) {
	ctx = context.WithValue(context.WithValue(ctx, kindKey{}, s.kind), requestKey{}, rq)
	if m.Method == methods.Initialize {
		result, err := s.run(ctx, m, header, rq)
		s.answered(rq, result, err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	rq.cancel = cancel
	wait := func(context.Context) {}
	if m.Method != methods.Ping {
		wait = s.notes.before()
	}
	if _, withdrawn := rq.sent.Withdrawn.Get(); withdrawn || s.closing.Err() != nil {
		cancel()
	}
	s.mu.Unlock()
	go func() {
		defer cancel()
		wait(ctx)
		result, err := s.run(ctx, m, header, rq)
		s.answered(rq, result, err)
	}()
}

// run returns the answer to a request.
func (s *Session) run(ctx context.Context, m rpc.Message, header http.Header, rq *request) (mcp.Result, error) {
	if err := check(m); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
	}
	switch {
	case message.IsFraction(m.ID):
		return nil, message.ErrFractionalID
	case !methods.Of(m.Method).FromClient():
		return nil, unknownMethod(m.Method)
	case s.standsAlone(m):
		return s.host.Alone(ctx, m, &rq.sent, s.Send)
	case s.Params() == nil && m.Method != methods.Initialize && m.Method != methods.Ping:
		return nil, &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("method %q is invalid during session initialization", m.Method),
		}
	}
	params, err := decode(m)
	if err != nil {
		return nil, err
	}
	q := s.request(m, header, &rq.sent)
	q.Params = message.ParamsOrEmpty(params)
	q.ReadSent()
	return s.host.Answer(ctx, s, q)
}

// standsAlone reports whether a request is one of 2026-07-28, or of a method that only this version has, where
// the transport has such requests.
func (s *Session) standsAlone(m rpc.Message) bool {
	if s.kind.LegacyOnly {
		return false
	}
	if methods.Of(m.Method).In == methods.Modern {
		return true
	}
	q := message.Request{Sent: &message.Sent{Params: m.Params}, Params: &message.Params{}}
	q.ReadSent()
	return q.ClaimsModern()
}

// newEpoch returns a unique epoch.
func newEpoch() string { return rand.Text()[:8] }

// decode returns the parameters of a request.
func decode(m rpc.Message) (mcp.Params, error) {
	if m.Method == methods.Initialize {
		return initializeParams(m.Params)
	}
	return message.DecodeParams(m.Method, m.Params)
}

// initializeParams returns the parameters of a first request.
func initializeParams(raw json.RawMessage) (*mcp.InitializeParams, error) {
	var p struct {
		Version      string              `json:"protocolVersion"`
		Client       *mcp.Implementation `json:"clientInfo"`
		Capabilities json.RawMessage     `json:"capabilities"`
		Meta         mcp.Meta            `json:"_meta"`
	}
	params := &mcp.InitializeParams{}
	err := json.Unmarshal(raw, &p)
	ok := err == nil
	if ok {
		params.Meta, params.ProtocolVersion, params.ClientInfo = p.Meta, p.Version, p.Client
		params.Capabilities, ok = message.ParseClientCapabilities(p.Capabilities)
	}
	if !ok || bytes.Equal(raw, []byte("null")) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: another form than initialize has"}
	}
	return params, nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/exact"
	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
)

// A legacy server asks its client while it works on a request, and a modern
// client is only asked by an answer: it sends the request again, with what it
// has to say. In between the bridge keeps the request at the server. It is not
// made a second time.

const (
	// maxParked bounds the calls that wait for their clients, over all servers.
	// Each keeps a connection; a person answers one at a time.
	maxParked = 64
	// parkTime is how long a call waits for its client. A person who has to look
	// something up needs a minute or two.
	parkTime = 5 * time.Minute
	// gathering is how long the bridge waits for further questions when a server
	// has asked one, so that a client gets together what was asked together.
	gathering = 20 * time.Millisecond
)

// errAbandoned ends a call whose client did not come back.
var errAbandoned = errors.New("the client did not answer in time")

// parking is where calls wait for their clients.
type parking struct {
	limit time.Duration

	mu    sync.Mutex
	calls map[token.Nonce]*parked
}

func newParking() *parking { return &parking{limit: parkTime, calls: map[token.Nonce]*parked{}} }

// outcome is how a delivery ended.
type outcome struct {
	result mcp.Result
	again  bool
	err    error
}

// size returns how many calls are parked.
func (k *parking) size() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.calls)
}

// parked is a modern client's call to a legacy server that may ask.
type parked struct {
	id      token.Nonce
	request [32]byte // digest of what was asked for
	caps    *mcp.ClientCapabilities
	server  *mcp.Implementation
	link    *link
	cancel  context.CancelCauseFunc // ends the call at the server
	asked   chan struct{}           // capacity 1: there is a question
	done    chan struct{}           // closed when the call has ended, as outcome says
	outcome outcome

	mu        sync.Mutex
	round     uint32
	wishes    wishes // of the client's request that waits
	client    *mcp.ServerSession
	questions map[string]*question
	asks      int // questions so far
	timer     *time.Timer
}

// question is what a server waits to know.
type question struct {
	method string
	params mcp.Params
	answer chan mcp.Result // capacity 1
}

// parks prepares x to wait for its client, which can be asked as caps say.
func (b *Bridge) parks(q *query, u *upstream, l *link, caps *mcp.ClientCapabilities, x *exchange) *parked {
	p := &parked{
		request: q.digest(u), caps: caps, server: l.session.InitializeResult().ServerInfo, link: l,
		asked: make(chan struct{}, 1), done: make(chan struct{}),
		wishes: q.wishes(x.ctx), client: q.client, questions: map[string]*question{},
	}
	// Reading from crypto/rand does not fail.
	_, _ = rand.Read(p.id[:])
	x.ask = p.ask
	x.current = func() wishes {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.wishes
	}
	x.toClient = func(_ context.Context, method string, params mcp.Params) (mcp.Result, error) {
		return b.tellCurrent(p, method, params)
	}
	return p
}

// wishes returns what a modern request says of the messages before its answer.
func (q *query) wishes(ctx context.Context) wishes {
	level, _ := q.meta[metaLogLevel].(string)
	return wishes{ctx, q.meta[metaProgressToken], level}
}

// detach has send make the call at the server, which goes on when the client's
// request has ended.
func (b *Bridge) detach(p *parked, send func(context.Context) outcome) {
	ctx, cancel := context.WithCancelCause(b.ctx)
	p.cancel = cancel
	b.done.Go(func() {
		defer cancel(errDone)
		p.outcome = send(ctx)
		close(p.done)
	})
}

// tellCurrent sends a message to the client on its current request. While there
// is none, the client hears nothing.
func (b *Bridge) tellCurrent(p *parked, method string, params mcp.Params) (mcp.Result, error) {
	p.mu.Lock()
	ctx, client := p.wishes.ctx, p.client
	p.mu.Unlock()
	if ctx == nil {
		return nil, nil
	}
	return b.toClient(ctx, method, &mcp.ServerRequest[mcp.Params]{Session: client, Params: params})
}

// attend waits until the call ends or its server asks something, and returns the
// client's answer.
func (b *Bridge) attend(ctx context.Context, p *parked) outcome {
	for {
		select {
		case <-p.done:
			return p.outcome
		default:
		}
		select {
		case <-p.done:
		case <-p.asked:
			if !p.gather(ctx) {
				continue
			}
			if result, ok, err := b.leaveWaiting(p); ok || err != nil {
				return outcome{result: result, err: err}
			}
		case <-ctx.Done():
			p.cancel(context.Cause(ctx))
			<-p.done
		}
	}
}

// gather waits for more questions. It reports false where the call or the
// client's request ended meanwhile.
func (p *parked) gather(ctx context.Context) bool {
	timer := time.NewTimer(gathering)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.done:
	case <-ctx.Done():
	}
	return false
}

// leaveWaiting has the client answer what the server asks, and the call wait for
// it. ok is false where the server no longer wants to know anything.
func (b *Bridge) leaveWaiting(p *parked) (result mcp.Result, ok bool, err error) {
	requests, state, err := b.parking.enter(b, p)
	if err != nil {
		p.cancel(errDone)
		<-p.done
		return nil, false, err
	}
	if requests == nil {
		return nil, false, nil
	}
	answer := empty()
	answer.set("resultType", "input_required")
	answer.set("inputRequests", requests)
	answer.set("requestState", state)
	if p.server != nil {
		answer.Meta = mcp.Meta{metaServerInfo: p.server}
	}
	return answer, true, nil
}

// inputRequest is a question as a client gets it.
type inputRequest struct {
	Method string     `json:"method"`
	Params mcp.Params `json:"params"`
}

// enter leaves the call to its client and returns what that is to answer, nil
// for nothing.
func (k *parking) enter(b *Bridge, p *parked) (map[string]inputRequest, string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.calls) >= maxParked {
		return nil, "", stateError("too_many_waiting", fmt.Sprintf("%d calls wait for answers already: answer or leave some of them, then call again", maxParked))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.questions) == 0 {
		return nil, "", nil
	}
	requests := make(map[string]inputRequest, len(p.questions))
	for key, asked := range p.questions {
		requests[key] = inputRequest{asked.method, asked.params}
	}
	p.round++
	p.wishes, p.client = wishes{}, nil
	k.calls[p.id] = p
	p.timer = time.AfterFunc(k.limit, func() { k.abandon(p) })
	state := token.State{Process: b.signing.process, Call: p.id, Round: p.round, Request: p.request}
	return requests, b.signing.keys.Load().SignState(state), nil
}

// abandon ends a call whose client did not come back.
func (k *parking) abandon(p *parked) {
	k.mu.Lock()
	p.mu.Lock()
	waits := k.calls[p.id] == p && p.wishes.ctx == nil
	if waits {
		delete(k.calls, p.id)
	}
	p.mu.Unlock()
	k.mu.Unlock()
	if waits {
		p.cancel(errAbandoned)
	}
}

// retake returns the call that the request goes on with, nil where it begins
// one. Nothing happens to the call if the request is not the one that it waits
// for.
func (b *Bridge) retake(ctx context.Context, q *query, u *upstream) (*parked, error) {
	state, responses := q.input()
	if q.era != modern || state == "" {
		return nil, nil
	}
	s, err := b.signing.keys.Load().OpenState(state)
	if err != nil {
		return nil, nil //nolint:nilerr // It is another's: of a modern server, or forged.
	}
	switch {
	case s.Process != b.signing.process:
		return nil, stateError("request_state_expired", "the bridge has restarted since it asked, and the call has ended: call again without requestState")
	case s.Request != q.digest(u):
		return nil, stateError("request_state_invalid", "requestState belongs to another request")
	}
	w := q.wishes(ctx)
	p, err := b.parking.leave(s, w, q.client, responses)
	if err != nil {
		return nil, err
	}
	p.link.hear(ctx, w.level)
	p.take(responses)
	return p, nil
}

// leave returns the call that the state names, which waits no more: it goes on for
// the client's request with what that wishes.
func (k *parking) leave(s token.State, w wishes, client *mcp.ServerSession, responses mcp.InputResponseMap) (*parked, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, ok := k.calls[s.Call]
	if !ok {
		return nil, stateError("request_state_expired", "the call has ended, or it waited for an answer for too long: call again without requestState")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wishes.ctx != nil || p.round != s.Round {
		return nil, stateError("request_state_used", "the question that requestState belongs to was answered already")
	}
	if err := p.check(responses); err != nil {
		return nil, err
	}
	p.timer.Stop()
	delete(k.calls, p.id)
	p.wishes, p.client = w, client
	return p, nil
}

// check reports whether the answers are some to what the server asked. The caller
// holds p.mu.
func (p *parked) check(responses mcp.InputResponseMap) error {
	for key, asked := range p.questions {
		if response, ok := responses[key]; ok && !fits(asked.method, response) {
			return stateError("input_response_invalid", fmt.Sprintf("inputResponses[%q] is no answer to %s", key, asked.method))
		}
	}
	return nil
}

// take hands the answers to the server.
func (p *parked) take(responses mcp.InputResponseMap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, asked := range p.questions {
		// What stays unanswered is asked again.
		if result, ok := responses[key].(mcp.Result); ok {
			asked.answer <- result
			delete(p.questions, key)
		}
	}
	if len(p.questions) > 0 {
		p.signal()
	}
}

// fits reports whether a response is one to a request of method.
func fits(method string, response mcp.InputResponse) bool {
	switch response.(type) {
	case *mcp.ElicitResult:
		return method == methodElicit
	case *mcp.CreateMessageResult, *mcp.CreateMessageWithToolsResult:
		return method == methodSample
	case *mcp.ListRootsResult:
		return method == methodRoots
	}
	return false
}

// ask answers what the server asks during the call, when the client has.
func (p *parked) ask(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
	raw, err := json.Marshal(params)
	if err != nil || !declares(p.caps, method, raw) {
		return nil, methodNotFound(method)
	}
	asked := &question{method: method, params: params, answer: make(chan mcp.Result, 1)}
	p.mu.Lock()
	p.asks++
	key := strconv.Itoa(p.asks)
	p.questions[key] = asked
	p.signal()
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.questions, key)
		p.mu.Unlock()
	}()
	select {
	case result := <-asked.answer:
		return result, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-p.done:
		return nil, errDone
	}
}

// signal tells who attends the call that there is a question.
func (p *parked) signal() {
	select {
	case p.asked <- struct{}{}:
	default:
	}
}

// input returns what the request brings of an earlier question.
func (q *query) input() (state string, responses mcp.InputResponseMap) {
	switch p := q.params.(type) {
	case *mcp.CallToolParamsRaw:
		return p.RequestState, p.InputResponses
	case *mcp.GetPromptParams:
		return p.RequestState, p.InputResponses
	case *mcp.ReadResourceParams:
		return p.RequestState, p.InputResponses
	}
	return "", nil
}

// digest identifies what the request asks u for, however its JSON is written.
func (q *query) digest(u *upstream) [32]byte {
	var name string
	var arguments any
	switch p := q.params.(type) {
	case *mcp.CallToolParamsRaw:
		name = p.Name
		_ = exact.Decode(p.Arguments, &arguments) // What is no JSON the SDK has refused.
	case *mcp.GetPromptParams:
		name, arguments = p.Name, p.Arguments
	case *mcp.ReadResourceParams:
		name = p.URI
	}
	written, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // it was JSON before
	}
	return token.Digest([]byte(q.method), []byte(u.server.Name), []byte(name), written)
}

// stateError tells a client that its answer to a question cannot be taken.
func stateError(code, message string) error {
	data, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		panic(err) // strings always encode
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message, Data: data}
}

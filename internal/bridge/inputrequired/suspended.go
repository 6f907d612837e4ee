// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inputrequired

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
)

// A legacy server sends questions while it works on a request. A modern client gets questions only
// as a result, and sends its request again with the answers. In between the bridge keeps the first
// request open at the server. It never sends it twice.

const (
	// MaxSuspended limits the calls that wait for their clients, over all servers. Each keeps a
	// connection, and a person answers one question at a time.
	MaxSuspended = 64
	// suspendTime limits how long a call waits for its client. A person who has to look something
	// up needs a minute or two.
	suspendTime = 5 * time.Minute
	// gathering is how long the bridge waits for further questions after the first one, so that
	// the client gets simultaneous questions together.
	gathering = 20 * time.Millisecond
)

// errAbandoned ends a call whose client did not answer in time.
var errAbandoned = errors.New("the client did not answer in time")

// SuspendedCalls holds the calls that wait for their clients.
type SuspendedCalls struct {
	life context.Context // of the bridge
	// run starts a function in the background. The bridge waits for it when it closes.
	run    func(func())
	signer StateSigner
	Limit  time.Duration

	mu    sync.Mutex
	calls map[token.Nonce]*SuspendedCall
}

// StateSigner signs the state that clients send back.
type StateSigner interface {
	SignState(s token.State) string
	OpenState(text string) (token.State, error)
	// ProcessID distinguishes the calls of this process from those of another process with the
	// same keys.
	ProcessID() token.Nonce
}

// NewSuspendedCalls returns the suspended calls of a bridge, until life ends.
func NewSuspendedCalls(life context.Context, run func(func()), signer StateSigner) *SuspendedCalls {
	return &SuspendedCalls{life: life, run: run, signer: signer, Limit: suspendTime, calls: map[token.Nonce]*SuspendedCall{}}
}

// Outcome is how a delivery ended.
type Outcome struct {
	Result mcp.Result
	Again  bool
	Err    error
}

// Len returns the number of suspended calls.
func (k *SuspendedCalls) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.calls)
}

// SuspendedCall is a modern client's call to a legacy server that may ask.
type SuspendedCall struct {
	id      token.Nonce
	request [32]byte // digest of the request
	caps    *mcp.ClientCapabilities
	link    *upstream.Conn
	cancel  context.CancelCauseFunc // cancels the call at the server
	asked   chan struct{}           // capacity 1: signals a question
	done    chan struct{}           // closed when outcome is set
	outcome Outcome

	mu        sync.Mutex
	round     uint32
	current   message.RequestOptions // options of the waiting client request
	send      message.Send           // to the client of that request
	questions map[string]*question
	asks      int // number of questions so far
	timer     *time.Timer
}

// question is one question of a server.
type question struct {
	method string
	params json.RawMessage
	answer chan json.RawMessage // capacity 1
}

// Suspend prepares x to wait for its client. caps say which questions the client can answer.
func (k *SuspendedCalls) Suspend(q *message.Request, u *upstream.Server, l *upstream.Conn, caps *mcp.ClientCapabilities, x *inflight.Call) *SuspendedCall {
	p := &SuspendedCall{
		request: q.Digest(u.Config.Name), caps: caps, link: l,
		asked: make(chan struct{}, 1), done: make(chan struct{}),
		current: q.Options(x.Ctx), send: q.Send, questions: map[string]*question{},
	}
	// Reading from crypto/rand does not fail.
	_, _ = rand.Read(p.id[:])
	x.Ask = p.ask
	x.Current = func() message.RequestOptions {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.current
	}
	x.ToClient = func(_ context.Context, method string, params mcp.Params) (mcp.Result, error) {
		return p.sendCurrent(method, params)
	}
	return p
}

// Start calls send in the background. The call continues after the client's request has ended.
func (k *SuspendedCalls) Start(p *SuspendedCall, send func(context.Context) Outcome) {
	ctx, cancel := context.WithCancelCause(k.life)
	p.cancel = cancel
	k.run(func() {
		defer cancel(egress.ErrDone)
		p.outcome = send(ctx)
		close(p.done)
	})
}

// sendCurrent sends a message to the client on its current request. It drops the message if there
// is no current request.
func (p *SuspendedCall) sendCurrent(method string, params mcp.Params) (mcp.Result, error) {
	p.mu.Lock()
	ctx, send := p.current.Ctx, p.send
	p.mu.Unlock()
	if ctx == nil {
		return nil, nil
	}
	return send(ctx, method, params)
}

// Await waits until the call ends or its server asks a question. It returns the answer for the
// client.
func (k *SuspendedCalls) Await(ctx context.Context, p *SuspendedCall) Outcome {
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
			if result, ok, err := k.askClient(p); ok || err != nil {
				return Outcome{Result: result, Err: err}
			}
		case <-ctx.Done():
			p.cancel(context.Cause(ctx))
			<-p.done
		}
	}
}

// gather waits for more questions. It returns false if the call or the client's request ended.
func (p *SuspendedCall) gather(ctx context.Context) bool {
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

// askClient returns the questions as the client's result, and suspends the call. ok is false if
// the server cancelled all questions.
func (k *SuspendedCalls) askClient(p *SuspendedCall) (result mcp.Result, ok bool, err error) {
	requests, state, err := k.suspend(p)
	if err != nil {
		p.cancel(egress.ErrDone)
		<-p.done
		return nil, false, err
	}
	if requests == nil {
		return nil, false, nil
	}
	answer := message.EmptyResult()
	answer.Set("resultType", "input_required")
	answer.Set("inputRequests", requests)
	answer.Set("requestState", state)
	if info := p.link.ServerInfo(); info != nil {
		answer.Meta = mcp.Meta{message.MetaServerInfo: info}
	}
	return answer, true, nil
}

// suspend marks the call as waiting for its client and returns the open questions, or nil.
func (k *SuspendedCalls) suspend(p *SuspendedCall) (map[string]message.InputRequest, string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.calls) >= MaxSuspended {
		return nil, "", fault.NewState("too_many_waiting", fmt.Sprintf("%d calls wait for answers already: answer or leave some of them, then call again", MaxSuspended))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.questions) == 0 {
		return nil, "", nil
	}
	requests := make(map[string]message.InputRequest, len(p.questions))
	for key, asked := range p.questions {
		request := message.InputRequest{Method: asked.method, Params: asked.params}
		if request.Params == nil {
			request.Params = json.RawMessage("{}") // Clients read parameters in every question.
		}
		requests[key] = request
	}
	p.round++
	p.current, p.send = message.RequestOptions{}, nil
	k.calls[p.id] = p
	p.timer = time.AfterFunc(k.Limit, func() { k.abandon(p) })
	state := token.State{Process: k.signer.ProcessID(), Call: p.id, Round: p.round, Request: p.request}
	return requests, k.signer.SignState(state), nil
}

// abandon ends a call whose client did not return in time.
func (k *SuspendedCalls) abandon(p *SuspendedCall) {
	k.mu.Lock()
	p.mu.Lock()
	waits := k.calls[p.id] == p && p.current.Ctx == nil
	if waits {
		delete(k.calls, p.id)
	}
	p.mu.Unlock()
	k.mu.Unlock()
	if waits {
		p.cancel(errAbandoned)
	}
}

// Resume returns the suspended call that the request continues, or nil for a new call. A request
// that does not match leaves the call unchanged.
func (k *SuspendedCalls) Resume(ctx context.Context, q *message.Request, u *upstream.Server) (*SuspendedCall, error) {
	state, responses := q.Input()
	if q.Era != message.Modern || state == "" {
		return nil, nil
	}
	s, err := k.signer.OpenState(state)
	if err != nil {
		return nil, nil //nolint:nilerr // The state belongs to a modern server, or is forged.
	}
	switch {
	case s.Process != k.signer.ProcessID():
		return nil, fault.NewState("request_state_expired", "the bridge has restarted since it asked, and the call has ended: call again without requestState")
	case s.Request != q.Digest(u.Config.Name):
		return nil, fault.NewState("request_state_invalid", "requestState belongs to another request")
	}
	w := q.Options(ctx)
	p, err := k.resume(s, w, q.Send, responses)
	if err != nil {
		return nil, err
	}
	p.link.Audience.RaiseLogLevel(ctx, w.Level)
	p.answer(responses)
	return p, nil
}

// resume returns the call of the state. The call stops waiting and continues with the options of
// the new request.
func (k *SuspendedCalls) resume(s token.State, w message.RequestOptions, send message.Send, responses map[string]json.RawMessage) (*SuspendedCall, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, ok := k.calls[s.Call]
	if !ok {
		return nil, fault.NewState("request_state_expired", "the call has ended, or it waited for an answer for too long: call again without requestState")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current.Ctx != nil || p.round != s.Round {
		return nil, fault.NewState("request_state_used", "the question that requestState belongs to was answered already")
	}
	if err := p.checkAnswers(responses); err != nil {
		return nil, err
	}
	p.timer.Stop()
	delete(k.calls, p.id)
	p.current, p.send = w, send
	return p, nil
}

// checkAnswers checks that the answers match the server's questions. The caller holds p.mu.
func (p *SuspendedCall) checkAnswers(responses map[string]json.RawMessage) error {
	for key, asked := range p.questions {
		if response, ok := responses[key]; ok && !message.AnswersMethod(asked.method, response) {
			return fault.NewState("input_response_invalid", fmt.Sprintf("inputResponses[%q] is no answer to %s", key, asked.method))
		}
	}
	return nil
}

// answer passes the answers to the server.
func (p *SuspendedCall) answer(responses map[string]json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, asked := range p.questions {
		// Questions without an answer are asked again.
		if result, ok := responses[key]; ok {
			asked.answer <- result
			delete(p.questions, key)
		}
	}
	if len(p.questions) > 0 {
		p.signal()
	}
}

// ask waits for the client's answer to a question of the server, and returns it.
func (p *SuspendedCall) ask(ctx context.Context, method string, params *message.Params) (mcp.Result, error) {
	if !message.Declares(p.caps, method, params.Raw) {
		return nil, fault.MethodNotFound(method)
	}
	asked := &question{method: method, params: params.Raw, answer: make(chan json.RawMessage, 1)}
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
	case answer := <-asked.answer:
		return &message.Answer{Raw: answer}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-p.done:
		return nil, egress.ErrDone
	}
}

// signal wakes the goroutine in Await: there is a question.
func (p *SuspendedCall) signal() {
	select {
	case p.asked <- struct{}{}:
	default:
	}
}

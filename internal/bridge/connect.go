// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// A server that is used with an account of its user is out of service until the
// user has connected it, and again when the login has ended. Where the
// installation has a page for that, a client that can send people to a page is
// asked to when it needs the server, and others are told where it is.

// connectKey is the name under which a modern client answers that its user goes
// to the page. It is the bridge's own: servers choose theirs otherwise.
const connectKey = "hostedbridge.dev/connect"

// loginFault returns the error that says that only a new login helps, nil where
// err does not.
func loginFault(err error) *oauth.Error {
	if e, ok := errors.AsType[*oauth.Error](err); ok && e.Login {
		return e
	}
	return nil
}

// unconnected reports whether s has no login though it uses one.
func unconnected(s config.Server, v secret.View) bool {
	if s.OAuth == nil || s.OAuth.Token == "" || v.Unreadable(s.OAuth.Token) {
		return false
	}
	_, ok := v.Lookup(s.OAuth.Token)
	return !ok
}

// loggedOut reports whether the server waits for its user to log in. The caller
// holds u.mu.
func (u *upstream) loggedOut() bool { return u.grant.unconnected || u.expired }

// away returns the error of a server that is not available for the reason that
// it has now. The caller holds u.mu.
func (u *upstream) away() *unavailableError {
	e := &unavailableError{server: u.server.Name, reason: u.reason}
	if u.grant.fault != "" {
		e.reason = u.grant.fault
	}
	if u.loggedOut() {
		e.connect = u.server.ConnectURL
	}
	return e
}

// refusal returns the error of a server that cannot be connected to as g says.
func (u *upstream) refusal(g *grant) *unavailableError {
	e := &unavailableError{server: u.server.Name, reason: g.fault}
	if g.unconnected {
		e.connect = u.server.ConnectURL
	}
	return e
}

// ended notes that a call found the login to have ended, if err says so: probes
// may come much later, and who is asked to log in meanwhile would not be waited
// for. Of a login that another one has replaced it says nothing.
func (u *upstream) ended(err error) {
	login := loginFault(err)
	guarded, ok := errors.AsType[*guardedError](err)
	if login == nil || !ok {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if guarded.grant == u.grant {
		u.reason, u.expired = login.Error(), true
	}
}

// withLogin adds to what is known of the server whether its user has to log in,
// and where. The caller holds u.mu.
func (u *upstream) withLogin(h health.Server) health.Server {
	if u.loggedOut() {
		h.Reason, h.ConnectURL = health.ReasonLoginRequired, u.server.ConnectURL
	}
	return h
}

// invitation tells a model what its user has to do before the server can be
// used, empty for nothing.
func (u *upstream) invitation() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.loggedOut() || u.server.ConnectURL == "" {
		return ""
	}
	return "The user has to log in before this can be used, at " + u.server.ConnectURL + " in a browser."
}

// awaitLogin waits until the user has logged in, for as long as a client waits
// for an answer.
func (u *upstream) awaitLogin(ctx context.Context) {
	timer := time.NewTimer(u.timing.login)
	defer timer.Stop()
	for {
		u.mu.Lock()
		out, life, settled := u.loggedOut(), u.grant.life, u.settled
		u.mu.Unlock()
		if !out {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-u.over:
			return
		case <-timer.C:
			return
		case <-life.Done():
		case <-settled:
		}
	}
}

// heed takes out of the request what the user said to the invitation to log in at
// u, of which the server knows nothing. Who goes to log in is waited for.
func (q *query) heed(ctx context.Context, u *upstream) {
	state, responses := q.input()
	reply, ok := responses[connectKey]
	if !ok {
		return
	}
	q.invited = true
	responses = maps.Clone(responses)
	delete(responses, connectKey)
	respond(q.params, responses, state)
	if said, ok := reply.(*mcp.ElicitResult); ok && said.Action == "accept" {
		u.awaitLogin(ctx)
	}
}

// turnedAway returns the answer to a request for a server that is not available.
// Where all that is missing is a login the client is asked to have its user log
// in, once for a call: a user who was there and is not logged in would be sent
// there for ever.
func (q *query) turnedAway(e *unavailableError) (mcp.Result, error) {
	switch {
	case e.connect == "" || !mayAsk(q.method):
	case q.era == modern && !q.invited && opensPages(q.askable()):
		return e.question(), nil
	case q.session != nil && opensPages(q.session.who.caps):
		return nil, q.session.invite(e)
	case q.method == methodCallTool:
		return q.reply(e.details(), true)
	}
	return nil, rpcError(e, e.server)
}

// failed returns the answer to a request that has failed with err.
func (c *call) failed(err error) (mcp.Result, error) {
	c.upstream.ended(err)
	if away := unavailability(err, c.upstream.server.Name); away != nil && away.connect != "" {
		return c.query.turnedAway(away)
	}
	return nil, c.refusal(err)
}

// opensPages reports whether a client can send its user to a page.
func opensPages(caps *mcp.ClientCapabilities) bool {
	return caps != nil && caps.Elicitation != nil && caps.Elicitation.URL != nil
}

// elicitation is the question by which a client sends its user to the page. The
// id is for the era in which there is one, else empty.
func (e *unavailableError) elicitation(id string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Mode: "url", URL: e.connect, ElicitationID: id,
		Message: fmt.Sprintf("Log in to use the server %q.", e.server),
	}
}

// question is the answer that asks a modern client. There is nothing to remember
// until it comes back, and so no state.
func (e *unavailableError) question() *rawResult {
	answer := empty()
	answer.set("resultType", "input_required")
	answer.set("inputRequests", map[string]inputRequest{connectKey: {methodElicit, e.elicitation("")}})
	answer.Meta = mcp.Meta{metaServerInfo: implementation}
	return answer
}

// unconnectedDetails is what a tool's result says of a server without a login.
type unconnectedDetails struct {
	Kind       string `json:"error"`
	Message    string `json:"message"`
	Server     string `json:"server"`
	ConnectURL string `json:"connectURL"`
}

func (e *unavailableError) details() unconnectedDetails {
	return unconnectedDetails{health.ReasonLoginRequired, e.Error(), e.server, e.connect}
}

// invite returns the error that asks the session's client. The client is told
// when its user has logged in.
func (s *session) invite(e *unavailableError) error {
	s.mu.Lock()
	id := s.invitations[e.server]
	if id == "" {
		id = rand.Text()
		if s.invitations == nil {
			s.invitations = map[string]string{}
		}
		s.invitations[e.server] = id
	}
	s.mu.Unlock()
	data, err := json.Marshal(map[string]any{"elicitations": []*mcp.ElicitParams{e.elicitation(id)}})
	if err != nil {
		panic(err) // texts always encode
	}
	return &jsonrpc.Error{Code: mcp.CodeURLElicitationRequired, Message: e.Error(), Data: data}
}

// loggedIn tells the client that what it was asked to do for a server is done.
func (s *session) loggedIn(server string) {
	s.mu.Lock()
	id := s.invitations[server]
	delete(s.invitations, server)
	s.mu.Unlock()
	if id != "" {
		_, _ = s.tell(s.bridge.ctx, noteElicitDone, &mcp.ElicitationCompleteParams{ElicitationID: id})
	}
}

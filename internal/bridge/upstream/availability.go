// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/credential"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/template"
)

// loginMissing reports whether the server waits for its user to log in. The caller holds u.mu.
func (a *Availability) loginMissing() bool { return a.server.grant.Unconnected || a.expired }

// unavailable returns the error for an unavailable server, with the current reason. The caller
// holds u.mu.
func (a *Availability) unavailable() *fault.Unavailable {
	e := &fault.Unavailable{Server: a.server.Config.Name, Reason: a.reason}
	if a.server.grant.Fault != "" {
		e.Reason = a.server.grant.Fault
	} else if a.health.Reason == health.ReasonProgramEnded {
		e.LastLines = a.health.LastLines
	}
	if a.loginMissing() {
		e.ConnectURL = a.server.Config.ConnectURL
	}
	return e
}

// begin sets the health of a server that was not probed yet with its configuration and its secrets. The
// caller holds u.mu.
func (a *Availability) begin(now time.Time) {
	switch g, p := a.server.grant, a.server.Config.Pending; {
	case g.Fault != "":
		a.health = a.health.OutOfService(now, g.Fault)
	case p != nil:
		a.health = a.health.InService(now).NotReady(p.Since, p.Reason)
	default:
		a.health = a.health.InService(now)
	}
}

// starting returns the error of a server that is starting, else nil. The caller holds u.mu.
func (a *Availability) starting(now time.Time) *fault.Starting {
	h := a.health
	if h.Status != health.Connecting || h.Failures > 0 || a.server.grant.Fault != "" {
		return nil
	}
	e := &fault.Starting{Server: a.server.Config.Name, For: now.Sub(*h.Since)}
	if p := a.server.Config.Pending; p != nil {
		e.Reason = p.Reason
	}
	return e
}

// LoginEnded records that the login has ended, if the error of a call says so. The next probe may
// come much later, and until then the bridge would not wait for a user who logs in again. Errors
// of a replaced login are ignored.
func (a *Availability) LoginEnded(err error) {
	login := fault.LoginRequired(err)
	guarded, ok := errors.AsType[*fault.Guarded](err)
	if login == nil || !ok {
		return
	}
	a.server.mu.Lock()
	if guarded.Generation == a.server.grant.Generation {
		a.reason, a.expired = login.Error(), true
	}
	a.server.mu.Unlock()
	a.server.Observed()
}

// addLogin adds to the health report whether the user must log in, and where, or set a secret. The
// caller holds u.mu.
func (a *Availability) addLogin(h health.Server) health.Server {
	switch {
	case a.loginMissing():
		h.Reason, h.ConnectURL = health.ReasonLoginRequired, a.server.Config.ConnectURL
	case a.server.grant.Lacking:
		h.Reason = health.ReasonSecretMissing
	}
	return h
}

// Notice returns a text for a model: why the server is not available, and what its user must do
// before it can be used. It is empty for a server that is available, and for one that starts for as
// long as calls wait.
func (a *Availability) Notice() string {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	switch e, s := a.unavailable(), a.starting(time.Now()); {
	case e.ConnectURL != "":
		return "The user has to log in before this can be used, at " + e.ConnectURL + " in a browser."
	case s != nil && s.For >= a.server.Timing.Start:
		return "This server is still starting" + strings.TrimSuffix(": "+s.Reason, ": ") + "."
	case a.health.Status == health.Healthy || e.Reason == "":
		return ""
	default:
		return "This server is not available: " + e.Reason + "."
	}
}

// awaitLogin waits until the user has logged in, limited by the time that clients wait for an
// answer.
func (a *Availability) awaitLogin(ctx context.Context) {
	timer := time.NewTimer(a.server.Timing.Login)
	defer timer.Stop()
	for {
		a.server.mu.Lock()
		out, life, settled := a.loginMissing(), a.server.grant.Life, a.server.Connector.settled
		a.server.mu.Unlock()
		if !out {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-a.server.Over:
			return
		case <-timer.C:
			return
		case <-life.Done():
		case <-settled:
		}
	}
}

// TakeLoginReply removes from the request the user's answer to the login request at u, which the
// server does not know. If the user accepted, it waits for the login.
func (a *Availability) TakeLoginReply(ctx context.Context, q *message.Request) {
	_, responses := q.Input()
	reply, ok := responses[LoginInputKey]
	if !ok {
		return
	}
	q.Invited = true
	q.Responses = maps.Clone(responses)
	delete(q.Responses, LoginInputKey)
	var said struct {
		Action string `json:"action"`
	}
	if json.Unmarshal(reply, &said) == nil && said.Action == "accept" {
		a.awaitLogin(ctx)
	}
}

// Availability says whether a server can be used, and if not, why.
type Availability struct {
	server *Server

	health health.Server
	// reason says why the server cannot be reached, if the user or an administrator can fix it.
	reason string
	// expired says that the reason is an ended login.
	expired bool
	// mismatch says how the tools differ from the audited tools; empty if they are equal.
	mismatch string
}

// A server with a user's login is out of service until the user has logged in, and again when the
// login has ended. If the installation has a login page, a client that can open pages is asked to
// open it when it needs the server. Other clients get the address of the page.

// LoginInputKey is the key of a modern client's answer to a login request. Its prefix keeps it
// apart from the keys of servers.
const LoginInputKey = "hostedbridge.dev/connect"

// observe records the outcome of a probe or an attempt to connect. It ignores outcomes with
// previous secrets.
func (a *Availability) observe(g *credential.Grant, began time.Time, tools int, err error) {
	now := time.Now()
	p := health.Probe{At: now, Latency: now.Sub(began), Tools: tools}
	reason := fault.ReasonFor(err)
	if fault.RefusesCredentials(err) {
		reason = refusal(a.server.Config)
	}
	if err != nil {
		p.Failure, p.Reason = cmp.Or(reason, fault.Describe(err)), fault.Classify(err)
		p.LastLines, p.Final = fault.LastLines(err), fault.IsFinal(err)
	}
	a.server.mu.Lock()
	if g != a.server.grant {
		a.server.mu.Unlock()
		return
	}
	before := a.health.Status
	if err != nil || a.mismatch == "" {
		a.health = a.health.After(p)
	}
	a.reason, a.expired = "", fault.LoginRequired(err) != nil
	if err != nil {
		a.reason = a.health.Error
	}
	after := a.health
	a.server.mu.Unlock()
	a.server.Observed()
	if after.Status != before {
		a.server.Log.Info("server health changed", "from", before, "to", after.Status, "tools", after.Tools, "error", p.Failure)
	}
}

// refusal says that a server accepts no request, and which secrets of the user are in the requests.
func refusal(s bridgeconfig.Server) string {
	var names []string
	for _, text := range s.Templates() {
		if t, err := template.Parse(text); err == nil {
			names = append(names, t.Names()...)
		}
	}
	if s.OAuth != nil && s.OAuth.Token != "" {
		names = append(names, s.OAuth.Token)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return "the server refuses requests without credentials, and none are configured"
	}
	return "the server refuses " + strings.Join(names, ", ")
}

// Report returns the last known health of the server.
func (a *Availability) Report() health.Server {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	return a.addLogin(a.health)
}

// ToolsMismatch returns the error of a server whose tools differ from the audited tools.
func (a *Availability) ToolsMismatch() error {
	if !a.server.Audited() {
		return nil
	}
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	if a.mismatch == "" {
		return nil
	}
	return &fault.Unavailable{Server: a.server.Config.Name, Reason: a.mismatch}
}

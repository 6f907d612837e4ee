// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// trail makes the audit entries of one HTTP request. Each of the tool calls in
// it gets one before its answer is complete at the client: from what the bridge
// tells, or else from the request. It belongs to the request's goroutine.
type trail struct {
	trails   *trails
	who      func() audit.Entry // what the entries share
	messages []rpcMessage
	began    time.Time
	// calls are how many tool calls there are, and left those of them that have
	// no entry yet.
	calls int
	left  []rpcMessage
	one   [1]rpcMessage // room for those of most requests
	// told counts the entries, and answers the answers to tool calls that were
	// passed on, or are about to be. There are never more of these.
	told, answers int
	// reported counts the calls that the bridge told of in time.
	reported int
	// noted are the tools of calls that had their entry when the bridge had not
	// told of them.
	noted []string
}

// trailOf returns the trail of a request whose principal is known.
func (s *Server) trailOf(c *gin.Context) *trail {
	found := stepsOf(c)
	if found.trail != nil {
		return found.trail
	}
	t := &trail{trails: s.trails, messages: messagesOf(c), began: time.Now()}
	t.left = t.one[:0]
	for i := range t.messages {
		if t.messages[i].isCall() {
			t.left = append(t.left, t.messages[i])
		}
	}
	t.calls = len(t.left)
	t.who = func() audit.Entry { return s.whoCalls(c.Request, found) }
	found.trail = t
	return t
}

// whoCalls returns what the entries of a request share.
func (s *Server) whoCalls(r *http.Request, found *steps) audit.Entry {
	if !found.callerKnown {
		found.caller, found.callerKnown = s.caller(r), true
		found.caller.UserID = string(found.principal.user)
		found.caller.Principal = found.principal.audited()
	}
	return found.caller
}

// audited returns p as an entry has it.
func (p principal) audited() audit.Principal {
	if p.grant != nil {
		return audit.Principal{Kind: audit.KindOAuth, ID: p.grant.subject.String(), Issuer: p.grant.issuer}
	}
	return audit.Principal{Kind: audit.KindUserKey, ID: p.keyID}
}

// caller returns what an entry says of a request, but for the principal.
func (s *Server) caller(r *http.Request) audit.Entry {
	rec := recordOf(r.Context())
	session := r.Header.Get("Mcp-Session-Id")
	if session == "" && r.URL.RawQuery != "" {
		session = r.URL.Query().Get("sessionid")
	}
	return audit.Entry{
		SessionHash:  s.trails.hasher.Session(session),
		SourceIPHash: s.trails.hasher.Address(s.source(r)),
		UserAgent:    r.Header.Get("User-Agent"),
		TraceID:      rec.traceID,
		RequestID:    rec.id,
	}
}

// auditCalls lets no answer to a tool call out without its entry, nor a call in
// while entries cannot be written.
func (s *Server) auditCalls(c *gin.Context) {
	t := s.trailOf(c)
	if len(t.left) > 0 && s.trails.failing.Load() {
		s.refuse(c, errAuditAway)
		return
	}
	recordOf(c.Request.Context()).trail = t
	defer t.end(c.Request.Context())
	c.Next()
}

// tell writes the entries of calls as the bridge tells of them.
func (t *trail) tell(told audit.Trailer) error {
	for _, call := range told.Calls {
		if t.late(call.Tool) {
			continue
		}
		e := t.who()
		if t.reported++; t.reported > toldPerCall*t.calls && !t.trails.extra.take(e.UserID, time.Now()) {
			continue
		}
		if e.Call, e.ReportedBy = call, audit.Bridge; call.ID != "" {
			e.ID = audit.EntryID(e.UserID, call.ID)
		}
		if err := t.write(e); err != nil {
			return err
		}
		// The tool's name is the server's here, and may not be the client's.
		i := slices.IndexFunc(t.left, func(m rpcMessage) bool { return audit.Name(m.Tool) == call.Tool })
		if len(t.left) > 0 {
			t.left = slices.Delete(t.left, max(i, 0), max(i, 0)+1)
		}
	}
	return nil
}

// late reports whether what is told of a call of this tool comes after the
// call's entry was written.
func (t *trail) late(tool string) bool {
	i := slices.Index(t.noted, tool)
	if i < 0 && len(t.left) > 0 || len(t.noted) == 0 {
		return false
	}
	t.noted = slices.Delete(t.noted, max(i, 0), max(i, 0)+1)
	return true
}

// answered is told of each JSON-RPC response before it is passed on. Where the
// bridge has told of fewer calls than were answered, the entry is made here.
func (t *trail) answered(a rpcAnswer) error {
	var to *rpcMessage
	for i := range t.messages {
		// Of several with one id it is taken for the answer to a call.
		if bytes.Equal(t.messages[i].ID, a.id) && (to == nil || !to.isCall()) {
			to = &t.messages[i]
		}
	}
	if to != nil && !to.isCall() {
		return nil
	}
	if t.answers++; t.told >= t.answers || len(t.left) == 0 {
		return nil
	}
	i := slices.IndexFunc(t.left, func(m rpcMessage) bool { return bytes.Equal(m.ID, a.id) })
	i = max(i, 0)
	if err := t.note(t.left[i], a.status, a.errorType); err != nil {
		return err
	}
	t.left = slices.Delete(t.left, i, i+1)
	return nil
}

// rest writes the entries that are still missing, all with this outcome.
func (t *trail) rest(status audit.Status, errorType string) error {
	for len(t.left) > 0 {
		if err := t.note(t.left[0], status, errorType); err != nil {
			return err
		}
		t.left = t.left[1:]
	}
	return nil
}

// refused writes the entry of a request that is refused as a whole: one, also
// for a batch, of whose calls none has run. It has the first call, and the number
// of them.
func (t *trail) refused(status audit.Status, errorType string, overlong bool) error {
	if t.calls < 2 || len(t.left) < t.calls {
		return t.rest(status, errorType)
	}
	first, size := t.left[0], fmt.Sprintf("batch of %d calls", t.calls)
	if overlong {
		size = fmt.Sprintf("batch of more than %d", maxBatch)
	}
	t.left = nil
	return t.noteAs(first, size, status, errorType)
}

// end writes what is missing when the request has ended without an answer to
// all of its calls. There is nobody left to be told that it cannot be written.
func (t *trail) end(ctx context.Context) {
	status, errorType := audit.UpstreamError, "no_answer"
	if ctx.Err() != nil {
		status, errorType = audit.Cancelled, "client_left"
		if p := endedBy(ctx); p != nil {
			errorType = p.code
		}
	}
	_ = t.rest(status, errorType)
}

// note writes the entry of a call of which the bridge has not told.
func (t *trail) note(m rpcMessage, status audit.Status, errorType string) error {
	return t.noteAs(m, "", status, errorType)
}

func (t *trail) noteAs(m rpcMessage, action string, status audit.Status, errorType string) error {
	e := t.who()
	e.ReportedBy = audit.Ingress
	e.Call = audit.Call{
		Tool: m.Tool, Method: m.Method, Action: action, ParamKeys: keysOf(m.Arguments), BytesIn: int64(len(m.Arguments)),
		Status: status, ErrorType: errorType, LatencyMS: time.Since(t.began).Milliseconds(),
		ProtocolVersion: m.ProtocolVersion,
	}
	if err := t.write(e); err != nil {
		return err
	}
	t.noted = append(t.noted, audit.Name(m.Tool))
	return nil
}

func (t *trail) write(e audit.Entry) error {
	e.Time = time.Now()
	if e.ID == "" {
		e.ID = rand.Text()
	}
	if err := t.trails.write(e); err != nil {
		return err
	}
	t.told++
	return nil
}

// auditRefusal writes the entries of a request that is answered with p: of its
// calls where they were read, and else of the request itself. A refusal goes out
// even if they cannot be written.
func (s *Server) auditRefusal(c *gin.Context, p *problem) {
	found, route := stepsOf(c), recordOf(c.Request.Context()).route
	calls := c.Request.Method == http.MethodPost && (route == routeMCP || route == routeSSE)
	switch {
	case found.principal.user == "":
	case !found.authenticated, calls && found.body == nil:
		s.auditUnread(c, p)
	case calls && p.status < http.StatusInternalServerError:
		_ = s.trailOf(c).refused(statusOfRefusal(p), p.code, found.overlong)
	case calls:
		_ = s.trailOf(c).rest(statusOfRefusal(p), p.code)
	}
}

func statusOfRefusal(p *problem) audit.Status {
	switch {
	case p.status == http.StatusTooManyRequests:
		return audit.RateLimited
	case p.status >= http.StatusInternalServerError:
		return audit.UpstreamError
	default:
		return audit.Denied
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"

	"github.com/hostedbridge/hostedbridge/internal/ingress/inflight"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// Request makes the audit entries of one HTTP request. Each of the tool calls in
// it gets one before its answer is complete at the client: from what the bridge
// tells, or else from the request. It belongs to the request's goroutine.
type Request struct {
	log    *Log
	origin Origin
	// entry is what the entries share, once there is one.
	entry audit.Entry
	// admitted says that the request may go to its bridge.
	admitted bool
	// told is what the access log says of the calls that the bridge told of.
	told audit.Trailer

	messages []jsonrpc.Request
	began    time.Time
	// calls are how many tool calls there are, and left those of them that have
	// no entry yet.
	calls int
	left  []jsonrpc.Request
	one   [1]jsonrpc.Request // room for those of most requests
	count counts
	// noted are the tools of calls that had their entry when the bridge had not
	// told of them.
	noted []string
	// session says that the request opens a session of HTTP+SSE: the answers to its
	// calls come on this stream, and their entries are those of other requests.
	session bool
	// later says that the answers to the calls come on the stream of a session.
	later bool
}

// counts are those of a request.
type counts struct {
	// entries are how many were written, and answers the answers to tool calls that
	// were passed on, or are about to be. There are never more of these.
	entries, answers int
	// reported are the calls that the bridge told of in time.
	reported int
}

// Origin is what the entries of a request say of where it is from.
type Origin struct {
	Principal authn.Principal
	Header    http.Header
	// Query is that of the URL, by which HTTP+SSE names the session.
	Query              string
	Source             netip.Addr
	TraceID, RequestID string
	// Route is the label of the route, and Start when the request began.
	Route string
	Start time.Time
}

// Open has r make the entries of those of the requests that call tools, unless it
// does already.
func (l *Log) Open(r *Request, from Origin, requests []jsonrpc.Request) {
	if r.log != nil {
		return
	}
	r.log, r.origin, r.messages, r.began = l, from, requests, time.Now()
	r.left = r.one[:0]
	for i := range requests {
		if requests[i].IsToolCall() {
			r.left = append(r.left, requests[i])
		}
	}
	r.calls = len(r.left)
}

// shared returns what the entries share.
func (t *Request) shared() audit.Entry {
	if t.entry.RequestID == "" {
		t.entry = t.log.entryOf(&t.origin)
	}
	return t.entry
}

func (l *Log) entryOf(from *Origin) audit.Entry {
	session := from.Header.Get("Mcp-Session-Id")
	if session == "" {
		session = sessionOf(from.Query)
	}
	return audit.Entry{
		UserID:       string(from.Principal.User),
		BridgeUID:    string(from.Principal.BridgeUID),
		Principal:    from.Principal.Audited(),
		SessionHash:  l.hasher.Session(session),
		SourceIPHash: l.hasher.Address(from.Source),
		UserAgent:    from.Header.Get("User-Agent"),
		TraceID:      from.TraceID,
		RequestID:    from.RequestID,
	}
}

// sessionOf returns the session that a query names, which is of one parameter.
func sessionOf(query string) string {
	_, session, _ := strings.Cut(query, "sessionid=")
	return session
}

// Admit lets no call in while entries cannot be written.
func (t *Request) Admit() error {
	if len(t.left) > 0 && t.log.failing.Load() {
		return problems.AuditAway
	}
	t.admitted = true
	return nil
}

// recordReported writes the entries of calls as the bridge tells of them.
func (t *Request) recordReported(told audit.Trailer) error {
	for _, call := range told.Calls {
		if t.late(call.Tool) {
			continue
		}
		e := t.shared()
		if t.count.reported++; t.count.reported > ToldPerCall*t.calls && !t.log.extra.take(e.UserID, time.Now()) {
			continue
		}
		if e.Call, e.ReportedBy = call, audit.Bridge; call.ID != "" {
			e.ID = audit.EntryID(e.UserID, call.ID)
		}
		if err := t.write(e); err != nil {
			return err
		}
		// The tool's name is the server's here, and may not be the client's.
		i := slices.IndexFunc(t.left, func(m jsonrpc.Request) bool { return audit.Name(m.Tool) == call.Tool })
		if len(t.left) > 0 {
			t.left = slices.Delete(t.left, max(i, 0), max(i, 0)+1)
		}
	}
	return nil
}

// late reports whether what is told of a call of this tool comes after the
// call's entry was written.
func (t *Request) late(tool string) bool {
	i := slices.Index(t.noted, tool)
	if i < 0 && len(t.left) > 0 || len(t.noted) == 0 {
		return false
	}
	t.noted = slices.Delete(t.noted, max(i, 0), max(i, 0)+1)
	return true
}

// answered is told of each JSON-RPC response before it is passed on. Where the
// bridge has told of fewer calls than were answered, the entry is made here.
func (t *Request) answered(a jsonrpc.Response) error {
	var to *jsonrpc.Request
	for i := range t.messages {
		// Of several with one id it is taken for the answer to a call.
		if bytes.Equal(t.messages[i].ID, a.ID) && (to == nil || !to.IsToolCall()) {
			to = &t.messages[i]
		}
	}
	if to != nil && !to.IsToolCall() {
		return nil
	}
	if t.count.answers++; t.count.entries >= t.count.answers || len(t.left) == 0 {
		return nil
	}
	i := slices.IndexFunc(t.left, func(m jsonrpc.Request) bool { return bytes.Equal(m.ID, a.ID) })
	i = max(i, 0)
	if err := t.recordCall(t.left[i], a.Status, a.ErrorType); err != nil {
		return err
	}
	t.left = slices.Delete(t.left, i, i+1)
	return nil
}

// recordMissing writes the entries that are still missing, all with this outcome.
func (t *Request) recordMissing(status audit.Status, errorType string) error {
	for len(t.left) > 0 {
		if err := t.recordCall(t.left[0], status, errorType); err != nil {
			return err
		}
		t.left = t.left[1:]
	}
	return nil
}

// refused writes the entry of a request that is refused as a whole: one, also
// for a batch, since none of its calls has run. It has the first call, and the number
// of them.
func (t *Request) refused(status audit.Status, errorType string, overlong bool) error {
	if t.calls < 2 || len(t.left) < t.calls {
		return t.recordMissing(status, errorType)
	}
	first, size := t.left[0], fmt.Sprintf("batch of %d calls", t.calls)
	if overlong {
		size = fmt.Sprintf("batch of more than %d", jsonrpc.MaxBatch)
	}
	t.left = nil
	return t.recordCallAs(first, size, status, errorType)
}

// End writes what is missing when the request has ended without an answer to
// all of its calls. There is nobody left to be told that it cannot be written.
func (t *Request) End(ctx context.Context) {
	if !t.admitted {
		return
	}
	status, errorType := audit.UpstreamError, "no_answer"
	if ctx.Err() != nil {
		status, errorType = audit.Cancelled, "client_left"
		if p := inflight.EndedBy(ctx); p != nil {
			errorType = p.Code
		}
	}
	_ = t.recordMissing(status, errorType)
}

// recordCall writes the entry of a call of which the bridge has not told.
func (t *Request) recordCall(m jsonrpc.Request, status audit.Status, errorType string) error {
	return t.recordCallAs(m, "", status, errorType)
}

func (t *Request) recordCallAs(m jsonrpc.Request, action string, status audit.Status, errorType string) error {
	e := t.shared()
	e.ReportedBy = audit.Ingress
	e.Call = audit.Call{
		Tool: m.Tool, Method: m.Method, Action: action, ParamKeys: jsonrpc.Keys(m.Arguments), BytesIn: int64(len(m.Arguments)),
		Status: status, ErrorType: errorType, LatencyMS: time.Since(t.began).Milliseconds(),
		ProtocolVersion: m.ProtocolVersion,
	}
	if err := t.write(e); err != nil {
		return err
	}
	t.noted = append(t.noted, audit.Name(m.Tool))
	return nil
}

func (t *Request) write(e audit.Entry) error {
	e.Time = time.Now()
	if e.ID == "" {
		e.ID = rand.Text()
	}
	if err := t.log.write(e); err != nil {
		return err
	}
	t.count.entries++
	return nil
}

// Refused writes the entries of a request that is answered with p, whose calls were
// read. It goes out even if they cannot be written.
func (t *Request) Refused(p *httpapi.Problem, overlong bool) {
	if p.Status < http.StatusInternalServerError {
		_ = t.refused(statusOfRefusal(p), p.Code, overlong)
		return
	}
	_ = t.recordMissing(statusOfRefusal(p), p.Code)
}

// OpenSession says that the request opens a session of HTTP+SSE.
func (t *Request) OpenSession() { t.session = true }

// AnsweredLater reports whether the request has calls whose answers come on the stream
// of a session.
func (t *Request) AnsweredLater() bool { return t.later && t.calls > 0 }

// Told returns what the access log says of the calls that the bridge told of: one
// of them, and how many more there were.
func (t *Request) Told() audit.Trailer { return t.told }

func statusOfRefusal(p *httpapi.Problem) audit.Status {
	switch {
	case p.Status == http.StatusTooManyRequests:
		return audit.RateLimited
	case p.Status >= http.StatusInternalServerError:
		return audit.UpstreamError
	default:
		return audit.Denied
	}
}

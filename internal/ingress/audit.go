// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// maxShown is how much of a name is logged, in bytes. Servers name their tools
// as they like; those that clients take have at most 128.
const maxShown = 128

// audited is the body of a bridge's answer. At its end it notes what the bridge
// tells of the calls in it, and before that end has reached the client it has
// their entries written: it keeps the last byte that matters back until then. Of
// a stream of events each is looked at before it is passed on.
type audited struct {
	io.ReadCloser

	of      *http.Response
	record  *record
	metrics *metrics
	trail   *trail // nil where no trail is kept, as for a health report
	events  *events
	later   bool // the bridge will tell of the calls on another stream

	kept   []byte // the end of the answer as far as it has come
	room   [8]byte
	ready  []byte // what did not fit into a reader's buffer
	err    error  // what follows it
	body   []byte // the beginning of an answer that is no stream of events
	silent bool   // the entries were made before the end: what the bridge tells then is late
}

const (
	// maxKeptBack bounds what follows the last byte that is not white space,
	// in bytes. Answers end with a line feed or nothing.
	maxKeptBack = 64
	// maxShort is how long an answer may be from which the outcome of a call
	// is read where the bridge does not tell, in bytes: errors are shorter.
	maxShort = 2 << 10
)

// newAudited returns the body of res for the client.
func newAudited(res *http.Response, rec *record, m *metrics) *audited {
	a := &audited{ReadCloser: res.Body, of: res, record: rec, metrics: m, trail: rec.trail}
	a.kept = a.room[:0]
	if a.later = answersLater(res, rec); a.later {
		// What has no answer has no body either.
		res.Header.Set("Content-Length", "0")
		return a
	}
	if a.trail == nil || !isEventStream(res.Header) {
		return a
	}
	if takesComments(res.Header) {
		a.events = &events{trail: a.trail, told: a.told, early: a.early}
	} else {
		a.err = a.early() // Nobody can look into it, or take anything out.
	}
	return a
}

// answersLater reports whether the calls' answers, and what the bridge tells of
// them, are on another stream: only that to a message of HTTP+SSE can say so.
func answersLater(res *http.Response, rec *record) bool {
	return res.StatusCode == http.StatusAccepted && res.Header.Get(audit.TrailerName) == audit.Later &&
		rec.route == routeSSE && rec.call != nil && rec.call.method == http.MethodPost
}

// Read implements io.Reader.
func (a *audited) Read(p []byte) (int, error) {
	switch {
	case a.later:
		return 0, a.finish(io.EOF)
	case len(a.ready) > 0 || a.err != nil:
		n := copy(p, a.ready)
		if a.ready = a.ready[n:]; len(a.ready) > 0 {
			return n, nil
		}
		return n, a.err
	case a.events != nil:
		return a.events.read(p, a.ReadCloser, a.finish)
	case a.trail != nil && len(a.trail.left) > 0 || len(a.kept) > 0:
		return a.readWhole(p)
	}
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		if err = a.finish(err); !errors.Is(err, io.EOF) {
			n = 0
		}
	}
	return n, err
}

// readWhole reads an answer of which the client must not have the end before
// the entries are written.
func (a *audited) readWhole(p []byte) (int, error) {
	if len(p) <= 2*maxKeptBack {
		// There may be no room for what was kept.
		roomy := make([]byte, 8*maxKeptBack)
		n, err := a.readWhole(roomy)
		a.ready, a.err = roomy[:n], err
		n = copy(p, a.ready)
		a.ready = a.ready[n:]
		return n, nil
	}
	n := copy(p, a.kept)
	m, err := a.ReadCloser.Read(p[n:])
	if room := maxShort - len(a.body); room > 0 {
		a.body = append(a.body, p[n:n+min(m, room)]...)
	}
	n += m
	a.kept = a.kept[:0]
	if err == nil {
		return a.keepBack(p, n)
	}
	if errors.Is(err, io.EOF) {
		err = a.finish(err)
	}
	if !errors.Is(err, io.EOF) {
		n = 0 // The client must not take it for complete.
	}
	return n, err
}

// keepBack keeps the end of p[:n] back, from the last byte that is not white
// space. Where too much of that follows, the entries are written now.
func (a *audited) keepBack(p []byte, n int) (int, error) {
	last := n
	for last > 0 && n-last < maxKeptBack {
		if last--; p[last] > ' ' {
			a.kept = append(a.kept, p[last:n]...)
			return last, nil
		}
	}
	if err := a.early(); err != nil {
		return 0, err
	}
	return n, nil
}

// early has all entries written from the request.
func (a *audited) early() error {
	a.silent = true
	return a.trail.rest(audit.Success, "")
}

// finish is called at the answer's end, before that reaches the client. It
// returns eof, or why the entries could not be written.
func (a *audited) finish(eof error) error {
	if err := a.note(); err != nil {
		return err
	}
	switch {
	case a.trail == nil:
		return eof
	case a.later:
		a.trail.left = nil
		return eof
	case a.events != nil:
		return eof // What has no answer yet gets its entry at the request's end.
	}
	if err := a.trail.rest(a.outcome()); err != nil {
		return err
	}
	return eof
}

// outcome tells how the calls ended whose bridge does not.
func (a *audited) outcome() (audit.Status, string) {
	if len(a.body) < maxShort {
		for answer := range answersIn(a.body) {
			if answer.status != audit.Success {
				return answer.status, answer.errorType
			}
		}
	}
	if a.of.StatusCode >= http.StatusBadRequest {
		return audit.ProtocolError, "http_" + codeLabel(a.of.StatusCode)
	}
	return audit.Success, ""
}

// note reads the trailer. A bridge is a tenant's: what is not in the form that
// bridges write leaves nothing.
func (a *audited) note() error {
	values := a.of.Trailer[audit.TrailerName]
	if len(values) == 0 || a.silent {
		return nil
	}
	if len(values) > 1 {
		values = []string{""} // Which of them were it?
	}
	return a.told(values[0])
}

// told takes what a bridge tells, in the trailer or in a stream.
func (a *audited) told(value string) error {
	told, err := audit.ParseTrailer(value)
	if err != nil {
		a.metrics.audited.WithLabelValues("invalid").Inc()
		return nil //nolint:nilerr // The entry is made of the request then.
	}
	a.metrics.audited.WithLabelValues("read").Inc()
	a.record.told(told)
	if a.trail == nil {
		return nil
	}
	return a.trail.tell(told)
}

// told keeps what the access log says of calls. Of the many on a long stream it
// is the first ones.
func (r *record) told(t audit.Trailer) {
	room := max(0, maxLogged-len(r.calls.Calls))
	r.calls.Dropped += t.Dropped + max(0, len(t.Calls)-room)
	r.calls.Calls = append(r.calls.Calls, t.Calls[:min(room, len(t.Calls))]...)
}

// maxLogged is how many calls are kept for the access log: more than fit into a
// trailer.
const maxLogged = 100

// callAttrs returns what the access log says of the calls of a request: how many
// there were, and of the first that failed, or else of the first, where it went
// and how it ended. However many there are, it is one line of the same length.
func callAttrs(told audit.Trailer) []slog.Attr {
	if len(told.Calls) == 0 {
		return nil
	}
	shown := told.Calls[0]
	for _, c := range told.Calls {
		if c.Status != audit.Success {
			shown = c
			break
		}
	}
	return []slog.Attr{
		slog.Int("calls", len(told.Calls)+told.Dropped),
		slog.String("server", printable(shown.Server)), slog.String("tool", printable(shown.Tool)),
		slog.String("callStatus", printable(string(shown.Status))),
	}
}

// printable returns a name in printable ASCII, others escaped, and not longer
// than maxShown.
func printable(name string) string {
	quoted := strconv.QuoteToASCII(name[:min(len(name), maxShown)])
	quoted = quoted[1 : len(quoted)-1]
	return quoted[:min(len(quoted), maxShown)]
}

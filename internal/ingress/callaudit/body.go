// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"

	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// auditedBody is the body of a bridge's answer. At its end it notes what the bridge
// tells of the calls in it, and before that end has reached the client it has
// their entries written: it keeps the last byte that matters back until then. Of
// a stream of events each is looked at before it is passed on.
type auditedBody struct {
	io.ReadCloser

	of      *http.Response
	request *Request
	events  *eventFilter
	later   bool // the answers come on another stream: this one ends when they have

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

// Hold puts what is told of the calls at the end of a bridge's answer before its
// body's end. session is whether the request is a message to a session of HTTP+SSE,
// whose answers may be on another stream.
func (t *Request) Hold(res *http.Response, session bool) {
	a := &auditedBody{ReadCloser: res.Body, of: res, request: t}
	res.Body = a
	a.kept = a.room[:0]
	// Only the answer to a message of HTTP+SSE can say that the calls' answers are on
	// another stream.
	a.later = session && res.StatusCode == http.StatusAccepted && res.Header.Get(audit.TrailerName) == audit.Later
	if a.later {
		// The client's answer has no body, and is complete before the bridge's ends.
		res.Header.Set("Content-Length", "0")
		res.Header.Del("Content-Type")
		t.later = true
		return
	}
	if !bridgeclient.IsEventStream(res.Header) {
		return
	}
	if res.Header.Get("Content-Encoding") != "" {
		a.err = a.recordBeforeAnswer() // Nobody can look into it, or take anything out.
		return
	}
	// The length of a short stream counts the comments that are taken out.
	res.Header.Del("Content-Length")
	res.ContentLength = -1
	a.events = &eventFilter{trail: t, told: a.reported, early: a.recordBeforeAnswer}
}

// Read implements io.Reader.
func (a *auditedBody) Read(p []byte) (int, error) {
	switch {
	case a.later:
		return 0, a.readLater(p)
	case len(a.ready) > 0 || a.err != nil:
		n := copy(p, a.ready)
		if a.ready = a.ready[n:]; len(a.ready) > 0 {
			return n, nil
		}
		return n, a.err
	case a.events != nil:
		return a.events.read(p, a.ReadCloser, a.finish)
	case len(a.request.left) > 0 || len(a.kept) > 0:
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

// readLater reads an answer of which the client has none to its end.
func (a *auditedBody) readLater(p []byte) error {
	for {
		n, err := a.ReadCloser.Read(p)
		a.body = append(a.body, p[:min(n, maxShort-len(a.body))]...)
		switch {
		case errors.Is(err, io.EOF):
			return a.finish(err)
		case err != nil:
			return err
		}
	}
}

// readWhole reads an answer of which the client must not have the end before
// the entries are written.
func (a *auditedBody) readWhole(p []byte) (int, error) {
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
func (a *auditedBody) keepBack(p []byte, n int) (int, error) {
	last := n
	for last > 0 && n-last < maxKeptBack {
		if last--; p[last] > ' ' {
			a.kept = append(a.kept, p[last:n]...)
			return last, nil
		}
	}
	if err := a.recordBeforeAnswer(); err != nil {
		return 0, err
	}
	return n, nil
}

// recordBeforeAnswer has all entries written from the request.
func (a *auditedBody) recordBeforeAnswer() error {
	a.silent = true
	return a.request.recordMissing(audit.Success, "")
}

// finish is called at the answer's end, before that reaches the client. It
// returns eof, or why the entries could not be written.
func (a *auditedBody) finish(eof error) error {
	if err := a.note(); err != nil {
		return err
	}
	switch {
	case a.events != nil:
		return eof // What has no answer yet gets its entry at the request's end.
	}
	if err := a.request.recordMissing(a.outcome()); err != nil {
		return err
	}
	return eof
}

// outcome tells how the calls ended whose bridge does not.
func (a *auditedBody) outcome() (audit.Status, string) {
	switch {
	case a.later && len(a.body) == 0:
		return audit.Cancelled, "client_left"
	}
	if len(a.body) < maxShort {
		for answer := range jsonrpc.Responses(a.body) {
			if answer.Status != audit.Success {
				return answer.Status, answer.ErrorType
			}
		}
	}
	if a.of.StatusCode >= http.StatusBadRequest {
		return audit.ProtocolError, "http_" + statusLabel(a.of.StatusCode)
	}
	return audit.Success, ""
}

// note reads the trailer. A bridge is a tenant's: what is not in the form that
// bridges write leaves nothing.
func (a *auditedBody) note() error {
	values := a.of.Trailer[audit.TrailerName]
	if len(values) == 0 || a.silent {
		return nil
	}
	if len(values) > 1 {
		values = []string{""} // Which of them were it?
	}
	return a.reported(values[0])
}

// reported takes what a bridge tells, in the trailer or in a stream.
func (a *auditedBody) reported(value string) error {
	told, err := audit.ParseTrailer(value)
	if err != nil {
		a.request.log.trailers.WithLabelValues("invalid").Inc()
		return nil //nolint:nilerr // The entry is made of the request then.
	}
	a.request.log.trailers.WithLabelValues("read").Inc()
	a.request.keepTold(told)
	return a.request.recordReported(told)
}

// keepTold keeps what the access log says of calls: their number, and the first
// that failed, or else the first. However many a bridge tells of on a long stream,
// the memory for them is that of one.
func (t *Request) keepTold(told audit.Trailer) {
	t.told.Dropped += told.Dropped
	for _, c := range told.Calls {
		c.ParamKeys = nil
		switch {
		case len(t.told.Calls) == 0:
			t.told.Calls = []audit.Call{c}
			continue
		case t.told.Calls[0].Status == audit.Success && c.Status != audit.Success:
			t.told.Calls[0] = c
		}
		t.told.Dropped++
	}
}

// statusLabel keeps the name of a status to the registered ones: a tenant's bridge
// may answer with any number.
func statusLabel(status int) string {
	if http.StatusText(status) == "" {
		return "other"
	}
	return strconv.Itoa(status)
}

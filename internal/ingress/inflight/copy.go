// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// BufferSize is what is read of an answer at once, in bytes. A JSON answer that
// fits into it is only begun once it is complete.
const BufferSize = 32 << 10

var buffers = sync.Pool{New: func() any { return new([BufferSize]byte) }}

// ResponseWriter is what an answer is copied to: a router's.
type ResponseWriter interface {
	http.ResponseWriter
	http.Flusher
	WriteHeaderNow()
}

// Copy writes a bridge's answer to the client. It returns an error only where
// nothing has been sent, and otherwise aborts an answer that breaks off, so that
// nobody takes it for complete.
func Copy(w ResponseWriter, res *http.Response) error {
	buf := buffers.Get().(*[BufferSize]byte)
	defer buffers.Put(buf)
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		begin(w, res)
		w.Flush() // A stream's client waits for the header, not for an event.
		copyAsItComes(w, res.Body, buf[:], w.Flush)
		return nil
	}
	// Nobody can use a part of it, so that nothing is lost by waiting for the
	// rest; one write then does, and a bridge that breaks off can be told.
	n, err := fill(res.Body, buf[:])
	switch {
	case errors.Is(err, io.EOF):
		if res.ContentLength < 0 {
			res.Header["Content-Length"] = []string{strconv.Itoa(n)}
		}
		begin(w, res)
		write(w, buf[:n])
		return nil
	case err != nil:
		return broken(err)
	}
	begin(w, res)
	write(w, buf[:n])
	copyAsItComes(w, res.Body, buf[:], func() {})
	return nil
}

// broken returns why there is no answer: what is a problem already, or the
// client's leaving, stays that.
func broken(err error) error {
	if _, ok := errors.AsType[*httpapi.Problem](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: read its answer: %w", problems.BridgeFailed, err)
}

// begin makes the header of res the answer's.
func begin(w ResponseWriter, res *http.Response) {
	h := w.Header()
	maps.Copy(h, res.Header)
	w.WriteHeader(res.StatusCode)
	w.WriteHeaderNow()
}

// fill reads until buf is full or there is an error, such as io.EOF.
func fill(from io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = from.Read(buf[n:])
		n += m
	}
	return n, err
}

// copyAsItComes writes what comes as it comes, and calls sent behind each piece.
func copyAsItComes(w io.Writer, from io.Reader, buf []byte, sent func()) {
	for {
		n, err := from.Read(buf)
		if n > 0 {
			write(w, buf[:n])
			sent()
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// write aborts the answer when the client is gone.
func write(w io.Writer, b []byte) {
	if len(b) == 0 {
		return
	}
	if _, err := w.Write(b); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// Resume writes a bridge's answer behind a header that the client has already. One
// that is no stream ends it: the client opens another and is told why.
func Resume(w ResponseWriter, res *http.Response) {
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return
	}
	buf := buffers.Get().(*[BufferSize]byte)
	defer buffers.Put(buf)
	copyAsItComes(w, res.Body, buf[:], w.Flush)
}

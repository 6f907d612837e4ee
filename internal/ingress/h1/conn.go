// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package h1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// inlineBody is up to which size, in bytes, a request is written before its
// answer is looked at. It fits into the buffers of both sockets, so that a peer
// that answers early and reads no further cannot keep us writing. Larger ones
// are written beside.
const inlineBody = 16 << 10

// ErrNotSent is why a request had no answer of which not one byte left: it may
// be sent again.
var ErrNotSent = errors.New("h1: nothing of the request was sent")

// Home takes its connection back when that may be used again.
type Home interface{ Keep() }

// Config says what of an answer is kept. It is shared by all connections and not
// changed.
type Config struct {
	// Header and Trailer hold the canonical names of the fields that are kept,
	// each as its own value.
	Header, Trailer map[string]string
}

// Conn is a connection to a peer that has proved who it is. It carries one
// exchange at a time, and belongs to whoever took it.
type Conn struct {
	config  *Config
	home    Home
	records *Records
	tls     net.Conn
	abort   func()
}

// NewConn returns a connection that speaks over tls, which itself reads from
// records and has shaken hands.
func NewConn(tls net.Conn, records *Records, config *Config, home Home) *Conn {
	return &Conn{config: config, home: home, records: records, tls: tls, abort: func() { _ = records.Conn.Close() }}
}

// Close ends the connection. It may be called while an exchange runs, which
// then fails.
func (c *Conn) Close() { c.abort() }

// Usable reports whether nothing has come since the last answer. It is to be
// asked right before the connection is used again.
func (c *Conn) Usable() bool { return c.records.untouched() }

// message buffers hold a request's header and, mostly, its body; a larger one
// is not put back.
var messages = sync.Pool{New: func() any { b := make([]byte, 0, inlineBody+4<<10); return &b }}

// readBuffers are those of answers that are being read. Idle connections have none.
var readBuffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Request is what goes out: a head that appends the request line and all header
// fields but Content-Length, and a body.
type Request struct {
	// Head appends "POST /path HTTP/1.1\r\n" and the fields, each with its
	// CRLF.
	Head interface{ AppendHead(b []byte) []byte }
	// Length is whether Content-Length is told though the body is empty.
	Length bool
	Body   []byte
}

// Do sends a request and returns its answer as soon as its header has come. The
// body must be closed; read to its end it gives the connection back. When ctx
// ends, the connection is closed, and reads of the body fail.
//
// The error is ErrNotSent if not one byte left, and ctx's own if that has ended.
func (c *Conn) Do(ctx context.Context, r Request) (*http.Response, error) {
	x := &exchange{conn: c, ctx: ctx}
	x.stop = context.AfterFunc(ctx, c.abort)
	sent := c.records.sent.Load()
	if err := x.write(r); err != nil {
		return nil, x.fail(err, sent)
	}
	x.buffer = readBuffers.Get().(*[bufferSize]byte)
	x.reader = reader{src: c.tls, buf: x.buffer[:]}
	h, err := x.reader.readHead(c.config.Header)
	if err != nil {
		return nil, x.fail(err, sent)
	}
	x.closes = h.closes
	x.body = bodyReader{from: &x.reader, left: max(h.length, 0), chunked: h.length == lengthChunked, keep: c.config.Trailer}
	x.response = http.Response{
		StatusCode: h.status, Header: h.header, ContentLength: max(h.length, lengthChunked), Body: x,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	return &x.response, nil
}

// exchange is one request and its answer. It is the answer's body.
type exchange struct {
	conn     *Conn
	ctx      context.Context
	stop     func() bool
	buffer   *[bufferSize]byte
	reader   reader
	body     bodyReader
	response http.Response
	closes   bool
	// writing gives the end of a write that goes on beside the reading.
	writing chan error
	ended   bool
	err     error
}

// AppendTo appends the whole message to b.
func (r Request) AppendTo(b []byte) []byte { return append(r.appendHead(b), r.Body...) }

func (r Request) appendHead(b []byte) []byte {
	b = r.Head.AppendHead(b)
	if r.Length || len(r.Body) > 0 {
		b = appendLength(b, len(r.Body))
	}
	return append(b, "\r\n"...)
}

func (x *exchange) write(r Request) error {
	buf := messages.Get().(*[]byte)
	b := r.appendHead((*buf)[:0])
	if len(r.Body) > inlineBody {
		x.writing = make(chan error, 1)
		go func() {
			_, err := x.conn.tls.Write(b)
			if err == nil {
				_, err = x.conn.tls.Write(r.Body)
			}
			x.writing <- err
		}()
		return nil
	}
	b = append(b, r.Body...)
	_, err := x.conn.tls.Write(b)
	if *buf = b; cap(b) <= 2*inlineBody {
		messages.Put(buf)
	}
	return err
}

// fail ends an exchange that has no answer.
func (x *exchange) fail(err error, sent int64) error {
	x.end(false)
	if x.writing != nil {
		// The connection is closed, so that it ends at once.
		err = errors.Join(err, <-x.writing)
	}
	switch {
	case x.ctx.Err() != nil:
		return x.ctx.Err()
	case x.conn.records.sent.Load() == sent:
		return errors.Join(ErrNotSent, err)
	}
	return err
}

// Read implements io.Reader.
func (x *exchange) Read(p []byte) (int, error) {
	if x.ended {
		return 0, x.err
	}
	n, err := x.body.read(p)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		x.response.Trailer = x.body.trailer
		x.err = io.EOF
		x.end(true)
		return n, io.EOF
	}
	if x.ctx.Err() != nil {
		err = x.ctx.Err()
	}
	x.err = err
	x.end(false)
	return n, err
}

// Close implements io.Closer. An answer that was not read to its end takes its
// connection with it.
func (x *exchange) Close() error {
	if !x.ended {
		x.err = http.ErrBodyReadAfterClose
		x.end(false)
	}
	return nil
}

// end gives the connection back if nothing is in doubt, and ends it otherwise.
func (x *exchange) end(complete bool) {
	if x.ended {
		return
	}
	x.ended = true
	clean := complete && !x.closes && x.reader.drained() && x.written()
	// Once stop has said that the connection is not being closed, it will not be.
	clean = x.stop() && clean
	if x.buffer != nil {
		x.reader.buf = nil
		readBuffers.Put(x.buffer)
		x.buffer = nil
	}
	if !clean {
		x.conn.Close()
		return
	}
	x.conn.home.Keep()
}

// written reports whether the whole request has left.
func (x *exchange) written() bool {
	if x.writing == nil {
		return true
	}
	select {
	case err := <-x.writing:
		return err == nil
	default:
		return false
	}
}

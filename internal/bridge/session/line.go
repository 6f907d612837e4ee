// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// line is a session with a client over one stream, which ends with the stream.
type line struct {
	*Session
	write func(message []byte) error
	// broken is called when a message cannot be written.
	broken func()

	writing sync.Mutex // held while a message is written
	ended   bool       // whether the stream has ended
}

// newLine returns a session over one stream. write is called for one message after the other.
func newLine(h *Host, kind ConnKind, write func(message []byte) error, broken func()) *line {
	l := &line{write: write, broken: broken}
	l.Session = newSession(h, kind, l, nil)
	return l
}

// send implements sender.
func (l *line) send(message []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.ended {
		return errOver
	}
	err := l.write(message)
	if err != nil {
		l.broken()
	}
	return err
}

// forget implements sender.
func (*line) forget([]byte) {}

// end ends the session, and the stream: nothing is written any more.
func (l *line) end() {
	_ = l.Close()
	l.writing.Lock()
	defer l.writing.Unlock()
	l.ended = true
}

// answer implements answerer.
func (l *line) answer(message []byte) {
	if message != nil {
		_ = l.send(message) // A stream that is broken ends the session.
	}
}

// batch are the requests in a batch, whose answers are sent together.
type batch struct {
	*line
	mu      sync.Mutex
	waits   int
	answers [][]byte
}

// answer implements answerer.
func (b *batch) answer(message []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if message != nil {
		b.answers = append(b.answers, message)
	}
	if b.waits--; b.waits == 0 && len(b.answers) > 0 {
		b.line.answer(append(append([]byte{'['}, bytes.Join(b.answers, []byte{','})...), ']'))
	}
}

// leaveTimeout limits how long requests in progress may take to end when the client closes its pipe.
const leaveTimeout = 5 * time.Second

// ServeStdio serves one client of either era over a pair of pipes, one message a line, until the client leaves,
// ctx ends or the bridge closes. Requests in progress are cancelled then: at once, or after leaveTimeout if the
// client has only closed its pipe to the bridge.
func (h Host) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	l := newLine(&h, ConnKind{Counts: true}, writeLines(ctx, out), end)
	read, failed, handled := make(chan []byte), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(read)
		failed <- readLines(ctx, in, read)
	}()
	go func() {
		defer close(handled)
		for text := range read {
			l.receive(ctx, text)
		}
	}()
	err := io.EOF
	select {
	case err = <-failed:
		if errors.Is(err, io.EOF) {
			l.finish(ctx, handled)
		}
	case <-ctx.Done():
	case <-h.Life.Done():
	}
	end()
	_ = in.Close()
	_ = out.Close()
	l.end()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// finish waits until the messages are handled and the requests have ended, for at most leaveTimeout. Nobody waits for
// streams on which the client listens.
func (l *line) finish(ctx context.Context, handled <-chan struct{}) {
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		<-handled
		l.cancelStreams()
		l.running.Wait()
	}()
	timer := time.NewTimer(leaveTimeout)
	defer timer.Stop()
	select {
	case <-finished:
	case <-timer.C:
	case <-ctx.Done():
	case <-l.host.Life.Done():
	}
}

// writeLines returns a function that writes a message as a line to out. It returns when ctx ends, though out may be a
// pipe that nobody reads, whose Write returns never.
func writeLines(ctx context.Context, out io.Writer) func(message []byte) error {
	messages, written := make(chan []byte), make(chan error, 1)
	go func() {
		for {
			select {
			case message := <-messages:
				_, err := out.Write(append(message, '\n'))
				written <- err
			case <-ctx.Done():
				return
			}
		}
	}()
	return func(message []byte) error {
		select {
		case messages <- message:
		case <-ctx.Done():
			return errOver
		}
		select {
		case err := <-written:
			return err
		case <-ctx.Done():
			return errOver
		}
	}
}

// readLines reads lines until in or ctx ends.
func readLines(ctx context.Context, in io.Reader, to chan<- []byte) error {
	lines := bufio.NewReader(in)
	for {
		text, err := readLine(lines)
		if err != nil {
			return err
		}
		select {
		case to <- text:
		case <-ctx.Done():
			return io.EOF
		}
	}
}

// readLine returns the next line that is not empty.
func readLine(lines *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := lines.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > message.MaxBody:
			return nil, fmt.Errorf("the client's message exceeds %d bytes", message.MaxBody)
		case errors.Is(err, bufio.ErrBufferFull):
		case len(bytes.TrimSpace(line)) > 0:
			return line, nil
		case err != nil:
			return nil, err
		default:
			line = line[:0]
		}
	}
}

// receive handles what the client sends. ctx is that of the stream.
func (l *line) receive(ctx context.Context, text []byte) {
	p, err := readPosted(text)
	if err == nil && p.batch && l.version(message.NewestLegacyVersion) > message.BatchVersion {
		err = errors.New("JSON-RPC batching is not supported in this version of the protocol")
	}
	if err != nil {
		failure := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
		if !json.Valid(text) {
			failure.Code = jsonrpc.CodeParseError
		}
		l.answer(rpc.Answer([]byte("null"), nil, failure))
		return
	}
	to := answerer(l)
	if p.batch {
		to = &batch{line: l, waits: len(p.calls)}
	}
	for _, m := range p.messages {
		if m.Request && m.ID != nil {
			l.accept(ctx, to, m)
		} else {
			l.take(ctx, m, nil)
		}
	}
}

// accept begins a request.
func (l *line) accept(ctx context.Context, to answerer, m rpc.Message) {
	requests, twice, ok := l.begin(to, m)
	switch {
	case !ok: // The stream has ended.
	case twice != nil:
		to.answer(rpc.Answer(twice, nil, duplicate(twice)))
	default:
		l.call(ctx, m, nil, requests[0])
	}
}

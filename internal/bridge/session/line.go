// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

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

// ServeStdio serves one client of either era over a pair of pipes, one message a line, until the client leaves,
// ctx ends or the bridge closes. Requests in progress are cancelled then.
func (h Host) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	l := newLine(&h, ConnKind{Counts: true}, func(message []byte) error {
		_, err := out.Write(append(message, '\n'))
		return err
	}, end)
	read, failed := make(chan []byte), make(chan error, 1)
	go func() {
		lines := bufio.NewReader(in)
		for {
			text, err := readLine(lines)
			if err != nil {
				failed <- err
				return
			}
			select {
			case read <- text:
			case <-ctx.Done():
				return
			}
		}
	}()
	var err error
	for err == nil {
		select {
		case text := <-read:
			l.receive(ctx, text)
			continue
		case err = <-failed:
		case <-ctx.Done():
			err = io.EOF
		case <-h.Life.Done():
			err = io.EOF
		}
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
	if err == nil && p.batch && !l.batches() {
		err = errors.New("JSON-RPC batching is not supported in this version of the protocol")
	}
	if err != nil {
		l.answer(rpc.Answer([]byte("null"), nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}))
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

// batches reports whether the client's version of the protocol has batches.
func (l *line) batches() bool {
	params := l.Params()
	return params != nil && params.ProtocolVersion == message.BatchVersion
}

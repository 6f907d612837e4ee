// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// connection carries the messages to and from one run of a program.
type connection struct {
	dialect *dialect
	pipes   stdio.Pipes

	incoming chan rpc.Message
	outgoing chan outgoing
	closing  chan struct{}
	done     chan struct{} // closed when the output has ended
	err      error         // why the output ended, set before done is closed
	ending   sync.Once
	sent     chan struct{} // closed when nothing more is sent
}

// dialect holds the message format and the log of all connections to one program.
type dialect struct {
	log     *slog.Logger
	hide    secret.Redactor
	grace   time.Duration // how long a closing connection waits for the program's end
	headers atomic.Bool   // whether the program sends headers before its messages
}

// outgoing is a message to send, and a channel for the result.
type outgoing struct {
	text []byte
	fate chan error // capacity 1
}

// newConnection returns a connection over p. The context is used only for its values, in the log.
func newConnection(ctx context.Context, p stdio.Pipes, d *dialect) *connection {
	c := &connection{
		dialect: d, pipes: p,
		incoming: make(chan rpc.Message), outgoing: make(chan outgoing),
		closing: make(chan struct{}), done: make(chan struct{}), sent: make(chan struct{}),
	}
	go c.listen(context.WithoutCancel(ctx))
	go c.send()
	return c
}

// Read implements client.Stream. After the program's end it returns a *stdio.ProgramError, after Close
// io.EOF.
func (c *connection) Read() (rpc.Message, error) {
	select {
	case m := <-c.incoming:
		return m, nil
	case <-c.closing:
		return rpc.Message{}, io.EOF
	case <-c.done:
	}
	select {
	case <-c.closing: // The program ended because the connection was closed.
		return rpc.Message{}, io.EOF
	default:
		return rpc.Message{}, c.err
	}
}

// listen reads to the end of the program's output, even while the connection closes: a program
// with a full output pipe could not end.
func (c *connection) listen(ctx context.Context) {
	defer close(c.done)
	in := newMessages(c.pipes, MaxMessage)
	heard, err := c.receive(ctx, in)
	if errors.Is(err, errTooLong) {
		c.err = &stdio.ProgramError{Program: c.pipes.Name(), Reason: errTooLong.Error() + ", the limit, and was ended"}
		c.pipes.End()
		// The program has a limited time to end.
		late := time.AfterFunc(c.dialect.grace, c.pipes.Release)
		_, _ = io.Copy(io.Discard, c.pipes)
		late.Stop()
		return
	}
	c.err = c.pipes.Outcome()
	var ended *stdio.ProgramError
	if !heard && errors.As(c.err, &ended) {
		c.err = unstarted(*ended)
	}
}

// receive passes messages on until an error, and reports whether there were any.
func (c *connection) receive(ctx context.Context, in *messages) (heard bool, err error) {
	noise := stdio.NewLineLogger(c.dialect.log, slog.LevelDebug, "the program writes", c.dialect.hide)
	noisy := false
	for {
		text, framed, err := in.next()
		if err != nil {
			return heard, err
		}
		all, err := decode(text)
		if err != nil {
			if !noisy {
				noisy = true
				c.dialect.log.InfoContext(ctx, "the program writes to stdout what is no message of MCP; such lines are skipped, and logged at debug level")
			}
			noise.Line(ctx, time.Now(), string(text))
			continue
		}
		heard = true
		in.decide(framed)
		c.dialect.headers.Store(in.framing == headers)
		for _, m := range all {
			select {
			case c.incoming <- m:
			case <-c.closing:
			}
		}
	}
}

// errNoise says that a text is no message.
var errNoise = errors.New("no message of JSON-RPC")

// decode returns the messages in a text of a program. What could be meant as an answer is one, with what is
// wrong with it: its request must not wait for ever.
func decode(text []byte) ([]rpc.Message, error) {
	each := []json.RawMessage{text}
	if all, ok := rpc.Batch(text); ok {
		each = all
	}
	all := make([]rpc.Message, 0, len(each))
	for _, one := range each {
		m, ok := rpc.Read(one)
		if !ok || !m.Request && m.Fault != "" && !m.IsAnswer() || m.Request && !m.Versioned() {
			return nil, errNoise
		}
		all = append(all, m)
	}
	return all, nil
}

// Write implements client.Stream. If the program does not read, Write waits until ctx ends; the
// message is then sent as a whole or not at all.
func (c *connection) Write(ctx context.Context, _ http.Header, text []byte) error {
	if c.dialect.headers.Load() {
		text = append([]byte("Content-Length: "+strconv.Itoa(len(text))+"\r\n\r\n"), text...)
	} else {
		text = append(text, '\n')
	}
	out := outgoing{text, make(chan error, 1)}
	select {
	case c.outgoing <- out:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closing:
		return io.ErrClosedPipe
	case <-c.done:
		return c.err
	}
	select {
	case err := <-out.fate:
		return c.blame(ctx, err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// blame replaces a broken-pipe error by its cause, which is known when the program's output ends.
func (c *connection) blame(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-c.done:
		return c.err
	case <-c.closing:
	case <-ctx.Done():
	case <-timer.C:
	}
	return fmt.Errorf("write to the program: %w", err)
}

// send writes messages one after the other.
func (c *connection) send() {
	defer close(c.sent)
	for {
		select {
		case out := <-c.outgoing:
			_, err := c.pipes.Write(out.text)
			out.fate <- err
		case <-c.closing:
			return
		case <-c.done:
			return
		}
	}
}

// Close implements client.Stream. It waits until all processes of the program have ended, within
// the time limits for a program's end.
func (c *connection) Close() error {
	c.ending.Do(func() {
		close(c.closing)
		c.pipes.End()
	})
	timer := time.NewTimer(c.dialect.grace)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
	}
	c.pipes.Release()
	<-c.done
	<-c.sent
	return nil
}

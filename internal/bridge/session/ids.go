// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bufio"
	"bytes"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

// keepIDs replaces the body of a message by one whose ids the SDK keeps, and returns it. What is too
// long stays so: the SDK refuses it.
func keepIDs(r *http.Request) []byte {
	body, _ := io.ReadAll(io.LimitReader(r.Body, message.MaxBody+1)) // The SDK meets the same error.
	body = message.KeepIDs(body)
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
	return body
}

// idWriter is a response in which ids are as they were sent. The SDK writes each message at once.
type idWriter struct{ http.ResponseWriter }

// Unwrap serves http.ResponseController.
func (w idWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w idWriter) Write(p []byte) (int, error) {
	return len(p), second(w.ResponseWriter.Write(message.ShowIDs(p)))
}

func second(_ int, err error) error { return err }

// NewStdio returns the transport of a client over a pair of pipes, one message a line.
func NewStdio(in io.ReadCloser, out io.WriteCloser) mcp.Transport {
	return &mcp.IOTransport{Reader: &idLines{from: in, lines: bufio.NewReader(in)}, Writer: idPipe{out}}
}

// idLines reads messages whose ids the SDK keeps.
type idLines struct {
	from  io.Closer
	lines *bufio.Reader
	rest  []byte // of the line that is being read
}

// Read implements io.Reader. A part of a line that is larger than any message is passed on as it is:
// the SDK refuses it.
func (l *idLines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		var line []byte
		for {
			piece, err := l.lines.ReadSlice('\n')
			line = append(line, piece...)
			if err == nil || len(line) > message.MaxBody {
				break
			}
			if err != bufio.ErrBufferFull { //nolint:errorlint // bufio returns it as it is.
				if len(line) == 0 {
					return 0, err
				}
				break
			}
		}
		l.rest = message.KeepIDs(line)
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (l *idLines) Close() error { return l.from.Close() }

// idPipe writes ids as they were sent.
type idPipe struct{ io.WriteCloser }

// Write implements io.Writer.
func (w idPipe) Write(p []byte) (int, error) {
	return len(p), second(w.WriteCloser.Write(message.ShowIDs(p)))
}

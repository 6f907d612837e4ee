// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/test/load/world"
)

// message is what each call sends and gets back: a tool call of 120 bytes.
var message = func() []byte {
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"message":"%s"}}}`
	return fmt.Appendf(nil, call, bytes.Repeat([]byte("m"), 120-len(call)+len("%s")))
}()

// target is a way to the backend.
type target struct {
	name string
	addr string
	// tls is how the client itself connects, nil for a way without TLS.
	tls *tls.Config
	// keys are the users' keys, one in turn for each connection; without any
	// there is one path and no key.
	keys []string
	// processes are those whose CPU time the way takes.
	processes func() []int
}

// figures are what a run of a number of clients measured.
type figures struct {
	calls    int
	perSec   float64
	p50, p99 time.Duration
	// cpu is the CPU time of the way's processes per call.
	cpu time.Duration
}

// requestOf returns the bytes of a call by the i-th connection.
func (t target) requestOf(i int) []byte {
	user, key := "user0", ""
	if len(t.keys) > 0 {
		n := i % len(t.keys)
		user, key = "user"+strconv.Itoa(n), "Authorization: Bearer "+t.keys[n]+"\r\n"
	}
	return fmt.Appendf(nil, "POST /u/%s/mcp HTTP/1.1\r\nHost: bridge\r\n%sContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s",
		user, key, len(message), message)
}

// load has that many clients call, each again when it is answered, for a time.
// Connections are made and used once before it begins.
func (t target) load(ctx context.Context, clients int, d time.Duration) (figures, error) {
	callers := make([]*caller, clients)
	for i := range callers {
		c, err := t.connect(ctx, i)
		if err != nil {
			return figures{}, err
		}
		defer c.conn.Close()
		if err := c.call(); err != nil {
			return figures{}, fmt.Errorf("%s: first call: %w", t.name, err)
		}
		callers[i] = c
	}
	var wg sync.WaitGroup
	errs := make([]error, clients)
	before, start := world.CPUOf(t.processes()...), time.Now()
	for i, c := range callers {
		wg.Go(func() { errs[i] = c.run(start.Add(d)) })
	}
	wg.Wait()
	elapsed, cpu := time.Since(start), world.CPUOf(t.processes()...)-before
	var took []time.Duration
	for i, c := range callers {
		if errs[i] != nil {
			return figures{}, fmt.Errorf("%s: %w", t.name, errs[i])
		}
		took = append(took, c.took...)
	}
	slices.Sort(took)
	n := len(took)
	return figures{calls: n, perSec: float64(n) / elapsed.Seconds(), p50: took[n/2], p99: took[n*99/100], cpu: cpu / time.Duration(n)}, nil
}

// caller is one client on its connection. It is made of as little as possible,
// because it shares the machine with what it measures.
type caller struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
	took    []time.Duration
}

func (t target) connect(ctx context.Context, i int) (*caller, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.addr)
	if err != nil {
		return nil, err
	}
	if t.tls != nil {
		conn = tls.Client(conn, t.tls)
	}
	return &caller{conn: conn, in: bufio.NewReader(conn), request: t.requestOf(i), took: make([]time.Duration, 0, 1<<16)}, nil
}

func (c *caller) run(until time.Time) error {
	for start := time.Now(); start.Before(until); {
		if err := c.call(); err != nil {
			return err
		}
		end := time.Now()
		c.took = append(c.took, end.Sub(start))
		start = end
	}
	return nil
}

// call makes a call and checks that its answer is what was sent.
func (c *caller) call() error {
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
		rest, _ := c.in.Peek(c.in.Buffered())
		return fmt.Errorf("answer %s%s", line, rest)
	}
	length := -1
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return err
		}
		if len(line) == len("\r\n") {
			break
		}
		const name = "content-length: "
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(name):]))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return c.chunked()
	}
	body, err := c.in.Peek(length)
	if err != nil {
		return err
	}
	if !bytes.Equal(body, message) {
		return fmt.Errorf("answered %q", body)
	}
	_, err = c.in.Discard(length)
	return err
}

// chunked reads a body without a length, from ways that have no other.
func (c *caller) chunked() error {
	head := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	in := bufio.NewReaderSize(io.MultiReader(bytes.NewReader([]byte(head)), c.in), 16)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Equal(body, message) {
		return fmt.Errorf("answered %q: %w", body, err)
	}
	return nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package catalog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// clients are how many read at once, each again when it is answered.
const clients = 32

// way is a server to read from.
type way struct {
	name, addr string
	files      bool
}

// figures are what a run measured.
type figures struct {
	perSec   float64
	p50, p99 time.Duration
}

// results are the figures of all rounds, by way and kind.
type results map[[2]string][]figures

// measure takes turns: in each round every way is loaded for some seconds with
// each kind, so that what else the machine does meets all alike.
func measure(t *testing.T, ways []way, kinds []kind, rounds int, d time.Duration) results {
	t.Helper()
	measured := results{}
	for range rounds {
		for _, w := range ways {
			for _, k := range kinds {
				f, err := w.load(t.Context(), k, d)
				if err != nil {
					t.Fatalf("%s, %s: %v", w.name, k.name, err)
				}
				key := [2]string{w.name, k.name}
				measured[key] = append(measured[key], f)
			}
		}
	}
	return measured
}

func (w way) load(ctx context.Context, k kind, d time.Duration) (figures, error) {
	callers, errs := make([]*caller, clients), make([]error, clients)
	for i := range callers {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.addr)
		if err != nil {
			return figures{}, err
		}
		defer conn.Close()
		callers[i] = &caller{conn: conn, in: bufio.NewReaderSize(conn, 1<<18), next: i * len(k.reads) / clients}
		if err := callers[i].one(w, k); err != nil {
			return figures{}, err
		}
	}
	var wg sync.WaitGroup
	start := time.Now()
	for i, c := range callers {
		wg.Go(func() { errs[i] = c.run(w, k, start.Add(d)) })
	}
	wg.Wait()
	elapsed := time.Since(start)
	if err := errors.Join(errs...); err != nil {
		return figures{}, err
	}
	var took []time.Duration
	for _, c := range callers {
		took = append(took, c.took...)
	}
	slices.Sort(took)
	n := len(took)
	return figures{perSec: float64(n) / elapsed.Seconds(), p50: took[n/2], p99: took[n*99/100]}, nil
}

// caller is one client on its connection. It is made of as little as possible,
// because it shares the machine with what it measures.
type caller struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
	next    int
	took    []time.Duration
}

func (c *caller) run(w way, k kind, until time.Time) error {
	for start := time.Now(); start.Before(until); {
		if err := c.one(w, k); err != nil {
			return err
		}
		end := time.Now()
		c.took = append(c.took, end.Sub(start))
		start = end
	}
	return nil
}

// one reads the next thing and checks that each byte is there.
func (c *caller) one(w way, k kind) error {
	r := &k.reads[c.next%len(k.reads)]
	c.next++
	path := r.path
	if w.files {
		path = r.file
	}
	c.request = append(append(append(c.request[:0], "GET "...), path...), " HTTP/1.1\r\nHost: catalog\r\nAccept: application/json\r\n\r\n"...)
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	length, err := c.header()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	body, err := c.in.Peek(length)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !bytes.Equal(body, r.body) {
		return fmt.Errorf("%s: answered %.100q, want %.100q", path, body, r.body)
	}
	_, err = c.in.Discard(length)
	return err
}

// header reads the header of an answer and returns the length of its body.
func (c *caller) header() (length int, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
		return 0, fmt.Errorf("answer %q", line)
	}
	length = -1
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		if len(line) == len("\r\n") {
			break
		}
		const name = "content-length: "
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(name):]))); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, errors.New("the answer says no length")
	}
	return length, nil
}

// table has a line for each kind and way, with the medians of the rounds.
func (m results) table(ways []way, kinds []kind) string {
	var b strings.Builder
	b.WriteString("| read | KB | way | calls/s | of nginx | p50 ms | p99 ms |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	perSec := func(f figures) float64 { return f.perSec }
	for _, k := range kinds {
		size := 0
		for _, r := range k.reads {
			size += len(r.body)
		}
		nginx := median(m[[2]string{ways[1].name, k.name}], perSec)
		for _, w := range ways {
			f := m[[2]string{w.name, k.name}]
			fmt.Fprintf(&b, "| %s | %.1f | %s | %.0f | %.2f | %.2f | %.2f |\n", k.name, float64(size)/float64(len(k.reads))/1e3, w.name, median(f, perSec),
				median(f, perSec)/nginx, median(f, func(f figures) float64 { return f.p50.Seconds() * 1e3 }), median(f, func(f figures) float64 { return f.p99.Seconds() * 1e3 }))
		}
	}
	return b.String()
}

func median(all []figures, of func(figures) float64) float64 {
	values := make([]float64, len(all))
	for i, f := range all {
		values[i] = of(f)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// table is what else was measured.
type table struct{ rows strings.Builder }

func (t *table) row(what, figure string) { fmt.Fprintf(&t.rows, "| %s | %s |\n", what, figure) }

// String returns the table in Markdown.
func (t *table) String() string { return "| what | |\n| --- | --- |\n" + t.rows.String() }

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package h1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// pieces gives what it holds in pieces of a size.
type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// FuzzAnswer holds this package against net/http: what is taken here is taken
// there as the same answer with the same end, however it comes.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}HTTP/1.1",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Told\r\n\r\n2\r\nok\r\n1\r\n!\r\n0\r\nX-Told: a\r\n\r\nmore",
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX-Kept: a\r\n b\r\nContent-Length: 1\r\n\r\na",
	} {
		f.Add([]byte(seed), uint8(0))
		f.Add([]byte(seed), uint8(1))
	}
	f.Fuzz(func(t *testing.T, answer []byte, size uint8) {
		got, err := parse(&pieces{slices.Clone(answer), 1 + int(size)})
		if err != nil {
			return
		}
		in := bufio.NewReaderSize(bytes.NewReader(answer), maxHeader)
		res, err := http.ReadResponse(in, nil)
		for err == nil && res.StatusCode < 200 {
			res, err = http.ReadResponse(in, nil)
		}
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", answer, err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatalf("net/http refuses the body of %q: %v", answer, err)
		}
		rest, _ := io.ReadAll(in)
		if res.StatusCode != got.status || string(body) != got.body || string(rest) != got.rest {
			t.Errorf("%q is %d %q and then %q; net/http reads %d %q and then %q", answer, got.status, got.body, got.rest, res.StatusCode, body, rest)
		}
		for name := range kept {
			if values := got.header[name]; len(values) > 0 && !slices.Equal(values, res.Header[name]) {
				t.Errorf("%s = %q, net/http has %q", name, values, res.Header[name])
			}
		}
		if told := res.Trailer["X-Told"]; strings.Join(told, "|") != strings.Join(got.trailer["X-Told"], "|") {
			t.Errorf("trailer %q, net/http has %q", got.trailer, told)
		}
	})
}

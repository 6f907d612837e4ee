// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package h1

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// kept are the fields that tests ask for.
var (
	kept         = map[string]string{"Content-Type": "Content-Type", "Content-Length": "Content-Length", "X-Kept": "X-Kept"}
	keptTrailers = map[string]string{"X-Told": "X-Told"}
)

// parsed is an answer read to its end.
type parsed struct {
	status  int
	header  http.Header
	body    string
	trailer http.Header
	closes  bool
	// rest is what came behind the answer.
	rest string
}

// parse reads an answer the way an exchange does.
func parse(src io.Reader) (parsed, error) {
	b := reader{src: src, buf: make([]byte, bufferSize)}
	h, err := b.readHead(kept)
	if err != nil {
		return parsed{}, err
	}
	body := bodyReader{from: &b, left: max(h.length, 0), chunked: h.length == lengthChunked, keep: keptTrailers}
	var content strings.Builder
	for buf := make([]byte, 1000); ; {
		n, err := body.read(buf)
		content.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return parsed{}, err
		}
	}
	rest := string(b.buffered())
	more, err := io.ReadAll(src)
	return parsed{h.status, h.header, content.String(), body.trailer, h.closes, rest + string(more)}, err
}

// bitByBit gives text as a connection may: all at once, and byte by byte.
func bitByBit(text string) map[string]io.Reader {
	return map[string]io.Reader{
		"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
		"with the end": iotest.DataErrReader(strings.NewReader(text)),
	}
}

func TestAnswersAreRead(t *testing.T) {
	long := strings.Repeat("x", 3*bufferSize)
	for _, tt := range []struct {
		name, answer string
		want         parsed
	}{
		{"a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", parsed{status: 200, header: http.Header{"Content-Length": {"2"}}, body: "ok"}},
		{"no reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", parsed{status: 200, header: http.Header{"Content-Length": {"0"}}}},
		{"names in any case", "HTTP/1.1 404 Not Found\r\ncontent-LENGTH:\t 2 \t\r\nx-kept: a\r\nX-KEPT: b\r\nSet-Cookie: c\r\n\r\nok", parsed{status: 404, header: http.Header{"Content-Length": {"2"}, "X-Kept": {"a", "b"}}, body: "ok"}},
		{"a body larger than the buffer", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(long), long), parsed{status: 200, header: http.Header{"Content-Length": {fmt.Sprint(len(long))}}, body: long}},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0A\r\n0123456789\r\n0\r\n\r\n", parsed{status: 200, header: http.Header{}, body: "ok0123456789"}},
		{"a chunk larger than the buffer", fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(long), long), parsed{status: 200, header: http.Header{}, body: long}},
		{"trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Told\r\n\r\n2\r\nok\r\n0\r\nx-told: a\r\nX-Other: b\r\n\r\n", parsed{status: 200, header: http.Header{}, body: "ok", trailer: http.Header{"X-Told": {"a"}}}},
		{"hints before it", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-Kept: hint\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", parsed{status: 200, header: http.Header{"Content-Length": {"0"}}}},
		{"the last on its connection", "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n", parsed{status: 200, header: http.Header{"Content-Length": {"0"}}, closes: true}},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", parsed{status: 204, header: http.Header{}}},
		{"not modified, with another answer's length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", parsed{status: 304, header: http.Header{}}},
		{"something behind it", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n", parsed{status: 200, header: http.Header{"Content-Length": {"2"}}, body: "ok", rest: "HTTP/1.1 200 OK\r\n\r\n"}},
		{"bytes above ASCII in a value", "HTTP/1.1 200 OK\r\nX-Kept: \xff\r\nContent-Length: 0\r\n\r\n", parsed{status: 200, header: http.Header{"X-Kept": {"\xff"}, "Content-Length": {"0"}}}},
	} {
		for how, src := range bitByBit(tt.answer) {
			t.Run(tt.name+", "+how, func(t *testing.T) {
				got, err := parse(src)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(parsed{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestAnswersInDoubtAreRefused(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	for _, tt := range []struct {
		name, answer string
		want         error
	}{
		{"nothing", "", io.ErrUnexpectedEOF},
		{"no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", errMalformed},
		{"an older version", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", errMalformed},
		{"a later version", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", errMalformed},
		{"a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", errMalformed},
		{"a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", errMalformed},
		{"a status that is no number", "HTTP/1.1 +20 OK\r\n\r\n", errMalformed},
		{"a status of zero", "HTTP/1.1 000 Zero\r\nContent-Length: 0\r\n\r\n", errMalformed},
		{"a control byte in the reason", "HTTP/1.1 200 O\x00K\r\nContent-Length: 0\r\n\r\n", errMalformed},
		{"lines without CR", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", errMalformed},
		{"a CR alone", ok + "X-Kept: a\rContent-Length: 0\r\n\r\n", errMalformed},
		{"a header that breaks off", ok + "Content-", io.ErrUnexpectedEOF},
		{"a space before the colon", ok + "Content-Length : 0\r\n\r\n", errMalformed},
		{"a space before the name", ok + " Content-Length: 0\r\n\r\n", errMalformed},
		{"a continued line", ok + "X-Kept: a\r\n\tb\r\nContent-Length: 0\r\n\r\n", errMalformed},
		{"a name of nothing", ok + ": x\r\n\r\n", errMalformed},
		{"a line without a colon", ok + "Content-Length\r\n\r\n", errMalformed},
		{"a NUL in a name", ok + "X\x00: a\r\nContent-Length: 0\r\n\r\n", errMalformed},
		{"a NUL in a value", ok + "X-Kept: a\x00\r\nContent-Length: 0\r\n\r\n", errMalformed},
		{"an endless line", ok + "X-Kept: " + strings.Repeat("a", 2*bufferSize), errTooLong},
		{"a header that is too long", ok + strings.Repeat("X-Kept: "+strings.Repeat("a", 1000)+"\r\n", 70) + "\r\n", errTooLong},
		{"too many fields", ok + strings.Repeat("a: b\r\n", maxFields+1) + "\r\n", errTooLong},
		{"no length", ok + "\r\nok", errFraming},
		{"a length and chunks", ok + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", errFraming},
		{"chunks and a length", ok + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", errFraming},
		{"two lengths", ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok", errFraming},
		{"one length twice", ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", errFraming},
		{"a list of lengths", ok + "Content-Length: 2, 2\r\n\r\nok", errFraming},
		{"a negative length", ok + "Content-Length: -2\r\n\r\nok", errFraming},
		{"a signed length", ok + "Content-Length: +2\r\n\r\nok", errFraming},
		{"a hexadecimal length", ok + "Content-Length: 0x2\r\n\r\nok", errFraming},
		{"an empty length", ok + "Content-Length:\r\n\r\nok", errFraming},
		{"a length that overflows", ok + "Content-Length: 18446744073709551618\r\n\r\nok", errFraming},
		{"another coding", ok + "Transfer-Encoding: gzip\r\n\r\nok", errFraming},
		{"two codings", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", errFraming},
		{"a coding twice", ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", errFraming},
		{"a coding with a tab inside", ok + "Transfer-Encoding: chunked\t,\r\n\r\n0\r\n\r\n", errFraming},
		{"a vertical tab before a coding", ok + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", errMalformed},
		{"chunks without a body", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", errFraming},
		{"a length without a body", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok", errFraming},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\n\r\n", errUnsupported},
		{"an upgrade", "HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n", errUnsupported},
		{"a connection of another kind", ok + "Connection: X-Kept\r\nContent-Length: 0\r\n\r\n", errUnsupported},
		{"a hint with a body", "HTTP/1.1 103 Early Hints\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", errUnsupported},
		{"hints without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", maxInterim+1), errMalformed},
		{"a body that breaks off", ok + "Content-Length: 3\r\n\r\nok", io.ErrUnexpectedEOF},
		{"a chunk that breaks off", chunked + "3\r\nok", io.ErrUnexpectedEOF},
		{"chunks that break off", chunked + "2\r\nok\r\n", io.ErrUnexpectedEOF},
		{"a trailer that breaks off", chunked + "0\r\nX-Told: a\r\n", io.ErrUnexpectedEOF},
		{"a chunk of no size", chunked + "\r\n\r\n", errMalformed},
		{"a chunk of a signed size", chunked + "+2\r\nok\r\n0\r\n\r\n", errMalformed},
		{"a chunk of 0x", chunked + "0x2\r\nok\r\n0\r\n\r\n", errMalformed},
		{"a space behind a size", chunked + "2 \r\nok\r\n0\r\n\r\n", errMalformed},
		{"an extension", chunked + "2;a=b\r\nok\r\n0\r\n\r\n", errMalformed},
		{"a size that overflows", chunked + "10000000000000002\r\nok\r\n0\r\n\r\n", errTooLong},
		{"an endless size", chunked + strings.Repeat("0", 3*bufferSize), errTooLong},
		{"a size without CR", chunked + "2\nok\r\n0\r\n\r\n", errMalformed},
		{"a chunk longer than its size", chunked + "2\r\nokay\r\n0\r\n\r\n", errMalformed},
		{"a chunk that ends without CR", chunked + "2\r\nok\n0\r\n\r\n", errMalformed},
		{"a trailer that is too long", chunked + "0\r\nX-Told: " + strings.Repeat("a", maxTrailer) + "\r\n\r\n", errTooLong},
		{"a length in the trailer", chunked + "0\r\nContent-Length: 2\r\n\r\n", errFraming},
		{"a coding in the trailer", chunked + "0\r\nTransfer-Encoding: chunked\r\n\r\n", errFraming},
	} {
		for how, src := range bitByBit(tt.answer) {
			t.Run(tt.name+", "+how, func(t *testing.T) {
				if got, err := parse(src); !errors.Is(err, tt.want) {
					t.Errorf("%+v, error %v; want %v", got, err, tt.want)
				}
			})
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package h1

import (
	"encoding/binary"
	"net"
	"sync/atomic"
	"syscall"
)

const (
	// recordHeader is the length of a TLS record's header, in bytes.
	recordHeader = 5
	// recordsBuffer takes an answer of the common size, header and body, with
	// one read of the socket. Larger records go past it.
	recordsBuffer = 4 << 10
)

// Records is the TCP connection below TLS. It gives TLS one record at a time, so
// that bytes which came behind an answer's last record are still here, where
// they can be seen, and not in a buffer inside of TLS.
type Records struct {
	net.Conn

	raw  syscall.RawConn
	buf  [recordsBuffer]byte
	r, w int
	// left is what TLS has not taken yet of the record that it reads.
	left int
	// sent counts the bytes that were written.
	sent atomic.Int64
	// quiet is what peek found; it is here and not in a closure for want of
	// an allocation.
	quiet bool
	look  func(fd uintptr) bool
}

// NewRecords returns the connection as TLS is to have it.
func NewRecords(conn net.Conn) *Records {
	r := &Records{Conn: conn}
	if s, ok := conn.(syscall.Conn); ok {
		r.raw, _ = s.SyscallConn() // Without it the connection is used once.
	}
	r.look = func(fd uintptr) bool {
		r.quiet = silent(fd)
		return true
	}
	return r
}

// Read implements net.Conn.
func (r *Records) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.left == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	if len(p) > r.left {
		p = p[:r.left]
	}
	if r.r == r.w {
		return r.readPast(p)
	}
	n := copy(p, r.buf[r.r:r.w])
	r.r += n
	r.left -= n
	return n, nil
}

// readPast reads the rest of a record without the buffer, or with it if that may
// bring the next one too.
func (r *Records) readPast(p []byte) (int, error) {
	if len(p) >= recordsBuffer/2 {
		n, err := r.Conn.Read(p)
		r.left -= n
		return n, err
	}
	r.r, r.w = 0, 0
	n, err := r.Conn.Read(r.buf[:])
	if n == 0 {
		return 0, err
	}
	r.w = n
	r.r = copy(p, r.buf[:r.w])
	r.left -= r.r
	return r.r, nil
}

// next reads a record's header and leaves it in the buffer.
func (r *Records) next() error {
	for r.w-r.r < recordHeader {
		if r.r > 0 {
			r.w = copy(r.buf[:], r.buf[r.r:r.w])
			r.r = 0
		}
		n, err := r.Conn.Read(r.buf[r.w:])
		r.w += n
		if err != nil && r.w < recordHeader {
			return err
		}
	}
	r.left = recordHeader + int(binary.BigEndian.Uint16(r.buf[r.r+3:]))
	return nil
}

// Write implements net.Conn.
func (r *Records) Write(p []byte) (int, error) {
	n, err := r.Conn.Write(p)
	r.sent.Add(int64(n))
	return n, err
}

// untouched reports whether nothing has come since TLS took its last record:
// neither bytes nor the peer's closing.
func (r *Records) untouched() bool {
	if r.r != r.w || r.left != 0 || r.raw == nil {
		return false
	}
	r.quiet = false
	return r.raw.Read(r.look) == nil && r.quiet
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
)

// settle closes idle if a retired connection has no calls in flight. The caller holds l.mu.
func (f *Lifetime) settle() {
	if inflight.Closed(f.retired) && len(f.conn.Calls.exchanges) == 0 {
		close(f.idle)
	}
}

// Close closes the connection. It does not wait for the server; closing the bridge waits, for as
// long as a server may take.
func (f *Lifetime) Close() {
	f.conn.Upstream.Closing.Go(f.conn.session.Close)
}

// Retire makes the connection refuse new calls. The connection is closed only when the last call
// has ended.
func (f *Lifetime) Retire() {
	f.conn.mu.Lock()
	defer f.conn.mu.Unlock()
	if inflight.Closed(f.retired) {
		return
	}
	close(f.retired)
	f.settle()
	f.conn.Upstream.Closing.Go(func() {
		select {
		case <-f.idle:
		case <-f.conn.grant.Grace.Done():
		}
		f.conn.session.Close()
	})
}

// Dead reports whether the connection is closed or refuses new calls.
func (f *Lifetime) Dead() bool { return inflight.Closed(f.gone) || inflight.Closed(f.retired) }

// Lifetime is the state of a connection's end.
type Lifetime struct {
	conn *Conn

	gone    chan struct{} // closed when the connection is closed
	retired chan struct{} // closed when it refuses new calls
	idle    chan struct{} // closed when it is retired and the last call has ended
	// ended is why the connection ended, set before gone is closed.
	ended error
}

// end returns why the connection ended.
func (f *Lifetime) end() error {
	if f.ended != nil {
		return f.conn.guard(f.ended)
	}
	return fault.ErrEnded
}

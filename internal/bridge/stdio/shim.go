// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Shim returns the transport to a program that the shim at socket runs. Each
// Connect starts the program anew, and Close ends it. A shim runs one program at
// a time: to connect ends the one that another connection has. One of another
// transport is left a minute first to finish its calls, since it is that of the
// server as it was before a change.
func Shim(socket string, l Launch, log *slog.Logger) mcp.Transport {
	return &shim{socket: socket, launch: l, dialect: newDialect(l, log), courtesy: courtesy}
}

type shim struct {
	socket   string
	launch   Launch
	dialect  *dialect
	courtesy time.Duration

	mu    sync.Mutex
	until time.Time // when the courtesy ends, zero while nobody was waited for
}

// Bounds of an attempt to reach a shim.
const (
	// attempts is how long a shim is looked for that does not listen: the
	// containers of a pod start at the same time, and one whose image is being
	// fetched takes longer than anybody would wait in one attempt.
	attempts = 5 * time.Second
	// pause is between two looks.
	pause = 100 * time.Millisecond
	// courtesy is how long a program of another transport may finish its calls:
	// as long as common clients wait for one.
	courtesy = time.Minute
)

// ErrNoShim says that nobody listens at the socket. It is for who set up the pod.
var ErrNoShim = errors.New("the server's container is not there yet: its image may still be fetched, or the container may not have started")

// errNoSocket is a server that has put something else in its shim's place.
var errNoSocket = errors.New("the server's container has no socket where its shim listens, but something else, which is not followed")

// Connect implements mcp.Transport. The context ends the attempt, not the
// connection.
func (s *shim) Connect(ctx context.Context) (mcp.Connection, error) {
	if err := s.launch.check(); err != nil {
		return nil, &ProgramError{Program: s.launch.name(), Reason: "cannot be started: " + err.Error()}
	}
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	// What ends the attempt ends its reads and writes.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	started, err := s.greet(conn)
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	pipes := &shimPipes{conn: conn, program: started.Program, chunks: chunkReader{r: conn}, leave: tenancies.enter(s)}
	return newConnection(ctx, started.Program, pipes, s.dialect), nil
}

// wait waits until no other transport has a program of the shim, or has had it
// for long enough.
func (s *shim) wait(ctx context.Context) error {
	for {
		over := tenancies.other(s)
		if over == nil {
			return nil
		}
		timer := time.NewTimer(time.Until(s.deadline()))
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return &ProgramError{Program: s.launch.name(), Reason: "waits for calls that the server began before it was changed"}
		}
	}
}

func (s *shim) deadline() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until.IsZero() {
		s.until = time.Now().Add(s.courtesy)
	}
	return s.until
}

// register is who has a program of which shim, by socket.
type register struct {
	mu      sync.Mutex
	tenants map[string]tenant
}

// tenant is one connection's time with a shim.
type tenant struct {
	owner *shim
	over  chan struct{}
}

var tenancies = register{tenants: make(map[string]tenant)}

// other returns what is closed when the transport that has the shim, and is
// another than s, is done with it, nil where there is none.
func (r *register) other(s *shim) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.tenants[s.socket]; ok && t.owner != s {
		return t.over
	}
	return nil
}

// enter records that s has the shim until leave is called.
func (r *register) enter(s *shim) (leave func()) {
	t := tenant{s, make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tenants[s.socket] = t
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(t.over)
		if r.tenants[s.socket] == t {
			delete(r.tenants, s.socket)
		}
	})
}

// dial connects to the socket.
func (s *shim) dial(ctx context.Context) (*net.UnixConn, error) {
	within, cancel := context.WithTimeout(ctx, attempts)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		conn, err := knock(within, s.socket)
		if err == nil {
			return conn.(*net.UnixConn), nil
		}
		if errors.Is(err, errNoSocket) {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-within.Done():
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, ErrNoShim
		}
	}
}

// greet has the shim start the program.
func (s *shim) greet(conn *net.UnixConn) (ending, error) {
	if err := writeLaunch(conn, s.launch); err != nil {
		return ending{}, fmt.Errorf("tell the shim what to run: %w", err)
	}
	var answer ending
	if err := readHello(conn, &answer, maxAnswer); err != nil {
		return ending{}, fmt.Errorf("the shim did not say whether the program runs: %w", err)
	}
	if answer.Reason != "" {
		return ending{}, &ProgramError{Program: answer.Program, Reason: answer.Reason}
	}
	return answer, nil
}

// shimPipes are the pipes of a program that a shim runs.
type shimPipes struct {
	conn    *net.UnixConn
	program string
	chunks  chunkReader
	leave   func() // is called when nothing of the program can be there
}

// Read implements io.Reader.
func (s *shimPipes) Read(b []byte) (int, error) { return s.chunks.Read(b) }

// Write implements io.Writer.
func (s *shimPipes) Write(b []byte) (int, error) { return s.conn.Write(b) }

func (s *shimPipes) end() { _ = s.conn.CloseWrite() }

func (s *shimPipes) outcome() error {
	s.leave()
	if e := s.chunks.end; e != nil {
		return &ProgramError{Program: e.Program, Reason: e.Reason}
	}
	return &ProgramError{Program: s.program, Reason: "ended with its container, which may have needed more memory than its limit"}
}

func (s *shimPipes) release() {
	_ = s.conn.Close()
	s.leave()
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Shim starts a program by the shim at socket. A shim runs one program at a time: another start
// ends the program of the previous one. The program of another starter first gets a minute to
// finish its calls, because it belongs to the server as it was configured before.
func Shim(socket string, l Launch) Starter {
	return &shim{socket: socket, launch: l, courtesy: courtesy}
}

type shim struct {
	socket   string
	launch   Launch
	courtesy time.Duration

	mu    sync.Mutex
	until time.Time // end of the courtesy; zero while there was no wait
}

// The limits of an attempt to reach a shim.
const (
	// attempts is how long to retry if no shim listens: the containers of a pod start at the same
	// time, and a missing image takes longer to pull than one attempt can wait.
	attempts = 5 * time.Second
	// pause is the time between two retries.
	pause = 100 * time.Millisecond
	// courtesy is how long a program of another starter may finish its calls: common clients
	// wait as long for a call.
	courtesy = time.Minute
)

// ErrNoShim says that no process listens on the socket. It is for the administrator of the pod.
var ErrNoShim = errors.New("the server's container is not there yet: its image may still be fetched, or the container may not have started")

// errNoSocket says that a server replaced its shim's socket by something else.
var errNoSocket = errors.New("the server's container has no socket where its shim listens, but something else, which is not followed")

// Start implements Starter.
func (s *shim) Start(ctx context.Context) (Pipes, error) {
	if err := s.launch.check(); err != nil {
		return nil, &ProgramError{Program: s.launch.name(), Reason: "cannot be started: " + err.Error(), Unstarted: true}
	}
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	// The end of the attempt also ends its reads and writes.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	started, err := s.greet(conn)
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &shimPipes{conn: conn, program: started.Program, chunks: chunkReader{r: conn}, leave: tenancies.enter(s)}, nil
}

// wait waits until no other starter uses the shim, or the courtesy has ended.
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

// register records which starter uses which shim, by socket.
type register struct {
	mu      sync.Mutex
	tenants map[string]tenant
}

// tenant is one connection's use of a shim.
type tenant struct {
	owner *shim
	over  chan struct{}
}

var tenancies = register{tenants: make(map[string]tenant)}

// other returns a channel that is closed when another starter than s has released the shim. It is
// nil if no other starter uses the shim.
func (r *register) other(s *shim) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.tenants[s.socket]; ok && t.owner != s {
		return t.over
	}
	return nil
}

// enter records that s uses the shim until leave is called.
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

// greet makes the shim start the program.
func (s *shim) greet(conn *net.UnixConn) (ending, error) {
	if err := writeLaunch(conn, s.launch); err != nil {
		return ending{}, fmt.Errorf("tell the shim what to run: %w", err)
	}
	var answer ending
	if err := readHello(conn, &answer, maxAnswer); err != nil {
		return ending{}, fmt.Errorf("the shim did not say whether the program runs: %w", err)
	}
	if answer.Reason != "" {
		return ending{}, &ProgramError{Program: answer.Program, Reason: answer.Reason, Unstarted: true}
	}
	return answer, nil
}

// shimPipes are the pipes of a program that a shim runs.
type shimPipes struct {
	conn    *net.UnixConn
	program string
	chunks  chunkReader
	leave   func() // called when no process of the program can be left
}

// Read implements io.Reader.
func (s *shimPipes) Read(b []byte) (int, error) { return s.chunks.Read(b) }

// Write implements io.Writer.
func (s *shimPipes) Write(b []byte) (int, error) { return s.conn.Write(b) }

// Name implements Pipes.
func (s *shimPipes) Name() string { return s.program }

// End implements Pipes.
func (s *shimPipes) End() { _ = s.conn.CloseWrite() }

// Outcome implements Pipes.
func (s *shimPipes) Outcome() error {
	s.leave()
	if e := s.chunks.end; e != nil {
		return &ProgramError{Program: e.Program, Reason: e.Reason, Said: e.Said}
	}
	return &ProgramError{Program: s.program, Reason: "ended with its container, which may have needed more memory than its limit"}
}

// Release implements Pipes.
func (s *shimPipes) Release() {
	_ = s.conn.Close()
	s.leave()
}

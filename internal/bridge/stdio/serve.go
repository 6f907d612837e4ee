// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// greeting limits the time until a peer sends its Launch: the peer is another container of the
	// same pod.
	greeting = 10 * time.Second
	// maxPeers limits the simultaneous connections. A bridge has one, and a second one while it
	// replaces the first.
	maxPeers = 8
)

// Post is the configuration of a shim.
type Post struct {
	// Socket is the path of the socket to listen on. Its folder must exist.
	Socket string
	// Server is the name of the server whose program it runs.
	Server string
	// Files is the folder for the files of programs. Leftover folders of a previous shim are
	// removed from it. If it is empty, the shim uses the folder for temporary files.
	Files string
	// Storage is where the program's volume is, empty for none. If it is full when the
	// program ends, that is said: the program's own error may not reach anybody.
	Storage string
	// Env are variables that the program gets, each NAME=VALUE. Those of its launch go before
	// them.
	Env []string
	// Authorities are certificate authorities in PEM that Node.js trusts besides its own.
	Authorities string
}

// Serve listens on the socket and runs the programs that the bridge sends for the post's server,
// one program at a time, until ctx ends. A running program then ends when the bridge closes its
// connection, at the latest after 25 seconds. Serve returns after the program has ended, which
// takes up to ten seconds more. It logs the program's stderr without the program's secrets.
//
// Serve is for a process that does nothing else: it treats all descendants of the process as parts
// of the program and ends them with it.
func Serve(ctx context.Context, p Post, log *slog.Logger) error {
	where, err := container(p)
	if err != nil {
		return err
	}
	return serve(ctx, p.Socket, &runner{server: p.Server, storage: p.Storage, place: where, log: log})
}

func serve(ctx context.Context, socket string, r *runner) error {
	listener, err := listen(socket)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	release, err := adopt(ctx)
	if err != nil {
		return err
	}
	defer release()
	peers := make(chan struct{}, maxPeers)
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		_ = listener.Close()
		late := time.AfterFunc(r.place.grace.bridge, end)
		context.AfterFunc(life, func() { late.Stop() })
	})()
	var running sync.WaitGroup
	defer running.Wait()
	for {
		conn, err := listener.AcceptUnix()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept the bridge's connection: %w", err)
		}
		peers <- struct{}{}
		running.Go(func() {
			defer func() { <-peers }()
			r.serve(life, conn)
		})
	}
}

// listen opens the socket for its owner and group. It removes the socket of an ended process, but
// not one on which another process listens.
func listen(socket string) (*net.UnixListener, error) {
	if info, err := os.Stat(filepath.Dir(socket)); err != nil || !info.IsDir() {
		return nil, errors.New("the folder of the socket does not exist: mount the volume that the bridge and this container share")
	}
	if err := removeStale(socket); err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen at the socket: %w", err)
	}
	if err := os.Chmod(socket, 0o660); err != nil { //nolint:gosec // The group is the pod's: both containers are in it.
		_ = listener.Close()
		return nil, fmt.Errorf("set the socket's mode: %w", err)
	}
	return listener, nil
}

// removeStale removes the socket of an ended process.
func removeStale(socket string) error {
	info, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at the socket's path: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("there is something else than a socket at the socket's path")
	}
	if conn, err := net.DialTimeout("unix", socket, time.Second); err == nil { //nolint:noctx // Answered by this machine.
		_ = conn.Close()
		return errors.New("another process listens at the socket")
	}
	if err := os.Remove(socket); err != nil {
		return fmt.Errorf("remove the former socket: %w", err)
	}
	return nil
}

// runner runs one program at a time.
type runner struct {
	server  string
	storage string
	place   place
	log     *slog.Logger

	mu      sync.Mutex
	current *turn
}

// turn is one connection's use of the program.
type turn struct {
	cancel context.CancelCauseFunc
	over   chan struct{}
}

// errReplaced is sent to the bridge if its program was ended for another connection's program.
var errReplaced = errors.New("was ended, because the bridge connected again")

// errShimEnds is sent to the bridge when its pod ends.
var errShimEnds = errors.New("was ended with its container")

// serve runs the program that the peer sends.
func (r *runner) serve(ctx context.Context, conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	if err := admit(conn); err != nil {
		r.log.WarnContext(ctx, "refused a connection to the shim", "error", err)
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(greeting))
	l, err := readLaunch(conn)
	if err != nil {
		r.log.WarnContext(ctx, "refused what a connection wanted to be run", "error", err)
		_ = writeHello(conn, ending{Reason: "cannot be started: " + err.Error()}, maxAnswer)
		return
	}
	if l.Server != r.server {
		// The secrets of another server are not for the programs of this one.
		r.log.WarnContext(ctx, "refused a program: the bridge means it for another server than this container is for", "for", l.Server)
		_ = writeHello(conn, ending{Program: l.name(), Reason: "was not started: the container that was asked is another server's"}, maxAnswer)
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	ctx, done := r.take(ctx)
	defer done()
	log := r.log
	if l.Server != "" {
		log = log.With("server", l.Server)
	}
	r.run(ctx, conn, l, log)
}

// take ends the program of the previous connection. The returned context ends when another
// connection takes over.
func (r *runner) take(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	mine := &turn{cancel, make(chan struct{})}
	r.mu.Lock()
	former := r.current
	r.current = mine
	r.mu.Unlock()
	if former != nil {
		former.cancel(errReplaced)
		<-former.over
	}
	return ctx, func() {
		cancel(nil)
		close(mine.over)
	}
}

func (r *runner) run(ctx context.Context, conn *net.UnixConn, l Launch, log *slog.Logger) {
	if ctx.Err() != nil {
		_ = writeHello(conn, ending{Program: l.name(), Reason: why(ctx)}, maxAnswer)
		return
	}
	p, err := start(ctx, l, r.place, log)
	if err != nil {
		reason := "cannot be started: " + err.Error()
		if refused, ok := errors.AsType[*ProgramError](err); ok {
			reason = refused.Reason
		}
		log.ErrorContext(ctx, "the program does not run", "error", err)
		_ = writeHello(conn, ending{Program: l.name(), Reason: reason}, maxAnswer)
		return
	}
	log.InfoContext(ctx, "the program runs", "program", p.name)
	if err := writeHello(conn, ending{Program: p.name}, maxAnswer); err != nil {
		p.end("was ended, because the bridge has gone")
	}
	reason := relay(ctx, conn, p, r.storage)
	log.InfoContext(ctx, "the program is over", "program", p.name, "reason", reason)
}

// why returns why ctx ended, as the end of a sentence that starts with a program.
func why(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), errReplaced) {
		return errReplaced.Error()
	}
	return errShimEnds.Error()
}

// relay copies the program's input and output until the program ends, and tells the bridge how it
// ended.
func relay(ctx context.Context, conn *net.UnixConn, p *program, storage string) (reason string) {
	defer context.AfterFunc(ctx, func() {
		p.end(why(ctx))
		<-p.over
		// A bridge that does not read must not block.
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	})()
	input := make(chan struct{})
	go func() {
		defer close(input)
		feed(p, conn)
		p.end("was ended, because the bridge has gone")
	}()
	out := chunkWriter{conn}
	said, err := io.Copy(out, onlyReader{p.stdout})
	if err != nil {
		p.end("was ended, because the bridge has gone")
		_, _ = io.Copy(io.Discard, p.stdout)
	}
	reason = p.outlast() + fullness(storage)
	if said == 0 && p.place.installed != "" {
		// Npx may have been ended while it installed the program, and would then run what is
		// there. What it has downloaded stays, so that the next time takes less.
		_ = os.RemoveAll(p.place.installed)
	}
	_ = p.stdout.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_ = out.finish(ending{Program: p.name, Reason: reason, Said: p.said.Said()})
	_ = conn.Close()
	<-input
	return reason
}

// look is how long a program may leave its input unread before the shim checks whether the bridge
// has disconnected.
const look = time.Second

// feed copies the bridge's input to the program until the bridge disconnects.
func feed(p *program, conn *net.UnixConn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := conn.Read(buffer)
		if !fill(p, conn, buffer[:n]) {
			// The program does not read any more. Only the end of the bridge's connection ends it.
			_, _ = io.Copy(io.Discard, conn)
			return
		}
		if err != nil {
			return
		}
	}
}

// fill writes to a program's stdin. While stdin is full, the connection is not read, so fill polls
// whether the bridge has disconnected; if so, the program gets the grace period to read the rest.
// It returns false once the program reads no more.
func fill(p *program, conn *net.UnixConn, text []byte) bool {
	var gone time.Time
	for len(text) > 0 {
		_ = p.stdin.SetWriteDeadline(time.Now().Add(look))
		n, err := p.stdin.Write(text)
		text = text[n:]
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return false
		case gone.IsZero() && hungUp(conn):
			gone = time.Now()
		case !gone.IsZero() && time.Since(gone) >= p.place.grace.stdin:
			p.end("was ended, because the bridge has gone")
		}
	}
	return true
}

// onlyReader hides the other methods of a file, so that io.Copy uses the writer.
type onlyReader struct{ r io.Reader }

// Read implements io.Reader.
func (o onlyReader) Read(b []byte) (int, error) { return o.r.Read(b) }

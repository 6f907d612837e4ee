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
	// greeting is how long a peer has to say what is to be run: it is another
	// container of the same pod.
	greeting = 10 * time.Second
	// maxPeers bounds the connections that are looked at at once. A bridge has
	// one, and another while it replaces that.
	maxPeers = 8
)

// Post is where a shim stands.
type Post struct {
	// Socket is the path of the socket to listen at, in a folder that must exist.
	Socket string
	// Server is the name of the one server whose program it runs.
	Server string
	// Files is the folder in which programs' files are written, from which those
	// are removed that a former shim left. Empty is the one for temporary files.
	Files string
}

// Serve listens at the socket and runs what the bridge sends for the post's
// server, one program at a time, until ctx ends. A program that runs then ends
// when the bridge lets go of it, at the latest after 25 seconds, and before Serve
// returns, for which it has some ten seconds. What the program writes to stderr
// is logged, without the secrets that it was given.
//
// Serve is for a process that does nothing else: every process that it finds
// among its descendants belongs to the program, and ends with it.
func Serve(ctx context.Context, p Post, log *slog.Logger) error {
	where, err := container(p.Files)
	if err != nil {
		return err
	}
	return serve(ctx, p.Socket, &runner{server: p.Server, place: where, log: log})
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

// listen opens the socket for its owner and group. One that a former process
// left is removed, one that somebody listens at is not.
func listen(socket string) (*net.UnixListener, error) {
	if info, err := os.Stat(filepath.Dir(socket)); err != nil || !info.IsDir() { //nolint:gosec // The socket's path is a flag.
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

// removeStale removes the socket that a former process left.
func removeStale(socket string) error {
	info, err := os.Lstat(socket) //nolint:gosec // The socket's path is a flag.
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at the socket's path: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("there is something else than a socket at the socket's path")
	}
	if conn, err := net.DialTimeout("unix", socket, time.Second); err == nil { //nolint:gosec,noctx // The same, and answered by this machine.
		_ = conn.Close()
		return errors.New("another process listens at the socket")
	}
	if err := os.Remove(socket); err != nil { //nolint:gosec // The socket's path is a flag.
		return fmt.Errorf("remove the former socket: %w", err)
	}
	return nil
}

// runner runs one program at a time.
type runner struct {
	server string
	place  place
	log    *slog.Logger

	mu      sync.Mutex
	current *turn
}

// turn is one connection's time with the program.
type turn struct {
	cancel context.CancelCauseFunc
	over   chan struct{}
}

// errReplaced is what the bridge hears on a connection whose program was ended
// for the one of another.
var errReplaced = errors.New("was ended, because the bridge connected anew")

// errShimEnds is what the bridge hears when its pod ends.
var errShimEnds = errors.New("was ended with its container")

// serve runs the program that the peer wants.
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
		// What another server is given is not for the programs of this one.
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

// take ends the program of the former connection. The context ends when another
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
	reason := relay(ctx, conn, p)
	log.InfoContext(ctx, "the program is over", "program", p.name, "reason", reason)
}

// why says what ended ctx, as the end of a sentence that begins with a program.
func why(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), errReplaced) {
		return errReplaced.Error()
	}
	return errShimEnds.Error()
}

// relay passes on what the program reads and writes until it is over, and tells
// the bridge how it ended.
func relay(ctx context.Context, conn *net.UnixConn, p *program) (reason string) {
	defer context.AfterFunc(ctx, func() {
		p.end(why(ctx))
		<-p.over
		// A bridge that does not read keeps nobody waiting.
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	})()
	input := make(chan struct{})
	go func() {
		defer close(input)
		feed(p, conn)
		p.end("was ended, because the bridge has gone")
	}()
	out := chunkWriter{conn}
	if _, err := io.Copy(out, onlyReader{p.stdout}); err != nil {
		p.end("was ended, because the bridge has gone")
		_, _ = io.Copy(io.Discard, p.stdout)
	}
	reason = p.outlast()
	_ = p.stdout.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_ = out.finish(ending{Program: p.name, Reason: reason})
	_ = conn.Close()
	<-input
	return reason
}

// look is for how long a program may leave its input unread until the bridge is
// looked for.
const look = time.Second

// feed passes the bridge's input on to the program until the bridge has gone.
func feed(p *program, conn *net.UnixConn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := conn.Read(buffer)
		if !fill(p, conn, buffer[:n]) {
			// The program does not read any more. Only the bridge's leaving
			// tells that it is to end.
			_, _ = io.Copy(io.Discard, conn)
			return
		}
		if err != nil {
			return
		}
	}
}

// fill writes to a program's stdin. While that is full, the bridge's leaving is
// not read, and so it is looked for; the program then has as long to read the
// rest as it has for its end. It reports false once the program reads no more.
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

// onlyReader hides the other methods of a file: what is copied from it is to
// pass through the writer.
type onlyReader struct{ r io.Reader }

// Read implements io.Reader.
func (o onlyReader) Read(b []byte) (int, error) { return o.r.Read(b) }

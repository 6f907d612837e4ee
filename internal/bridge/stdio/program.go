// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// program is a started program. Its own goroutine ends it.
type program struct {
	name   string
	place  place
	folder string
	stdin  *os.File // the bridge writes the program's input here
	stdout *os.File // the bridge reads the program's output here
	stderr *os.File
	said   stderrLog

	pid    int
	exited chan struct{} // closed when the program's main process has exited
	state  *os.ProcessState

	stopping chan struct{} // closed to end the program
	over     chan struct{} // closed when all processes have ended

	mu     sync.Mutex
	stop   sync.Once
	reason string // why it was stopped, if something stopped it
}

// stderrLog is what a program writes to stderr.
type stderrLog struct {
	*LineLogger

	read chan struct{} // closed when stderr was read to its end
}

// start starts a program, and logs its stderr. The context is used only for its values, in the
// log; only the method end ends a program.
func start(ctx context.Context, l Launch, where place, log *slog.Logger) (*program, error) {
	p := &program{
		name: l.name(), place: where,
		exited:   make(chan struct{}),
		stopping: make(chan struct{}), over: make(chan struct{}),
	}
	cmd, err := p.prepare(l)
	if err != nil {
		return nil, err
	}
	theirs, err := p.connect(cmd)
	if err == nil {
		err = p.run(cmd)
		for _, f := range theirs {
			_ = f.Close()
		}
	}
	if err != nil {
		p.clear()
		return nil, err
	}
	p.said = stderrLog{NewLineLogger(log, slog.LevelInfo, "the program says", l.Redactor()), make(chan struct{})}
	go func() {
		defer close(p.said.read)
		p.said.Follow(context.WithoutCancel(ctx), p.stderr)
	}()
	go p.live()
	return p, nil
}

// prepare writes the program's files and finds its executable.
func (p *program) prepare(l Launch) (*exec.Cmd, error) {
	if err := l.check(); err != nil {
		return nil, p.fault("cannot be started: " + err.Error())
	}
	var err error
	if p.folder, err = p.place.lay(l.Files); err != nil {
		return nil, p.fault("cannot be started: " + bare(err))
	}
	command, env := l.expand(p.folder)
	all := append(append([]string{}, p.place.basics...), folderVariable+"="+p.folder)
	all = append(all, env...)
	path, reason := find(command[0], all, l.Dir)
	if reason == "" && l.Dir != "" {
		if info, err := os.Stat(l.Dir); err != nil || !info.IsDir() {
			reason = "has a working directory that does not exist"
		}
	}
	if reason != "" {
		p.clear()
		return nil, p.fault(reason)
	}
	return &exec.Cmd{Path: path, Args: command, Env: all, Dir: l.Dir, SysProcAttr: apart()}, nil
}

// connect creates the pipes and returns the program's ends of them. They are files, so that
// waiting for the program does not wait for other processes that keep a pipe open.
func (p *program) connect(cmd *exec.Cmd) (theirs []*os.File, err error) {
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	in, toStdin := pipe()
	fromStdout, out := pipe()
	fromStderr, errs := pipe()
	p.stdin, p.stdout, p.stderr = toStdin, fromStdout, fromStderr
	theirs = []*os.File{in, out, errs}
	if err != nil {
		for _, f := range theirs {
			_ = f.Close()
		}
		return nil, p.fault("cannot be started: " + bare(err))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	return theirs, nil
}

// run starts the process and waits for it in a goroutine with its own thread: Linux kills a child
// when the thread that started it ends.
func (p *program) run(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := mains.start(cmd)
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait()
		mains.forget(p.pid)
		p.state = cmd.ProcessState
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return p.fault(refusal(err))
	}
	return nil
}

// live waits for the program's end and cleans up.
func (p *program) live() {
	select {
	case <-p.exited:
	case <-p.stopping:
		_ = p.stdin.Close()
		await(p.exited, p.place.grace.stdin)
	}
	p.finish()
	_ = p.stdin.Close()
	// Data that a process has written stays until it is read. If a process could not be ended and
	// keeps the pipe open, the deadline ends the wait.
	_ = p.stdout.SetReadDeadline(time.Now().Add(drainGrace))
	_ = p.stderr.SetReadDeadline(time.Now().Add(time.Second))
	<-p.said.read
	_ = p.stderr.Close()
	_ = os.RemoveAll(p.folder)
	close(p.over)
}

// poll is the interval of checks whether processes have ended. There is no event for the end of a
// process that is not a child.
const poll = 50 * time.Millisecond

// finish ends all remaining processes of the program.
func (p *program) finish() {
	left := p.left()
	p.signal(left, false)
	for end := time.Now().Add(p.place.grace.term); len(left) > 0 && time.Now().Before(end); left = p.left() {
		time.Sleep(poll)
	}
	for end := time.Now().Add(killGrace); len(left) > 0 && time.Now().Before(end); left = p.left() {
		// Repeatedly, because a process may have started another one.
		p.signal(left, true)
		time.Sleep(poll)
	}
}

// left returns the processes of the program that have not ended.
func (p *program) left() []int {
	family := relatives(p.pid, folderVariable+"="+p.folder, p.place.alone)
	select {
	case <-p.exited:
		return family
	default:
		return append(family, p.pid)
	}
}

// end starts the end of the program. reason is for readers of its output. It does not wait: over
// is closed when the program has ended.
func (p *program) end(reason string) {
	p.stop.Do(func() {
		p.mu.Lock()
		p.reason = reason
		p.mu.Unlock()
		close(p.stopping)
	})
}

// outlast waits, after the end of the program's output, until the program has ended, and returns
// how. A program without output cannot answer, so it is ended if it still runs.
func (p *program) outlast() string {
	await(p.exited, outputGrace)
	select {
	case <-p.exited:
	default:
		p.end("closed its stdout and was ended")
	}
	<-p.over
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason != "" {
		return p.reason
	}
	return outcome(p.state)
}

// outcome returns the end of a sentence that starts with the program.
func outcome(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled() && status.Signal() == syscall.SIGKILL:
		return "was killed, as a program is that takes more memory than its limit"
	case ok && status.Signaled():
		return fmt.Sprintf("was ended by signal %d", status.Signal())
	}
	return fmt.Sprintf("ended with status %d", state.ExitCode())
}

// refusal returns why the system did not start a program.
func refusal(err error) string {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return "is no program for this machine; a script needs a first line that begins with #!"
	case errors.Is(err, fs.ErrNotExist):
		return "needs an interpreter or a loader that is not installed where the server runs"
	case errors.Is(err, fs.ErrPermission):
		return "may not be executed here: check its mode and how its file system is mounted"
	}
	return "cannot be started: " + bare(err)
}

// bare returns an error without its paths, which may contain secrets.
func bare(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

func (p *program) fault(reason string) error {
	return &ProgramError{Program: p.name, Reason: reason, Unstarted: true}
}

// clear removes what was prepared for a program that did not start.
func (p *program) clear() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		_ = f.Close()
	}
	if p.folder != "" {
		_ = os.RemoveAll(p.folder)
	}
}

// await waits for c, but at most d.
func await(c <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
	case <-timer.C:
	}
}

// registry holds the programs that this process started and has not waited for yet. The reaper of
// orphans must not wait for them.
type registry struct {
	mu   sync.Mutex
	pids map[int]bool
}

var mains = registry{pids: make(map[int]bool)}

func (r *registry) start(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	r.pids[cmd.Process.Pid] = true
	return nil
}

func (r *registry) forget(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pids, pid)
}

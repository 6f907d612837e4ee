// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// apart puts a program into its own process group, and makes the kernel kill it if this process is
// killed.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// process holds the data of a process from /proc.
type process struct {
	pid, parent, group int
	ended              bool // a zombie: nobody has waited for it yet
}

// processes returns the processes of this machine or container.
func processes() map[int]process {
	all := make(map[int]process)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return all
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue // It has ended since.
		}
		if p, ok := parseStat(pid, stat); ok {
			all[pid] = p
		}
	}
	return all
}

// parseStat parses a line of /proc/PID/stat. The program's name is in parentheses and may itself
// contain parentheses, so the other fields start after the last one.
func parseStat(pid int, stat []byte) (process, bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 {
		return process{}, false
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	group, err2 := strconv.Atoi(string(fields[2]))
	state := string(fields[0])
	return process{pid, parent, group, state == "Z" || state == "X"}, err1 == nil && err2 == nil
}

// relatives returns the other processes of the program with the given id: those of its group, its
// descendants, those with mark among their initial variables, and, if the program is alone, all
// descendants of this process. It waits for ended processes and does not return them.
func relatives(pid int, mark string, alone bool) []int {
	all := processes()
	self := os.Getpid()
	var found []int
	for _, p := range all {
		if p.pid == pid || p.pid == self {
			continue
		}
		if p.group != pid && !descends(all, p, pid) && !(alone && descends(all, p, self)) && !marked(p.pid, mark) {
			continue
		}
		if !p.ended {
			found = append(found, p.pid)
		} else if p.parent == self {
			reap(p.pid)
		}
	}
	return found
}

// descends reports whether p has ancestor among its ancestors.
func descends(all map[int]process, p process, ancestor int) bool {
	// The limit is for changes during the reading: there are no real cycles.
	for range len(all) {
		if p.parent == ancestor {
			return true
		}
		parent, ok := all[p.parent]
		if !ok {
			return false
		}
		p = parent
	}
	return false
}

// marked reports whether a process started with the variable. Processes of other users cannot be
// read and do not belong to the program.
func marked(pid int, variable string) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(b []byte) bool { return string(b) == variable })
}

// signal sends SIGTERM or SIGKILL to processes.
func (p *program) signal(pids []int, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
}

// reap waits for an ended process, unless another goroutine waits for it.
func reap(pid int) {
	mains.mu.Lock()
	defer mains.mu.Unlock()
	if !mains.pids[pid] {
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
}

// adopt makes this process the parent of all orphans among its descendants and waits for ended
// ones, until stop is called.
func adopt(ctx context.Context) (stop func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the parent of the program's orphans: %w", err)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
			case <-ctx.Done():
				return
			}
			self := os.Getpid()
			for _, p := range processes() {
				if p.parent == self && p.ended {
					reap(p.pid)
				}
			}
		}
	}()
	return func() {
		signal.Stop(ended)
		cancel()
		<-done
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}, nil
}

// knock connects to the socket at the path itself. A server can write to the folder, and a
// symbolic link there could lead to a socket that only the bridge can reach, such as another
// server's shim.
func knock(ctx context.Context, socket string) (net.Conn, error) {
	fd, err := unix.Open(socket, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("look for the shim's socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return nil, fmt.Errorf("look at the shim's socket: %w", err)
	}
	if info.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, errNoSocket
	}
	return (&net.Dialer{}).DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(fd))
}

// hungUp reports whether the peer has closed its side, even if some of its data was not read yet.
func hungUp(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		state := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // On Linux a descriptor is an int32.
		n, err := unix.Poll(state, 0)
		gone = err == nil && n > 0
	})
	return err != nil || gone
}

// admit refuses a peer of another user than this process.
func admit(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("look at the peer: %w", err)
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil || failed != nil {
		return fmt.Errorf("look at the peer: %w", errors.Join(err, failed))
	}
	return sameUser(int(cred.Uid), os.Getuid())
}

func sameUser(peer, self int) error {
	if peer != self {
		return fmt.Errorf("the peer runs as user %d and not as %d", peer, self)
	}
	return nil
}

// scarce is how many free bytes count as a full volume: what is less than a few blocks is of no use
// to a program that writes files.
const scarce = 64 << 10

// fullness returns the end of a sentence if the volume at that path is full, and nothing otherwise.
func fullness(storage string) string {
	var s syscall.Statfs_t
	if storage == "" || syscall.Statfs(storage, &s) != nil {
		return ""
	}
	if s.Bavail*uint64(s.Bsize) >= scarce && (s.Files == 0 || s.Ffree > 0) { //nolint:gosec // A block's size is positive.
		return ""
	}
	return "; its storage is full: delete files there, or raise the size of the storage"
}

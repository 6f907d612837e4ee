// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func runDown(_ context.Context, args []string) error {
	flags := flag.NewFlagSet("down", flag.ContinueOnError)
	name := nameFlag(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := newCluster(*name)
	if err != nil {
		return err
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return c.end()
}

// end ends the cluster's first process, and with it all others, and removes
// what the cluster wrote. It finds the process also where "up" was cut off
// before it wrote the state down.
func (c cluster) end() error {
	pids, err := c.nodes()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		started, err := processStart(pid)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = endProcess(pid, started)
		}
		if err != nil {
			return err
		}
		say("cluster %q is ended", c.name)
	}
	if err := c.removeCgroups(cgroupRoot); err != nil {
		return err
	}
	return os.RemoveAll(c.folder)
}

// nodes returns the first processes of clusters in this folder: there is one
// at most, unless something went wrong before.
func (c cluster) nodes() ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, file := range files {
		// A process that has ended needs no signal.
		content, _ := os.ReadFile(file)
		args := strings.Split(string(content), "\x00")
		if len(args) < 3 || args[1] != nodeVerb || args[2] != c.folder {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// endProcess asks the process to end and ends it by force if it does not.
func endProcess(pid int, started string) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	for begin, forced := time.Now(), false; ; time.Sleep(50 * time.Millisecond) {
		if !isRunning(pid, started) {
			return nil
		}
		if !forced && time.Since(begin) > 15*time.Second {
			forced = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if time.Since(begin) > 30*time.Second {
			return fmt.Errorf("process %d does not end", pid)
		}
	}
}

func isRunning(pid int, started string) bool {
	now, err := processStart(pid)
	return err == nil && now == started
}

func runLoad(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	name := nameFlag(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := newCluster(*name)
	if err != nil {
		return err
	}
	return c.load(ctx, flags.Args()...)
}

// load imports image archives, of docker save's form or OCI's, into the
// cluster's containerd.
func (c cluster) load(ctx context.Context, archives ...string) error {
	s, err := c.mustRun()
	if err != nil {
		return err
	}
	for _, archive := range archives {
		path, err := filepath.Abs(archive)
		if err != nil {
			return err
		}
		out, err := exec.CommandContext(ctx, "nsenter", "--target", strconv.Itoa(s.PID), "--mount", "--net", "--pid",
			filepath.Join(s.Assets, "ctr"), "--address", containerdSocket, "--namespace", "k8s.io", "images", "import", path).CombinedOutput()
		if err != nil {
			return fmt.Errorf("load %s: %w: %s", archive, err, out)
		}
	}
	return nil
}

func runKubeconfig(_ context.Context, args []string) error {
	flags := flag.NewFlagSet("kubeconfig", flag.ContinueOnError)
	name := nameFlag(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := newCluster(*name)
	if err != nil {
		return err
	}
	if _, err := c.mustRun(); err != nil {
		return err
	}
	fmt.Println(c.kubeconfig())
	return nil
}

func (c cluster) mustRun() (state, error) {
	s, running, err := c.readState()
	if err == nil && !running {
		err = fmt.Errorf("cluster %q does not run: start it with `make up`", c.name)
	}
	return s, err
}

func runStatus(_ context.Context, _ []string) error {
	folder, err := clustersFolder()
	if err != nil {
		return err
	}
	states, err := filepath.Glob(filepath.Join(folder, "*", "state.json"))
	if err != nil {
		return err
	}
	if len(states) == 0 {
		fmt.Println("no cluster")
	}
	for _, file := range states {
		c := cluster{name: filepath.Base(filepath.Dir(file)), folder: filepath.Dir(file)}
		s, running, err := c.readState()
		if err != nil {
			return err
		}
		word := "running"
		if !running {
			word = "crashed (the next up or down cleans up after it)"
		}
		fmt.Printf("%s: %s, ingress on http://127.0.0.1:%d, KUBECONFIG=%s\n", c.name, word, s.Port, c.kubeconfig())
	}
	return nil
}

// logTails returns the end of every program's log as an error, for a start
// that failed: the logs themselves go with the cluster.
func (c cluster) logTails() error {
	logs, err := filepath.Glob(c.path("logs", "*.log"))
	if err != nil {
		return err
	}
	var all []error
	for _, file := range logs {
		content, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = append(all, err)
		}
		lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
		tail := bytes.Join(lines[max(0, len(lines)-5):], []byte("\n"))
		all = append(all, fmt.Errorf("--- %s\n%s", filepath.Base(file), tail))
	}
	return errors.Join(all...)
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// readyTimeout bounds the start of a cluster. On 2 cores it takes 15 to 30 s.
const readyTimeout = 3 * time.Minute

func runUp(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	name := nameFlag(flags)
	port := flags.Int("port", defaultPort, "the port of 127.0.0.1 that leads to the ingress")
	enforce := flags.Bool("enforce", true, "enforce NetworkPolicies; false is for tests of what then is reached")
	pause := flags.String("pause", "", "the image archive that holds "+pauseImage)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *pause == "" {
		return errors.New("--pause is not set: it names the image archive that holds " + pauseImage)
	}
	cniPlugins, err := preflight(ctx)
	if err != nil {
		return err
	}
	c, err := newCluster(*name)
	if err != nil {
		return err
	}
	assets, err := buildAssets(ctx)
	if err != nil {
		return err
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if running, err := c.settle(state{Assets: assets, Port: *port, Enforce: *enforce}); running || err != nil {
		return err
	}
	if err := c.start(ctx, cniPlugins, state{Assets: assets, Port: *port, Enforce: *enforce}); err != nil {
		return errors.Join(err, c.end())
	}
	if err := c.awaitReady(ctx, *pause); err != nil {
		tail := c.logTails()
		return errors.Join(err, tail, c.end())
	}
	say("cluster %q is ready: export KUBECONFIG=%s", c.name, c.kubeconfig())
	return nil
}

// lock keeps two commands from changing one cluster at the same time.
func (c cluster) lock() (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(c.folder), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(c.folder+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// settle reports whether the cluster already runs as asked. What a crashed one
// has left is ended and removed.
func (c cluster) settle(want state) (running bool, err error) {
	s, running, err := c.readState()
	if err != nil {
		return false, err
	}
	switch {
	case !running:
		return false, c.end()
	case s.Enforce != want.Enforce:
		return false, fmt.Errorf("cluster %q runs already, with --enforce=%t: end it first, or leave that as it is", c.name, s.Enforce)
	case s.Port != want.Port:
		return false, fmt.Errorf("cluster %q runs already, on port %d: end it first, or leave the port as it is", c.name, s.Port)
	case s.Assets != want.Assets:
		return false, fmt.Errorf("cluster %q runs other Kubernetes programs than the ones just built: end it first", c.name)
	}
	say("cluster %q runs already", c.name)
	return true, nil
}

// start writes the cluster's files and starts its first process.
func (c cluster) start(ctx context.Context, cniPlugins string, s state) error {
	ingress, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)))
	if err != nil {
		return fmt.Errorf("port %d of 127.0.0.1 is taken; choose another, as in `make up PORT=8081`: %w", s.Port, err)
	}
	defer ingress.Close()
	api, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer api.Close()
	s.APIPort = api.Addr().(*net.TCPAddr).Port
	if err := c.prepare(cniPlugins, s); err != nil {
		return err
	}
	watch, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	defer watch.Close()
	s.PID, err = c.spawn(ctx, s, alive, ingress.(*net.TCPListener), api.(*net.TCPListener))
	if err = errors.Join(err, alive.Close()); err != nil {
		return fmt.Errorf("start the cluster's first process: %w", err)
	}
	s.StartTime, err = processStart(s.PID)
	if err != nil {
		return fmt.Errorf("the cluster's first process ended at once: %w", errors.Join(err, c.logTails()))
	}
	if err := c.writeState(s); err != nil {
		return err
	}
	if err := c.connectOutside(ctx, s.PID, watch); err != nil {
		say("pods of this cluster reach nothing outside of it: %v", err)
	}
	return nil
}

// prepare writes the cluster's files, and makes its cgroups.
func (c cluster) prepare(cniPlugins string, s state) error {
	for _, folder := range []string{"logs", "etcd", "pod-logs", "kubelet", "volumes", "registry"} {
		if err := os.MkdirAll(c.path(folder), 0o700); err != nil {
			return err
		}
	}
	if err := writePKI(c.path("pki")); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	if err := c.writeConfiguration(cniPlugins, s); err != nil {
		return err
	}
	return c.makeCgroups(cgroupRoot)
}

// spawn starts this program again as process 1 of new namespaces.
// It holds alive until it ends.
func (c cluster) spawn(ctx context.Context, s state, alive *os.File, listeners ...*net.TCPListener) (pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	log, err := os.OpenFile(c.path("logs", "cluster.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	// Not the command's context: the cluster outlives it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, nodeVerb, c.folder, c.name, s.Assets, strconv.FormatBool(s.Enforce))
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	for _, l := range listeners {
		f, err := l.File()
		if err != nil {
			return 0, err
		}
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, alive)
	isolate(cmd)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid = cmd.Process.Pid // Release forgets it.
	return pid, cmd.Process.Release()
}

// awaitReady returns when the node is Ready and its pods can be started.
func (c cluster) awaitReady(ctx context.Context, pause string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	say("starting cluster %q", c.name)
	steps := []struct {
		what string
		try  func() ([]byte, error)
	}{
		{"the API server", func() ([]byte, error) { return c.kubectl(ctx, "get", "--raw=/readyz") }},
		{"the roles of the cluster's own programs, and its StorageClass", func() ([]byte, error) {
			return c.kubectl(ctx, "apply", "--server-side", "-f", c.path("config", "roles.yaml"))
		}},
		{"the node", func() ([]byte, error) {
			return c.kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=1s", "node/"+nodeName)
		}},
		{"the default service account", func() ([]byte, error) { return c.kubectl(ctx, "get", "serviceaccount", "default") }},
		{"CoreDNS, kube-proxy and the enforcement of policies", func() ([]byte, error) { return os.ReadFile(c.path(programsReadyFile)) }},
	}
	for _, step := range steps {
		if err := c.poll(ctx, step.what, step.try); err != nil {
			return err
		}
	}
	return c.load(ctx, pause)
}

// poll tries until it succeeds.
func (c cluster) poll(ctx context.Context, what string, try func() ([]byte, error)) error {
	for {
		out, err := try()
		if err == nil {
			return nil
		}
		if _, running, stateErr := c.readState(); !running {
			return fmt.Errorf("the cluster ended while it waited for %s: %w", what, errors.Join(err, stateErr))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %s", what, ctx.Err(), out)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (c cluster) kubectl(ctx context.Context, args ...string) ([]byte, error) {
	s, _, err := c.readState()
	if err != nil {
		return nil, err
	}
	args = append([]string{"--kubeconfig=" + c.kubeconfig(), "--request-timeout=5s"}, args...)
	return exec.CommandContext(ctx, filepath.Join(s.Assets, "kubectl"), args...).CombinedOutput()
}

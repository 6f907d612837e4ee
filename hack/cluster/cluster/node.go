// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// nodeVerb runs the inside of a cluster. "up" starts it as the first process
// of new namespaces; it is not for people.
const nodeVerb = "node-inside"

// Files that "up" hands to the inside, by descriptor: the listeners were made
// outside, on the host's 127.0.0.1, and are served inside.
const (
	ingressListenerFD = 3
	apiListenerFD     = 4
)

// aliveFD is the end of a pipe that this process holds as long as it runs: at the
// other end slirp4netns waits for that to end.
const aliveFD = 5

// runNode is process 1 of a cluster. When it ends, the kernel ends every other
// process of the cluster, its mounts and its network.
func runNode(ctx context.Context, args []string) error {
	if len(args) != 4 || os.Getpid() != 1 {
		return fmt.Errorf("%s is started by up, in namespaces of its own", nodeVerb)
	}
	c, assets := cluster{folder: args[0], name: args[1]}, args[2]
	enforce := args[3] == "true"
	// Containers of other users read what is written for them here, such as
	// their resolv.conf, whatever the caller's own umask is.
	syscall.Umask(0o022)
	if err := prepareMounts(); err != nil {
		return fmt.Errorf("prepare mounts: %w", err)
	}
	syscall.CloseOnExec(aliveFD)
	if err := c.prepareNetwork(ctx); err != nil {
		return fmt.Errorf("prepare network: %w", err)
	}
	if err := errors.Join(serveForwards(ctx), serveMetadata(ctx)); err != nil {
		return err
	}
	s := newSupervisor(c.path("logs"))
	go s.reap()
	if err := c.startPrograms(ctx, s, assets, enforce); err != nil {
		return err
	}
	<-ctx.Done()
	s.stop()
	return nil
}

// serveForwards serves the listeners that "up" made.
func serveForwards(ctx context.Context) error {
	for fd, target := range map[uintptr]string{
		ingressListenerFD: net.JoinHostPort(nodeAddress, ingressNodePort),
		apiListenerFD:     net.JoinHostPort("127.0.0.1", apiPort),
	} {
		listener, err := net.FileListener(os.NewFile(fd, target))
		if err != nil {
			return fmt.Errorf("take over the listener for %s: %w", target, err)
		}
		go forward(ctx, listener, target)
	}
	return nil
}

// serveMetadata answers at the metadata address, as a cloud's node does.
func serveMetadata(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(metadataAddress, "80"))
	if err != nil {
		return fmt.Errorf("serve the metadata address: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "metadata of the local node\n")
	})}
	go func() { _ = server.Serve(listener) }()
	return nil
}

// startPrograms returns when all programs serve, and says so by a file.
func (c cluster) startPrograms(ctx context.Context, s *supervisor, assets string, enforce bool) error {
	if err := s.start(c.controlPlane(assets)); err != nil {
		return err
	}
	if err := awaitAPI(ctx); err != nil {
		return err
	}
	if err := s.start(c.nodePrograms(assets, enforce)); err != nil {
		return err
	}
	healthy := []string{"http://127.0.0.1:8181/ready", "http://127.0.0.1:10256/healthz"}
	if enforce {
		healthy = append(healthy, "http://"+policyListen+"/healthz")
	}
	if err := awaitHealthy(ctx, healthy...); err != nil {
		return err
	}
	return os.WriteFile(c.path(programsReadyFile), nil, 0o600)
}

// prepareMounts cuts this process's mounts off from the host's and gives the
// cluster its own /proc, /run and /var/log.
func prepareMounts() error {
	// Private first, so that nothing reaches the host; shared again then,
	// because kubelet's volumes must reach containerd's mounts.
	for _, propagation := range []uintptr{syscall.MS_PRIVATE, syscall.MS_SHARED} {
		if err := syscall.Mount("", "/", "", propagation|syscall.MS_REC, ""); err != nil {
			return err
		}
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	for _, folder := range []string{"/run", "/var/log"} {
		if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "mode=755"); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Dir(containerdSocket), 0o711)
}

// prepareNetwork gives the network namespace its node address. The address is
// on a bridge of its own, as an interface that needs no peer.
func (c cluster) prepareNetwork(ctx context.Context) error {
	for _, command := range []string{
		"ip link set lo up",
		"ip link add node0 type bridge",
		"ip address add " + nodeAddress + "/24 dev node0",
		"ip address add " + metadataAddress + "/32 dev node0",
		"ip link set node0 up",
		"nft --file " + c.path("config", outsideFile),
	} {
		words := strings.Fields(command)
		if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command, err, out)
		}
	}
	for file, value := range map[string]string{
		"/proc/sys/net/ipv4/ip_forward": "1",
		// Without it a pod that calls its own node's Service bypasses kube-proxy.
		bridgeFilter: "1",
		// Without it one pod reaches another by the address of IPv6 that the kernel
		// gives each interface.
		bridgeFilter6: "1",
	} {
		if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// awaitHealthy returns when each URL has answered 200: those of CoreDNS and
// kube-proxy, whose failure no Kubernetes object shows.
func awaitHealthy(ctx context.Context, urls ...string) error {
	for _, url := range urls {
		for !isHealthy(ctx, url) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait for %s: %w", url, ctx.Err())
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

func isHealthy(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := new(http.Client).Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// awaitAPI returns when the API server accepts connections; the programs that
// need it then start without a round of failures.
func awaitAPI(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	dialer := net.Dialer{Timeout: time.Second}
	for {
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", apiPort))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the API server: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

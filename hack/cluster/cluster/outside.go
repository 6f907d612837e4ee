// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The way from a cluster to what the machine reaches is slirp4netns: a process of
// the machine that accepts the packets of one interface of the cluster and opens
// the machine's own connections for them. So the machine forwards no packets, and
// its firewall and its routes stay as they are.
const (
	// outsideInterface is the interface, in the cluster's namespace.
	outsideInterface = "outside0"
	// outsideNetwork is its network. slirp4netns gives out the addresses: the
	// third one is a resolver that asks the machine's.
	outsideNetwork  = "10.213.1.0/24"
	outsideResolver = "10.213.1.3"
)

// outsideTimeout bounds how long slirp4netns takes to make the interface.
const outsideTimeout = 20 * time.Second

// outsideFile has the rules of the packets that leave the cluster.
const outsideFile = "outside.nft"

// outsideRules keep what leaves the cluster from the machine itself and from what
// is never outside: a cloud's metadata services, and addresses of the cluster that
// belong to nothing. The node asks the resolver; pods ask CoreDNS.
const outsideRules = `table inet outside {
    set refused {
        type ipv4_addr
        flags interval
        auto-merge
        elements = { {{.Refused}} }
    }
    chain forward {
        type filter hook forward priority filter; policy accept;
        oifname "{{.Interface}}" ip daddr @refused reject with icmpx admin-prohibited
    }
    chain output {
        type filter hook output priority filter; policy accept;
        oifname "{{.Interface}}" ip daddr {{.Resolver}} meta l4proto { tcp, udp } th dport 53 accept
        oifname "{{.Interface}}" ip daddr @refused reject with icmpx admin-prohibited
    }
}
`

// refusedOutside returns what no packet leaves the cluster for, with the machine's
// own addresses among it.
func refusedOutside(machine []net.Addr) []string {
	refused := []string{outsideNetwork, nodeAddress, podNetwork, serviceNetwork, "127.0.0.0/8", "169.254.0.0/16"}
	for _, a := range machine {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			refused = append(refused, n.IP.String())
		}
	}
	return refused
}

// writeOutsideRules writes the rules for the addresses that the machine has now.
func (c cluster) writeOutsideRules() error {
	machine, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("list the machine's addresses: %w", err)
	}
	text := strings.NewReplacer(
		"{{.Refused}}", strings.Join(refusedOutside(machine), ", "),
		"{{.Interface}}", outsideInterface, "{{.Resolver}}", outsideResolver,
	).Replace(outsideRules)
	return os.WriteFile(c.path("config", outsideFile), []byte(text), 0o600)
}

// connectOutside starts slirp4netns for the cluster whose first process is pid. It
// ends when nothing of the cluster holds the other end of alive any more.
func (c cluster) connectOutside(ctx context.Context, pid int, alive *os.File) error {
	program, err := exec.LookPath("slirp4netns")
	if err != nil {
		return errors.New("slirp4netns is missing: run `hack/install-deps.sh up` as root on Debian")
	}
	log, err := os.OpenFile(c.path("logs", "outside.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	ready, report, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	// Not the command's context: it serves as long as the cluster runs.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program,
		"--configure", "--disable-host-loopback", "--enable-sandbox", "--cidr="+outsideNetwork,
		"--exit-fd=3", "--ready-fd=4", "--netns-type=path", filepath.Join("/proc", fmt.Sprint(pid), "ns", "net"), outsideInterface)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.ExtraFiles = []*os.File{alive, report}
	detach(cmd)
	err = cmd.Start()
	_ = report.Close()
	if err != nil {
		return err
	}
	if err := errors.Join(ready.SetReadDeadline(time.Now().Add(outsideTimeout)), cmd.Process.Release()); err != nil {
		return err
	}
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		why, _ := os.ReadFile(log.Name())
		return fmt.Errorf("slirp4netns made no interface: %w: %s", err, why)
	}
	return nil
}

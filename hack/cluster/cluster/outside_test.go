// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWhatLeavesTheClusterIsKeptFromTheMachine(t *testing.T) {
	address := func(text string) net.Addr {
		ip, n, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		return &net.IPNet{IP: ip, Mask: n.Mask}
	}
	refused := refusedOutside([]net.Addr{address("127.0.0.1/8"), address("198.51.100.7/24"), address("172.17.0.1/16"), address("fd00::2/64")})
	for _, want := range []string{"198.51.100.7", "172.17.0.1", "127.0.0.0/8", "169.254.0.0/16", outsideNetwork, podNetwork, serviceNetwork} {
		if !slices.Contains(refused, want) {
			t.Errorf("%s is not refused: %v", want, refused)
		}
	}
	for _, r := range refused {
		if strings.Contains(r, ":") {
			t.Errorf("%s is no element of a set of IPv4 addresses", r)
		}
	}
}

func TestTheRulesOfTheWayOutHaveNoPlaceholderLeft(t *testing.T) {
	c := cluster{name: "test", folder: t.TempDir()}
	if err := os.Mkdir(c.path("config"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.writeOutsideRules(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.path("config", outsideFile))
	if err != nil || strings.Contains(string(text), "{{.") || !strings.Contains(string(text), "169.254.0.0/16") {
		t.Errorf("rules (%v):\n%s", err, text)
	}
}

// TestTheWayOutEndsWithTheCluster has a script in the place of slirp4netns, which
// says that it is ready and waits as that does.
func TestTheWayOutEndsWithTheCluster(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "ended")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ended, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer ended.Close()
	if err := ended.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := clusterWithSlirp(t, "printf 1 >&4; read -r line <&3; echo \"$@\" >"+fifo)
	watch, alive, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.connectOutside(t.Context(), 4711, watch); err != nil {
		t.Fatal(err)
	}
	_ = watch.Close()
	_ = alive.Close()
	got, err := bufio.NewReader(ended).ReadString('\n')
	if err != nil {
		t.Fatalf("it does not end with the cluster: %v", err)
	}
	if !strings.Contains(got, "--disable-host-loopback") || !strings.Contains(got, "/proc/4711/ns/net") {
		t.Errorf("arguments are %s", got)
	}
}

func TestAWayOutThatFailsSaysWhy(t *testing.T) {
	c := clusterWithSlirp(t, "echo no device /dev/net/tun; exit 1")
	watch, alive, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	defer alive.Close()
	if err := c.connectOutside(t.Context(), 4711, watch); err == nil || !strings.Contains(err.Error(), "no device /dev/net/tun") {
		t.Errorf("error = %v, want one with what slirp4netns said", err)
	}
}

// clusterWithSlirp returns a cluster, with a script on PATH that is slirp4netns.
func clusterWithSlirp(t *testing.T, script string) cluster {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "slirp4netns"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	c := cluster{name: "test", folder: t.TempDir()}
	if err := os.Mkdir(c.path("logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	return c
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// bridgeFilter and bridgeFilter6 are the switches of the kernel module
// br_netfilter, there only once the module is.
const (
	bridgeFilter  = "/proc/sys/net/bridge/bridge-nf-call-iptables"
	bridgeFilter6 = "/proc/sys/net/bridge/bridge-nf-call-ip6tables"
)

// modules are what kube-proxy, the pods' network, its way outside and containerd's
// snapshots need of the kernel. Where they are built in, loading them does nothing.
var modules = []string{"br_netfilter", "nf_conntrack", "overlay", "tun", "veth"}

// useAdministratorsPath adds the folders of an administrator's commands, which
// are not on the PATH of everybody who is root.
func useAdministratorsPath() error {
	return os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin")
}

// cniFolders are where Debian and other distributions put the CNI plugins.
var cniFolders = []string{"/usr/lib/cni", "/opt/cni/bin"}

// preflight returns the folder of the CNI plugins, or one sentence that names
// what is missing and the two ways that need nothing of it.
func preflight(ctx context.Context) (cniPlugins string, err error) {
	var missing []string
	if runtime.GOOS != "linux" {
		missing = append(missing, "Linux (this is "+runtime.GOOS+")")
	} else if os.Geteuid() != 0 {
		missing = append(missing, "root")
	}
	for _, command := range []string{"runc", "ip", "iptables", "nft", "nsenter"} {
		if _, err := exec.LookPath(command); err != nil {
			missing = append(missing, command)
		}
	}
	if cniPlugins = findPlugins(); cniPlugins == "" {
		missing = append(missing, "the CNI plugins")
	}
	if len(missing) == 0 && !loadModules(ctx) {
		missing = append(missing, "the kernel module br_netfilter")
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("a local cluster needs %s, missing here: run `hack/install-deps.sh up` as root on Debian, "+
			"or use a cluster you have with `make up CLUSTER=kind` or `make up CLUSTER=current`", strings.Join(missing, ", "))
	}
	return cniPlugins, nil
}

func findPlugins() string {
	for _, folder := range cniFolders {
		if _, err := os.Stat(filepath.Join(folder, "bridge")); err == nil {
			return folder
		}
	}
	return ""
}

// loadModules reports whether the bridge filter is there. A modprobe that fails
// matters only where that is not.
func loadModules(ctx context.Context) bool {
	_ = exec.CommandContext(ctx, "modprobe", append([]string{"--all", "--quiet"}, modules...)...).Run()
	_, err := os.Stat(bridgeFilter)
	return err == nil
}

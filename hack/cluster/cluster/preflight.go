// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// cniFolders are where Debian and other distributions put the CNI plugins.
var cniFolders = []string{"/usr/lib/cni", "/opt/cni/bin"}

// preflight returns the folder of the CNI plugins, or one sentence that names
// what is missing and the two ways that need nothing of it.
func preflight() (cniPlugins string, err error) {
	var missing []string
	if runtime.GOOS != "linux" {
		missing = append(missing, "Linux (this is "+runtime.GOOS+")")
	} else if os.Geteuid() != 0 {
		missing = append(missing, "root")
	}
	for _, command := range []string{"containerd", "ctr", "runc", "ip", "iptables", "nft", "nsenter"} {
		if _, err := exec.LookPath(command); err != nil {
			missing = append(missing, command)
		}
	}
	for _, folder := range cniFolders {
		if _, err := os.Stat(filepath.Join(folder, "bridge")); err == nil {
			cniPlugins = folder
		}
	}
	if cniPlugins == "" {
		missing = append(missing, "the CNI plugins")
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("a local cluster needs %s, missing here: run hack/install-deps.sh as root on Debian, "+
			"or use a cluster you have with `make up CLUSTER=kind` or `make up CLUSTER=current`", strings.Join(missing, ", "))
	}
	return cniPlugins, nil
}

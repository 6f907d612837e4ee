// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Addresses and names inside a cluster. They are the same in every cluster:
// each has a network namespace of its own, so that they never meet.
const (
	clusterDomain = "cluster.local"
	nodeName      = "local"
	nodeAddress   = "10.213.0.1"
	// registryAddress is the registry of images of the cluster itself.
	registryAddress   = nodeAddress + ":5000"
	podNetwork        = "10.244.0.0/24"
	serviceNetwork    = "10.96.0.0/16"
	apiServiceAddress = "10.96.0.1"
	apiPort           = "6443"

	// podBridge is the interface that connects the pods.
	podBridge = "pods0"
	// metadataAddress is where a cloud's nodes learn of themselves, often with
	// credentials. The local node serves it too, for tests that attack it.
	metadataAddress = "169.254.169.254"
	// policyListen is where the CNI plugin announces pods, and policyPlugin the
	// plugin's name.
	policyListen = "127.0.0.1:10260"
	policyPlugin = "hosted-bridge-policy"

	// ingressNodePort is the NodePort that the printed URL leads to; the
	// manifests of the local installation give it to the ingress Service.
	ingressNodePort = "30080"

	// pauseImage holds each pod's namespaces. The archive given to "up" has it
	// under this name.
	pauseImage = "docker.io/hosted-bridge/pause:dev"

	// containerdSocket is in the cluster's own /run.
	containerdSocket = "/run/containerd/containerd.sock"
)

// programsReadyFile appears in the cluster's folder when the programs serve.
const programsReadyFile = "programs-ready"

// defaultPort is the port of 127.0.0.1 on which the ingress is reached.
const defaultPort = 8080

// cluster is one cluster's folder and name.
type cluster struct {
	name   string
	folder string // absolute; everything the cluster writes is in it.
}

var clusterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// newCluster returns the cluster of that name in this repository.
func newCluster(name string) (cluster, error) {
	if !clusterName.MatchString(name) {
		return cluster{}, fmt.Errorf("cluster name %q is not valid: it must be 1 to 32 lower-case letters, digits or hyphens", name)
	}
	folder, err := clustersFolder()
	return cluster{name: name, folder: filepath.Join(folder, name)}, err
}

// clustersFolder is where this repository's clusters are.
func clustersFolder() (string, error) {
	module, err := moduleFolder()
	if err != nil {
		return "", err
	}
	return filepath.Join(module, "..", "..", ".cluster"), nil
}

// nameFlag adds the flag that every verb about one cluster has.
func nameFlag(flags *flag.FlagSet) *string {
	return flags.String("name", "default", "the cluster's name")
}

func (c cluster) path(elements ...string) string {
	return filepath.Join(append([]string{c.folder}, elements...)...)
}

func (c cluster) kubeconfig() string { return c.path("kubeconfig") }

// cgroup is the parent of every container's cgroup: one for each folder, so
// that clusters of the same name in two checkouts stay apart.
func (c cluster) cgroup() string {
	sum := sha256.Sum256([]byte(c.folder))
	return "hosted-bridge-" + hex.EncodeToString(sum[:4])
}

// state is what a running cluster leaves for later commands to find it by.
type state struct {
	// PID is the cluster's first process, as the host sees it.
	PID int `json:"pid"`
	// StartTime is that process's start in clock ticks since boot. It tells
	// the process from a later one that was given the same number.
	StartTime string `json:"startTime"`
	// Assets is the folder of the Kubernetes programs it runs.
	Assets string `json:"assets"`
	// Port and APIPort are the ports of 127.0.0.1 that lead to the ingress and
	// to the API server.
	Port    int `json:"port"`
	APIPort int `json:"apiPort"`
	// Enforce says that it enforces NetworkPolicies.
	Enforce bool `json:"enforce"`
}

func (c cluster) writeState(s state) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.path("state.json"), content, 0o600)
}

// readState returns the state, and whether the process it names still runs.
func (c cluster) readState() (s state, running bool, err error) {
	content, err := os.ReadFile(c.path("state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, false, nil
	}
	if err != nil {
		return state{}, false, err
	}
	if err := json.Unmarshal(content, &s); err != nil {
		return state{}, false, fmt.Errorf("read %s: %w", c.path("state.json"), err)
	}
	return s, isRunning(s.PID, s.StartTime), nil
}

// processStart returns field 22 of /proc/PID/stat. The second field is the
// command's name in parentheses and may itself hold spaces and parentheses.
func processStart(pid int) (string, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat is too short", pid)
	}
	if fields[0] == "Z" {
		return "", fs.ErrNotExist
	}
	return fields[19], nil
}

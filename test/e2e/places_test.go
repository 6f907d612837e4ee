// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/test/e2e/canary"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// The kinds of places in which a secret could lie.
const (
	kindObjects     = "object"
	kindLogs        = "log"
	kindMetrics     = "metrics"
	kindStore       = "etcd file"
	kindNodeLogs    = "log file of the node"
	kindPodLogs     = "log file of a container"
	kindEnvironment = "environment of"
	kindCommandLine = "command line of"
	kindVolumes     = "volume file"
)

// metricsOf are the Deployments whose pods serve metrics.
var metricsOf = []string{"hosted-bridge-ingress", "hosted-bridge-keybroker", "hosted-bridge-operator"}

// search has the scanner read every place that an administrator of the cluster
// can read, and on a local cluster those of the node's root too.
func search(t *testing.T, s *canary.Scanner) {
	t.Helper()
	searchObjects(t, s)
	searchLogs(t, s)
	searchMetrics(t, s)
	if os.Getenv("CLUSTER") != "local" {
		t.Log("the cluster is not local: etcd's files, the node's and its processes are out of reach and were not searched")
		return
	}
	node := localNode(t)
	searchFolder(t, s, kindStore, filepath.Join(node.folder, "etcd"))
	searchFolder(t, s, kindNodeLogs, filepath.Join(node.folder, "logs"))
	searchFolder(t, s, kindPodLogs, filepath.Join(node.folder, "pod-logs"))
	searchFolder(t, s, kindVolumes, filepath.Join(node.root, node.folder, "kubelet", "pods"))
	searchProcesses(t, s, node)
}

// searchObjects reads every object of every kind that the API server lists.
func searchObjects(t *testing.T, s *canary.Scanner) {
	t.Helper()
	kinds := strings.Fields(mustKubectl(t, "api-resources", "--verbs=list", "--output=name"))
	out := mustOutput(t, "get", strings.Join(kinds, ","), "--all-namespaces", "--output=json", "--show-managed-fields")
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("parse all objects: %v", err)
	}
	for _, item := range list.Items {
		var head struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
		if err := json.Unmarshal(item, &head); err != nil {
			t.Fatalf("parse an object: %v", err)
		}
		place := strings.Trim(head.Kind+" "+head.Metadata.Namespace+"/"+head.Metadata.Name, "/")
		must.Succeed(t, s.ScanObject(kindObjects, place, item))
	}
}

// searchLogs reads what each container has written, and the one before it.
func searchLogs(t *testing.T, s *canary.Scanner) {
	t.Helper()
	var pods corev1.PodList
	if err := installed.client.List(t.Context(), &pods); err != nil {
		t.Fatalf("list pods: %v", err)
	}
	for _, p := range pods.Items {
		for _, c := range p.Status.ContainerStatuses {
			place := p.Namespace + "/" + p.Name + "/" + c.Name
			args := []string{"logs", "--namespace=" + p.Namespace, p.Name, "--container=" + c.Name}
			if c.State.Waiting == nil || c.RestartCount > 0 {
				scanLog(t, s, place, args)
			}
			if c.LastTerminationState.Terminated != nil {
				scanLog(t, s, place+" before its restart", append(args, "--previous"))
			}
		}
	}
}

// scanLog reads one log. A pod or container that has gone since it was listed
// has none any more.
func scanLog(t *testing.T, s *canary.Scanner, place string, args []string) {
	t.Helper()
	out, err := output(t.Context(), args...)
	if err != nil && !isGone(err) {
		t.Fatalf("read the log of %s: %v", place, err)
	}
	s.ScanBytes(kindLogs, place, out)
}

func isGone(err error) bool {
	for _, text := range []string{"not found", "unable to retrieve container logs", "is waiting to start", "is terminated"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// searchMetrics reads the metrics of our processes and of the API server.
func searchMetrics(t *testing.T, s *canary.Scanner) {
	t.Helper()
	s.ScanBytes(kindMetrics, "the API server", mustOutput(t, "get", "--raw=/metrics"))
	for _, deployment := range metricsOf {
		for _, p := range podsOf(t, deployment) {
			s.ScanBytes(kindMetrics, p.Name, metricsFrom(t, p))
		}
	}
}

// metricsFrom returns what a pod of the installation answers to /metrics.
func metricsFrom(t *testing.T, p corev1.Pod) []byte {
	t.Helper()
	out, err := readMetrics(t.Context(), p)
	if err != nil || !strings.Contains(out, "go_goroutines") {
		t.Fatalf("the metrics of %s are none: %v: %.200s", p.Name, err, out)
	}
	return []byte(out)
}

// readMetrics asks a pod of the installation for /metrics, on the port for them or, where there is
// none, on that of the probes.
func readMetrics(ctx context.Context, p corev1.Pod) (string, error) {
	ports := map[string]int32{}
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			ports[port.Name] = port.ContainerPort
		}
	}
	return installed.runKubectl(ctx, "", "get", fmt.Sprintf("--raw=/api/v1/namespaces/%s/pods/%s:%d/proxy/metrics",
		p.Namespace, p.Name, cmp.Or(ports["metrics"], ports["probes"])))
}

// searchFolder reads every file of a folder. One that goes while it is read
// has been deleted.
func searchFolder(t *testing.T, s *canary.Scanner, kind, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		return scanFile(s, kind, strings.TrimPrefix(path, folder+"/"), path)
	})
	if err != nil {
		t.Fatalf("search %s: %v", folder, err)
	}
}

func scanFile(s *canary.Scanner, kind, place, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return s.Scan(kind, place, f)
}

// node is a local cluster as it is seen from its machine.
type node struct {
	// folder is the cluster's, and root where the mounts of the cluster's
	// processes are seen from here.
	folder, root string
}

// localNode finds the cluster beside its kubeconfig.
func localNode(t *testing.T) node {
	t.Helper()
	folder := must.Value(filepath.Abs(filepath.Dir(installed.kubeconfig)))(t)
	content := must.Value(os.ReadFile(filepath.Join(folder, "state.json")))(t)
	var state struct{ PID int }
	if err := json.Unmarshal(content, &state); err != nil || state.PID == 0 {
		t.Fatalf("read the cluster's state: %v", err)
	}
	return node{folder: folder, root: filepath.Join("/proc", strconv.Itoa(state.PID), "root")}
}

// searchProcesses reads the environment and the command line of every process
// of the cluster: its /proc has those, and no others.
func searchProcesses(t *testing.T, s *canary.Scanner, n node) {
	t.Helper()
	processes, err := filepath.Glob(filepath.Join(n.root, "proc", "[0-9]*"))
	if err != nil || len(processes) == 0 {
		t.Fatalf("%d processes in the cluster (%v)", len(processes), err)
	}
	for _, process := range processes {
		for kind, file := range map[string]string{kindEnvironment: "environ", kindCommandLine: "cmdline"} {
			content, err := os.ReadFile(filepath.Join(process, file))
			if err != nil && !hasEnded(process) {
				t.Fatalf("read %s of a process of the cluster: %v", file, err)
			}
			s.ScanBytes(kind, "process "+filepath.Base(process)+" "+nameOf(process), content)
		}
	}
}

func hasEnded(process string) bool {
	_, err := os.Stat(filepath.Join(process, "exe"))
	return err != nil
}

// nameOf returns the name of a process, or "" where it has ended.
func nameOf(process string) string {
	name, _ := os.ReadFile(filepath.Join(process, "comm"))
	return strings.TrimSpace(string(name))
}

// output runs kubectl in the run's namespace and returns what it printed on
// standard output; its warnings are on the other stream.
func output(ctx context.Context, args ...string) ([]byte, error) {
	var out, warnings bytes.Buffer
	cmd := installed.kubectlCommand(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &warnings
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%w: %s", err, warnings.String())
	}
	return out.Bytes(), nil
}

// mustOutput is output that fails the test where kubectl fails.
func mustOutput(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := output(t.Context(), args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v", args[0], err)
	}
	return out
}

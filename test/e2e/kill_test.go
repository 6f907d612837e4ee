// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// podsOf returns the pods of one of the installation's Deployments. Each has
// a ServiceAccount of the same name.
func podsOf(t *testing.T, deployment string) []corev1.Pod {
	t.Helper()
	pods, err := listPodsOf(t.Context(), deployment)
	if err != nil || len(pods) == 0 {
		t.Fatalf("%d pods of %s in %s (%v)", len(pods), deployment, systemNamespace, err)
	}
	return pods
}

func listPodsOf(ctx context.Context, deployment string) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := installed.client.List(ctx, &list, client.InNamespace(systemNamespace))
	var pods []corev1.Pod
	for _, p := range list.Items {
		if p.Spec.ServiceAccountName == deployment && p.DeletionTimestamp == nil {
			pods = append(pods, p)
		}
	}
	return pods, err
}

// remove deletes pods: their processes are asked to end.
func remove(t *testing.T, pods ...corev1.Pod) {
	t.Helper()
	for _, p := range pods {
		if err := installed.client.Delete(t.Context(), &p); err != nil {
			t.Fatalf("delete pod %s: %v", p.Name, err)
		}
	}
}

// kill ends the pods' processes without a warning, by SIGKILL. That takes a
// node whose processes are seen from here, as the local cluster's are; on
// another cluster the pods are deleted without their grace period.
func kill(t *testing.T, pods ...corev1.Pod) {
	t.Helper()
	for _, p := range pods {
		processes := processesOf(t, p)
		for _, pid := range processes {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatalf("kill process %d of pod %s: %v", pid, p.Name, err)
			}
		}
		if len(processes) > 0 {
			continue
		}
		if os.Getenv("CLUSTER") == "local" {
			t.Fatalf("pod %s has no process that is seen from here, though the cluster is local", p.Name)
		}
		if err := installed.client.Delete(t.Context(), &p, client.GracePeriodSeconds(0)); err != nil {
			t.Fatalf("delete pod %s: %v", p.Name, err)
		}
	}
}

// processesOf returns the ids of the processes in the pod's containers.
func processesOf(t *testing.T, p corev1.Pod) (pids []int) {
	t.Helper()
	for _, status := range p.Status.ContainerStatuses {
		pids = append(pids, processesIn(t, p, status)...)
	}
	return pids
}

// processesIn returns the ids of the processes in one container of the pod,
// which their control groups name.
func processesIn(t *testing.T, p corev1.Pod, status corev1.ContainerStatus) (pids []int) {
	t.Helper()
	groups := must.Value(filepath.Glob("/proc/[0-9]*/cgroup"))(t)
	_, id, found := strings.Cut(status.ContainerID, "://")
	if !found {
		t.Fatalf("container %s of pod %s does not run", status.Name, p.Name)
	}
	for _, file := range groups {
		// A process that has ended meanwhile has no file any more.
		if content, err := os.ReadFile(file); err != nil || !bytes.Contains(content, []byte(id)) {
			continue
		}
		pid := must.Value(strconv.Atoi(filepath.Base(filepath.Dir(file))))(t)
		pids = append(pids, pid)
	}
	return pids
}

// awaitReplaced waits until the Deployment has that many ready pods, and each
// of the ended ones is another pod or has been started again.
func awaitReplaced(t *testing.T, deployment string, want int, ended []corev1.Pod) {
	t.Helper()
	before := map[types.UID]int32{}
	for _, p := range ended {
		before[p.UID] = restarts(p)
	}
	wait.NoError(t, wait.Limit, deployment+" is whole again", func(ctx context.Context) error {
		pods, err := listPodsOf(ctx, deployment)
		if err != nil {
			return err
		}
		ready := 0
		for _, p := range pods {
			if was, ok := before[p.UID]; ok && restarts(p) == was {
				return fmt.Errorf("pod %s has not been started again", p.Name)
			}
			if isReady(p) {
				ready++
			}
		}
		if ready != want {
			return fmt.Errorf("%d of %d pods are ready", ready, want)
		}
		return nil
	})
}

func restarts(p corev1.Pod) (n int32) {
	for _, s := range p.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}

func isReady(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

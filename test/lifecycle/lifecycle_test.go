// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestTheLifeOfAnInstallation is one story, each part of which begins where the
// one before has ended.
func TestTheLifeOfAnInstallation(t *testing.T) {
	c := must.Value(fromEnvironment())(t)
	users, keys := c.mintUsers(t, "uma", "vera", "will", "late", "later", "last")
	c.makeServer(t, users)
	c.install(t, c.old)
	late, later, last, users := users[3], users[4], users[5], users[:3:3]
	for i, u := range users {
		c.makeBridge(t, u, keys[i])
	}
	for _, u := range users {
		c.seal(t, u)
		c.awaitPace(t, u)
	}
	story := []struct {
		name string
		tell func(*testing.T)
	}{
		{"an upgrade fails no call", func(t *testing.T) {
			c.expectNoCallLost(t, users, "upgrade", func() { c.install(t, c.next) })
		}},
		{"a rollback fails no call", func(t *testing.T) {
			c.expectNoCallLost(t, users, "rollback", func() {
				c.mustHelm(t, "rollback", release, "--force-conflicts", "--wait", "--timeout=3m")
			})
		}},
		{"helm test finds the installation in order", func(t *testing.T) {
			c.install(t, c.next)
			c.mustHelm(t, "test", release, "--timeout=90s")
		}},
		{"helm test finds what is broken", c.expectTestToFail},
		{"another operator goes on where the one that leads ends", func(t *testing.T) {
			leader := c.leader(t)
			must.Succeed(t, c.client.Delete(t.Context(), &leader))
			c.makeBridge(t, late, keys[3])
			t.Logf("a user who was made when the leader was to end had a Deployment after %s", c.awaitObjects(t, late).Round(time.Millisecond))
			c.seal(t, late)
		}},
		{"another operator takes over from one that is killed", func(t *testing.T) {
			c.killLeader(t)
			begun := time.Now()
			c.makeBridge(t, later, keys[4])
			c.seal(t, later)
			t.Logf("a user who was made when the leader was killed was served after %s", time.Since(begun).Round(time.Millisecond))
		}},
		{"an uninstall leaves what the notes say", c.expectLeftAsTheNotesSay},
		{"another install finds the users and opens their secrets", func(t *testing.T) {
			c.install(t, c.next)
			for _, u := range append(users, late, later) {
				t.Logf("%s is served again after %s", u.name, c.awaitServed(t, u).Round(time.Millisecond))
				c.awaitReady(t, u)
			}
		}},
		{"the installation does with rights in one namespace", func(t *testing.T) { c.expectNamespaced(t, users, last, keys[5]) }},
	}
	for _, part := range story {
		if !t.Run(part.name, part.tell) {
			t.Fatal("what comes after would begin elsewhere")
		}
	}
}

// expectNoCallLost has the users call before, while and after something is
// done, by which all pods are replaced: those of the installation and theirs.
func (c *cluster) expectNoCallLost(t *testing.T, users []user, what string, do func()) {
	t.Helper()
	before := c.pods(t)
	l := startLoad(t, users)
	begun := time.Now()
	do()
	c.awaitReplaced(t, before, system, c.namespace)
	t.Logf("%s: %d pods were replaced within %s", what, len(before), time.Since(begun).Round(time.Second))
	for _, u := range users {
		c.awaitReady(t, u)
	}
	l.expectNoFailure(t, what)
}

// awaitReplaced waits until the pods of the namespaces are others than before.
func (c *cluster) awaitReplaced(t *testing.T, before map[types.UID]string, namespaces ...string) {
	t.Helper()
	wait.NoError(t, patience, "all pods are others", func(ctx context.Context) error {
		for uid := range c.podsNow(ctx, namespaces...) {
			if name, old := before[uid]; old {
				return fmt.Errorf("pod %s is there still", name)
			}
		}
		return nil
	})
}

// pods are those of the installation and of the users' bridges, by what tells
// them from others of their name.
func (c *cluster) pods(t *testing.T) map[types.UID]string {
	t.Helper()
	found := c.podsNow(t.Context(), system, c.namespace)
	if len(found) < 3 {
		t.Fatalf("there are %d pods", len(found))
	}
	return found
}

func (c *cluster) podsNow(ctx context.Context, namespaces ...string) map[types.UID]string {
	found := map[types.UID]string{}
	for _, namespace := range namespaces {
		var list corev1.PodList
		if err := c.client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": "hosted-bridge"}); err != nil {
			continue
		}
		maps.Insert(found, func(yield func(types.UID, string) bool) {
			for _, p := range list.Items {
				if !yield(p.UID, p.Name) {
					return
				}
			}
		})
	}
	return found
}

// expectTestToFail has helm test the installation while there is no key broker.
func (c *cluster) expectTestToFail(t *testing.T) {
	var d appsv1.Deployment
	at := client.ObjectKey{Namespace: system, Name: "hosted-bridge-keybroker"}
	must.Succeed(t, c.client.Get(t.Context(), at, &d))
	replicas := *d.Spec.Replicas
	scale := func(to int32) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, to)
		must.Succeed(t, c.client.Patch(t.Context(), &d, client.RawPatch(types.MergePatchType, patch)))
		wait.NoError(t, patience, fmt.Sprintf("there are %d key brokers", to), func(ctx context.Context) error {
			if err := c.client.Get(ctx, at, &d); err != nil {
				return err
			}
			if s := d.Status; s.ObservedGeneration < d.Generation || s.AvailableReplicas != to {
				return fmt.Errorf("%d are available", s.AvailableReplicas)
			}
			// One that is ending still answers for a while.
			var pods corev1.PodList
			if err := c.client.List(ctx, &pods, client.InNamespace(system), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
				return err
			}
			if len(pods.Items) != int(to) {
				return fmt.Errorf("there are %d pods", len(pods.Items))
			}
			return nil
		})
	}
	scale(0)
	// It asks again for a minute what does not answer, which says nothing more
	// than half of it does.
	if out, err := c.runHelm(t.Context(), "test", release, "--timeout=20s"); err == nil {
		t.Errorf("helm test finds nothing without a key broker: %s", out)
	}
	var pod corev1.Pod
	must.Succeed(t, c.client.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "hosted-bridge-test"}, &pod))
	if len(pod.Status.ContainerStatuses) == 0 {
		t.Error("helm test failed before its pod began")
	}
	for _, s := range pod.Status.ContainerStatuses {
		if s.State.Running == nil && (s.State.Terminated == nil || s.State.Terminated.ExitCode == 0) {
			t.Errorf("helm test failed, but not because its pod asked in vain: %+v", s.State)
		}
	}
	scale(replicas)
	c.mustHelm(t, "test", release, "--timeout=90s")
}

// leader returns the pod of the operator that leads.
func (c *cluster) leader(t *testing.T) corev1.Pod {
	t.Helper()
	var lease coordinationv1.Lease
	must.Succeed(t, c.client.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "hosted-bridge-operator"}, &lease))
	if lease.Spec.HolderIdentity == nil {
		t.Fatal("nobody leads")
	}
	name, _, found := strings.Cut(*lease.Spec.HolderIdentity, "_")
	if !found {
		t.Fatalf("nobody leads: %q", name)
	}
	var pod corev1.Pod
	must.Succeed(t, c.client.Get(t.Context(), client.ObjectKey{Namespace: system, Name: name}, &pod))
	return pod
}

// killLeader ends the operator that leads by SIGKILL, without a word to anybody.
func (c *cluster) killLeader(t *testing.T) {
	t.Helper()
	pod := c.leader(t)
	must.Succeed(t, end(pod))
	if os.Getenv("CLUSTER") != "local" {
		must.Succeed(t, c.client.Delete(t.Context(), &pod, client.GracePeriodSeconds(0)))
	}
}

// end kills the processes of the pod's containers, which their control groups
// name. A cluster whose nodes are elsewhere has none that is seen from here.
func end(p corev1.Pod) error {
	killed := 0
	for _, s := range p.Status.ContainerStatuses {
		_, id, _ := strings.Cut(s.ContainerID, "://")
		files, err := filepath.Glob("/proc/[0-9]*/cgroup")
		if err != nil || id == "" {
			return fmt.Errorf("container %s does not run: %w", s.Name, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(content), id) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				return err
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				return err
			}
			killed++
		}
	}
	if killed == 0 && os.Getenv("CLUSTER") == "local" {
		return errors.New("no process of the pod is seen, though the cluster is local")
	}
	return nil
}

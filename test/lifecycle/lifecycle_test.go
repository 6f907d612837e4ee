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

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestTheLifeOfAnInstallation is one story, each part of which begins where the
// one before has ended.
func TestTheLifeOfAnInstallation(t *testing.T) {
	c, err := fromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	users, keys := c.mintUsers(t, "uma", "vera", "will", "late")
	c.makeServer(t, users)
	c.install(t, c.old)
	late, lateKey, users := users[3], keys[3], users[:3]
	for i, u := range users {
		c.makeBridge(t, u, keys[i])
	}
	for _, u := range users {
		c.seal(t, u)
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
		{"another operator takes over from one that is killed", func(t *testing.T) {
			c.killLeader(t)
			begun := time.Now()
			c.makeBridge(t, late, lateKey)
			c.seal(t, late)
			t.Logf("a user who was made when the leader was killed was served after %s", time.Since(begun).Round(time.Millisecond))
		}},
		{"an uninstall leaves what the notes say", c.expectLeftAsTheNotesSay},
		{"another install finds the users and opens their secrets", func(t *testing.T) {
			c.install(t, c.next)
			for _, u := range append(users, late) {
				t.Logf("%s is served again after %s", u.name, c.awaitServed(t, u).Round(time.Millisecond))
				c.awaitReady(t, u)
			}
		}},
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
	eventually(t, "all pods are others", func(ctx context.Context) error {
		for uid := range c.podsNow(ctx) {
			if name, old := before[uid]; old {
				return fmt.Errorf("pod %s is there still", name)
			}
		}
		return nil
	})
	t.Logf("%s: %d pods were replaced within %s", what, len(before), time.Since(begun).Round(time.Second))
	for _, u := range users {
		c.awaitReady(t, u)
	}
	l.expectNoFailure(t, what)
}

// pods are those of the installation and of the users' bridges, by what tells
// them from others of their name.
func (c *cluster) pods(t *testing.T) map[types.UID]string {
	t.Helper()
	found := c.podsNow(t.Context())
	if len(found) < 3 {
		t.Fatalf("there are %d pods", len(found))
	}
	return found
}

func (c *cluster) podsNow(ctx context.Context) map[types.UID]string {
	found := map[types.UID]string{}
	for namespace, labels := range map[string]client.MatchingLabels{
		system:      {"app.kubernetes.io/name": "hosted-bridge"},
		c.namespace: {"app.kubernetes.io/name": "hosted-bridge"},
	} {
		var list corev1.PodList
		if err := c.client.List(ctx, &list, client.InNamespace(namespace), labels); err != nil {
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

// killLeader ends the operator that leads by SIGKILL, without a word to anybody.
func (c *cluster) killLeader(t *testing.T) {
	t.Helper()
	var lease coordinationv1.Lease
	if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "hosted-bridge-operator"}, &lease); err != nil {
		t.Fatal(err)
	}
	name, _, found := strings.Cut(*lease.Spec.HolderIdentity, "_")
	if !found {
		t.Fatalf("nobody leads: %q", name)
	}
	var pod corev1.Pod
	if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: system, Name: name}, &pod); err != nil {
		t.Fatal(err)
	}
	if err := end(pod); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("CLUSTER") != "local" {
		if err := c.client.Delete(t.Context(), &pod, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
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

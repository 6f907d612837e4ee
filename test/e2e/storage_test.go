// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// newKeeper makes a tenant whose memory server keeps its graph in a volume of the
// cluster's default class, beside a server with files of its own and one without.
func newKeeper(t *testing.T, short string) tenant {
	t.Helper()
	n := tenant{name: installed.name(short), key: mint(t)}
	b := bridge(n.name, []credential{n.key})
	b.Spec.DesiredState, b.Spec.IdleTimeout = v1alpha1.StateOnDemand, &metav1.Duration{Duration: 10 * idleTimeout}
	// The class of a test's cluster may make volumes of whole gibibytes alone.
	storage := &v1alpha1.StdioStorage{Size: "4Mi", Retention: v1alpha1.StorageDelete}
	memory, files := npmServer("memory", "server-memory"), npmServer("files", "server-filesystem", "/data")
	memory.Transport.Stdio.Env = []v1alpha1.StdioVariable{{Name: "MEMORY_FILE_PATH", Value: "/data/memory.jsonl"}}
	memory.Transport.Stdio.Storage, files.Transport.Stdio.Storage = storage, storage
	b.Spec.Servers = []v1alpha1.Server{memory, files, npmServer("everything", "server-everything")}
	n.uid = create(t, b)
	awaitReady(t, n.name)
	return n
}

// remember stores an entity, and awaitMemory waits until the graph has it.
func remember(t *testing.T, n tenant, entity string) {
	t.Helper()
	session := connectKeeper(t, n)
	awaitTools(t, session, "memory_create_entities")
	textOf(t, session, "memory_create_entities", map[string]any{"entities": []map[string]any{
		{"name": entity, "entityType": "test", "observations": []string{"was stored"}},
	}})
}

func awaitMemory(t *testing.T, n tenant, entities ...string) {
	t.Helper()
	session := connectKeeper(t, n)
	awaitTools(t, session, "memory_read_graph")
	wait.NoError(t, wait.Limit, "the graph has all entities", func(ctx context.Context) error {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "memory_read_graph", Arguments: map[string]any{}})
		if err != nil {
			return err
		}
		graph, err := json.Marshal(result.Content)
		if err != nil {
			return err
		}
		for _, entity := range entities {
			if result.IsError || !strings.Contains(string(graph), entity) {
				return fmt.Errorf("%s is not there: isError %v, %s", entity, result.IsError, graph)
			}
		}
		return nil
	})
}

func connectKeeper(t *testing.T, n tenant) (session *mcp.ClientSession) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the bridge is connected to", func(ctx context.Context) (err error) {
		session, err = newSDKClient(n, modernVersion).connect(ctx)
		return err
	})
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// awaitOtherPod waits until a pod other than the one before serves.
func awaitOtherPod(t *testing.T, n tenant, before corev1.Pod) {
	t.Helper()
	wait.NoError(t, wait.Limit, "another pod serves", func(ctx context.Context) error {
		pods, err := bridgePods(ctx, n.uid)
		if err != nil {
			return err
		}
		for i := range pods {
			if pods[i].UID != before.UID && v1alpha1.BridgeReady(&pods[i]) {
				return nil
			}
		}
		return fmt.Errorf("none of %d pods does", len(pods))
	})
}

// TestAProgramsFilesOutliveSleepEvictionAndAnotherVersion keeps entities of the
// memory server over each way in which its container ends.
func TestAProgramsFilesOutliveSleepEvictionAndAnotherVersion(t *testing.T) {
	t.Parallel()
	n := newKeeper(t, "keeper")
	remember(t, n, "first")

	fallAsleep(t, n)
	awaitMemory(t, n, "first")

	pod := bridgePod(t, n.uid)
	remember(t, n, "second")
	must.Succeed(t, installed.client.Delete(t.Context(), &pod))
	awaitOtherPod(t, n, pod)
	awaitMemory(t, n, "first", "second")

	pod = bridgePod(t, n.uid)
	b := must.Value(getBridge(t.Context(), n.name))(t)
	before := b.DeepCopy()
	b.Spec.Servers[0].Transport.Stdio.Resources = &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("96Mi")},
	}
	must.Succeed(t, installed.client.Patch(t.Context(), b, client.MergeFrom(before)))
	awaitOtherPod(t, n, pod)
	awaitMemory(t, n, "first", "second")
	dropServers(t, n)
}

// dropServers removes one server after the other, and waits until the claims that go
// with it are deleted, and no other.
func dropServers(t *testing.T, n tenant) {
	t.Helper()
	for _, step := range []struct {
		gone string
		left []string
	}{{"files", []string{"memory"}}, {"memory", nil}} {
		b := must.Value(getBridge(t.Context(), n.name))(t)
		before := b.DeepCopy()
		b.Spec.Servers = slices.DeleteFunc(b.Spec.Servers, func(s v1alpha1.Server) bool { return s.Name == step.gone })
		must.Succeed(t, installed.client.Patch(t.Context(), b, client.MergeFrom(before)))
		var want []string
		for _, server := range step.left {
			want = append(want, v1alpha1.ClaimName(n.name, server))
		}
		wait.NoError(t, wait.Limit, "the claim of server "+step.gone+" is deleted, and no other", func(ctx context.Context) error {
			var claims corev1.PersistentVolumeClaimList
			if err := installed.client.List(ctx, &claims, client.InNamespace(installed.namespace), client.MatchingLabels{v1alpha1.LabelInstance: n.name}); err != nil {
				return err
			}
			var names []string
			for _, claim := range claims.Items {
				names = append(names, claim.Name)
			}
			if !slices.Equal(names, want) {
				return fmt.Errorf("the claims are %v, want %v", names, want)
			}
			return nil
		})
	}
}

// TestAFullVolumeIsAnErrorOfItsServerAlone fills the volume of one server. On a
// cluster whose class does not enforce sizes the volume cannot be filled.
func TestAFullVolumeIsAnErrorOfItsServerAlone(t *testing.T) {
	t.Parallel()
	n := newKeeper(t, "full")
	remember(t, n, "first")
	session := connectKeeper(t, n)
	awaitTools(t, session, "files_write_file", "everything_echo")
	pod := bridgePod(t, n.uid)
	content := strings.Repeat("0123456789abcdef", 64<<10) // 1 MiB
	said := ""
	for i := 0; i < 5 && said == ""; i++ {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "files_write_file", Arguments: map[string]any{"path": fmt.Sprintf("/data/%d", i), "content": content},
		})
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := result.Content[len(result.Content)-1].(*mcp.TextContent); ok && result.IsError {
			said = text.Text
		}
	}
	if !strings.Contains(said, "server files") || !strings.Contains(said, "storage is full") {
		t.Errorf("the error is %q, want one that says whose storage is full", said)
	}
	if got := textOf(t, session, "everything_echo", map[string]any{"message": "on"}); got != "Echo: on" {
		t.Errorf("another server answers %q", got)
	}
	awaitMemory(t, n, "first")
	textOf(t, session, "files_list_directory", map[string]any{"path": "/data"})
	if now := bridgePod(t, n.uid); now.UID != pod.UID {
		t.Error("the pod is another")
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// defaultServersImage has the reference servers of npm in it: not every machine
// reaches the registry.
const defaultServersImage = "hosted-bridge/npm-servers:dev"

// npmServer is the entry of a HostedBridge that runs one of them.
func npmServer(name, pkg string, args ...string) v1alpha1.Server {
	return v1alpha1.Server{Name: name, Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{
		Image:   installed.servers,
		Command: []string{"node", "/app/node_modules/@modelcontextprotocol/" + pkg + "/dist/index.js"},
		Args:    args,
	}}}
}

// newStdioTenant makes a tenant with the three servers. The first and the second
// have a secret each.
func newStdioTenant(t *testing.T, short string) tenant {
	t.Helper()
	n := tenant{name: installed.name(short), key: mint(t)}
	b := bridge(n.name, []credential{n.key})
	everything := npmServer("everything", "server-everything")
	everything.Secrets = []v1alpha1.SecretName{"OWN_TOKEN"}
	everything.Transport.Stdio.Env = []v1alpha1.StdioVariable{{Name: "TOKEN", Value: "${OWN_TOKEN:-none}"}}
	memory := npmServer("memory", "server-memory")
	memory.Secrets = []v1alpha1.SecretName{"OTHER_TOKEN"}
	memory.Transport.Stdio.Env = []v1alpha1.StdioVariable{
		{Name: "OTHER", Value: "${OTHER_TOKEN:-none}"},
		{Name: "MEMORY_FILE_PATH", Value: "/tmp/memory.jsonl"},
	}
	b.Spec.Servers = []v1alpha1.Server{everything, npmServer("files", "server-filesystem", "/tmp"), memory}
	n.uid = create(t, b)
	awaitReady(t, n.name)
	return n
}

// TestServersOverStdioRunBesideTheBridge calls real servers of npm in both eras.
func TestServersOverStdioRunBesideTheBridge(t *testing.T) {
	t.Parallel()
	n := newStdioTenant(t, "stdio")
	for version, era := range map[string]string{legacyVersion: "legacy", modernVersion: "modern"} {
		t.Run(era, func(t *testing.T) {
			session := must.Value(newSDKClient(n, version).connect(t.Context()))(t)
			defer session.Close()
			awaitTools(t, session, "everything_echo", "files_write_file", "memory_create_entities")
			if got := textOf(t, session, "everything_echo", map[string]any{"message": "hello"}); got != "Echo: hello" {
				t.Errorf("echo answers %q", got)
			}
			file := "/tmp/" + era + ".txt"
			textOf(t, session, "files_write_file", map[string]any{"path": file, "content": "written by " + era})
			if got := textOf(t, session, "files_read_text_file", map[string]any{"path": file}); got != "written by "+era {
				t.Errorf("the file reads %q", got)
			}
			textOf(t, session, "memory_create_entities", map[string]any{"entities": []map[string]any{
				{"name": era, "entityType": "era", "observations": []string{"of the protocol"}},
			}})
			if got := textOf(t, session, "memory_read_graph", map[string]any{}); !strings.Contains(got, era) {
				t.Errorf("the graph is %q, want %s in it", got, era)
			}
		})
	}
}

// TestAServerOverStdioSeesItsOwnSecretsAlone also changes a secret, for which the
// program is started again.
func TestAServerOverStdioSeesItsOwnSecretsAlone(t *testing.T) {
	t.Parallel()
	n := newStdioTenant(t, "stdio-secrets")
	own, other := rand.Text(), rand.Text()
	mustPut(t, n, "OWN_TOKEN", own, http.StatusCreated)
	mustPut(t, n, "OTHER_TOKEN", other, http.StatusCreated)
	session := must.Value(newSDKClient(n, modernVersion).connect(t.Context()))(t)
	defer session.Close()
	awaitEnv := func(token string) {
		t.Helper()
		wait.NoError(t, wait.Limit, "the program has the secret", func(ctx context.Context) error {
			env, err := environmentOf(ctx, session)
			if err != nil {
				return err
			}
			if env["TOKEN"] != token {
				return fmt.Errorf("it has another value, of %d characters", len(env["TOKEN"]))
			}
			for name, value := range env {
				if strings.Contains(value, other) {
					t.Fatalf("%s holds the other server's secret", name)
				}
				if strings.HasPrefix(name, "KEYBROKER_") || strings.HasPrefix(name, "KUBERNETES_") {
					t.Fatalf("the program's environment has %s", name)
				}
			}
			return nil
		})
	}
	awaitEnv(own)
	pod := bridgePod(t, n.uid)
	spec := must.Value(json.Marshal(pod))(t)
	if strings.Contains(string(spec), own) || strings.Contains(string(spec), other) {
		t.Error("the pod's object holds a secret")
	}
	changed := rand.Text()
	mustPut(t, n, "OWN_TOKEN", changed, http.StatusOK)
	awaitEnv(changed)
	if now := bridgePod(t, n.uid); now.UID != pod.UID {
		t.Error("the pod is another: a secret's change ends no pod")
	}
}

// environmentOf returns what the everything server says of its environment.
func environmentOf(ctx context.Context, session *mcp.ClientSession) (map[string]string, error) {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "everything_get-env", Arguments: map[string]any{}})
	if err != nil {
		return nil, err
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok || result.IsError {
		return nil, fmt.Errorf("get-env: no text, isError %t", result.IsError)
	}
	env := map[string]string{}
	if err := json.Unmarshal([]byte(text.Text), &env); err != nil {
		return nil, fmt.Errorf("get-env: not an object of texts")
	}
	return env, nil
}

// TestAServerOverStdioIsStartedAgain ends the program, and then all processes of
// its container where those are seen from here.
func TestAServerOverStdioIsStartedAgain(t *testing.T) {
	t.Parallel()
	n := newStdioTenant(t, "stdio-killed")
	session := must.Value(newSDKClient(n, modernVersion).connect(t.Context()))(t)
	defer session.Close()
	awaitTools(t, session, "everything_echo")
	pod := bridgePod(t, n.uid)
	for _, end := range []func(*testing.T, corev1.Pod, corev1.ContainerStatus){killProgram, killContainer} {
		end(t, pod, containerOf(t, pod, "everything"))
		wait.NoError(t, wait.Limit, "the server answers again", func(ctx context.Context) error {
			result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "everything_echo", Arguments: map[string]any{"message": "again"}})
			if err == nil && result.IsError {
				err = fmt.Errorf("the tool failed")
			}
			return err
		})
	}
	if now := bridgePod(t, n.uid); now.UID != pod.UID {
		t.Error("the pod is another: the end of one server ends no pod")
	}
}

func containerOf(t *testing.T, pod corev1.Pod, server string) corev1.ContainerStatus {
	t.Helper()
	statuses := slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses)
	i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return strings.HasSuffix(s.Name, server) })
	if i < 0 {
		t.Fatalf("pod %s has no container of the server %s", pod.Name, server)
	}
	return statuses[i]
}

// killProgram ends the server's program from within its container, and not what
// runs it, which is the first process there.
func killProgram(t *testing.T, pod corev1.Pod, status corev1.ContainerStatus) {
	t.Helper()
	const script = `for (const pid of require("fs").readdirSync("/proc")) if (pid > 1 && pid != process.pid) process.kill(pid, "SIGKILL")`
	mustKubectl(t, "exec", pod.Name, "--container="+status.Name, "--", "node", "-e", script)
}

func killContainer(t *testing.T, pod corev1.Pod, status corev1.ContainerStatus) {
	t.Helper()
	pids := processesIn(t, pod, status)
	if len(pids) == 0 && os.Getenv("CLUSTER") == "local" {
		t.Fatalf("container %s of pod %s has no process that is seen from here", status.Name, pod.Name)
	}
	for _, pid := range pids {
		// One that has ended with another before it is no failure.
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatalf("kill process %d of pod %s: %v", pid, pod.Name, err)
		}
	}
}

// awaitTools waits until all of the tools are listed: a server over stdio starts
// after its bridge is ready.
func awaitTools(t *testing.T, session *mcp.ClientSession, names ...string) {
	t.Helper()
	awaitToolsWithin(t, wait.Limit, session, names...)
}

// awaitToolsWithin is awaitTools for servers that take another time to start.
func awaitToolsWithin(t *testing.T, timeout time.Duration, session *mcp.ClientSession, names ...string) {
	t.Helper()
	wait.NoError(t, timeout, "the tools are listed", func(ctx context.Context) error {
		list, err := session.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		for _, name := range names {
			if !slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == name }) {
				return fmt.Errorf("%s is not among %d tools", name, len(list.Tools))
			}
		}
		return nil
	})
}

// textOf calls the tool and returns the first text of its answer.
func textOf(t *testing.T, session *mcp.ClientSession, name string, arguments map[string]any) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
	defer cancel()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(result.Content) == 0 || result.IsError {
		t.Fatalf("%s: %d contents, isError %t", name, len(result.Content), result.IsError)
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s: the content is a %T", name, result.Content[0])
	}
	return text.Text
}

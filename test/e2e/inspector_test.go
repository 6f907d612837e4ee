// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// inspect runs the command line of the MCP inspector against the URL in the
// era and returns what it printed on its two streams, and whether it failed.
func inspect(t *testing.T, era, url, key string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	transport := "http"
	if strings.HasSuffix(url, "/sse") {
		transport = "sse"
	}
	command := []string{
		module(t, "@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
		"--cli", url, "--transport", transport, "--protocol-era", era, "--format", "json",
	}
	if key != "" {
		command = append(command, "--header", "Authorization: Bearer "+key)
	}
	cmd := exec.CommandContext(ctx, nodeProgram(t), append(command, args...)...)
	// The inspector keeps a catalogue in its user's home.
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "NO_COLOR=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// inspectorTools returns the names that the inspector lists.
func inspectorTools(t *testing.T, era, url, key string) ([]string, error) {
	t.Helper()
	stdout, stderr, err := inspect(t, era, url, key, "--method", "tools/list")
	if err != nil {
		return nil, fmt.Errorf("inspector: %w: %s", err, redact(stderr, key))
	}
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		return nil, fmt.Errorf("read the inspector's list: %w in %.300q", err, stdout)
	}
	var names []string
	for _, tool := range list.Result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

// inspectorCall calls a tool without arguments and returns its text.
func inspectorCall(t *testing.T, era, url, key, name string) (string, error) {
	t.Helper()
	stdout, stderr, err := inspect(t, era, url, key, "--method", "tools/call", "--tool-name", name)
	if err != nil {
		return "", fmt.Errorf("inspector: %w: %s", err, redact(stderr, key))
	}
	var call struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(stdout), &call); err != nil {
		return "", fmt.Errorf("read the inspector's result: %w in %.300q", err, stdout)
	}
	if len(call.Result.Content) != 1 {
		return "", fmt.Errorf("%d contents, want 1: %.300q", len(call.Result.Content), stdout)
	}
	return call.Result.Content[0].Text, nil
}

// inspectorReads returns the text of the prompt and of the resource that the
// everything server has.
func inspectorReads(t *testing.T, era, url, key string) (prompt, resource string, err error) {
	t.Helper()
	stdout, stderr, err := inspect(t, era, url, key, "--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=one", "arg2=two")
	if err != nil {
		return "", "", fmt.Errorf("inspector: %w: %s", err, redact(stderr, key))
	}
	var got struct {
		Result struct {
			Messages []struct{ Content struct{ Text string } }
			Contents []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		return "", "", fmt.Errorf("read the inspector's prompt: %w in %.300q", err, stdout)
	}
	if len(got.Result.Messages) == 0 {
		return "", "", fmt.Errorf("the inspector's prompt has no messages: %.300q", stdout)
	}
	prompt = got.Result.Messages[0].Content.Text
	stdout, stderr, err = inspect(t, era, url, key, "--method", "resources/read", "--uri", "test://static-text")
	if err != nil {
		return "", "", fmt.Errorf("inspector: %w: %s", err, redact(stderr, key))
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		return "", "", fmt.Errorf("read the inspector's resource: %w in %.300q", err, stdout)
	}
	if len(got.Result.Contents) == 0 {
		return "", "", fmt.Errorf("the inspector's resource has no contents: %.300q", stdout)
	}
	return prompt, got.Result.Contents[0].Text, nil
}

// redact keeps keys out of test output, also those of a short life.
func redact(s, key string) string {
	if key == "" {
		return s
	}
	return strings.ReplaceAll(s, key, "[key]")
}

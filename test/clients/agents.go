// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/hostedbridge/hostedbridge/internal/clientconfig"
)

// object is one of JSON.
type object = map[string]any

// fakeKey is the key that the stand-in is given. It accepts any.
const fakeKey = "sk-none"

// All returns the clients.
func All() []Client {
	all := []Client{
		{Name: "Claude Code", Package: "@anthropic-ai/claude-code", config: "claude-code", start: claudeCode},
		{Name: "Codex", Package: "@openai/codex", config: "codex", start: codex},
		{Name: "Gemini CLI", Package: "@google/gemini-cli", config: "gemini", start: geminiCLI},
		{Name: "Copilot CLI", Package: "@github/copilot", config: "copilot", start: copilotCLI},
		{Name: "opencode", Package: "opencode-ai", config: "opencode", start: opencode},
		{Name: "Qwen Code", Package: "@qwen-code/qwen-code", config: "qwen", start: qwenCode},
		{Name: "Cline", Package: "cline", config: "cline", start: cline},
		{Name: "mcporter", Package: "mcporter", OneCall: "each of its commands is a session", NoModel: true, start: program("mcporter")},
	}
	for _, library := range []struct{ name, pkg string }{
		{"TypeScript SDK, version 1", "@modelcontextprotocol/sdk"},
		{"TypeScript SDK, version 2", "@modelcontextprotocol/client"},
		{"LangChain", "@langchain/mcp-adapters"},
		{"Mastra", "@mastra/mcp"},
		{"AI SDK", "@ai-sdk/mcp"},
	} {
		all = append(all, Client{Name: library.name, Package: library.pkg, NoModel: true, start: program(library.pkg)})
	}
	return all
}

// arch is the machine's architecture as npm names it.
func arch() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}

// file returns the path of a file of the packages.
func (w Window) file(format string, a ...any) string {
	return filepath.Join(w.Modules, filepath.FromSlash(fmt.Sprintf(format, a...)))
}

// claudeCode takes the program of its package for the platform, since the other one is put in
// place by an install script.
func claudeCode(w Window) start {
	program := w.file("@anthropic-ai/claude-code-linux-%s/claude", arch())
	return start{
		run:    []string{program, "--print", Prompt, "--allowedTools", "mcp__" + clientconfig.HostedName},
		status: []string{program, "mcp", "list"},
		files:  map[string]any{".claude.json": object{"hasCompletedOnboarding": true}},
		env: map[string]string{
			"ANTHROPIC_BASE_URL": w.Model, "ANTHROPIC_API_KEY": fakeKey,
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
		},
	}
}

func codex(w Window) start {
	program := w.file("@openai/codex/bin/codex.js")
	run := []string{w.Node, program, "exec", "--skip-git-repo-check"}
	for _, setting := range []string{
		`model="` + Name + `"`, `model_provider="stand-in"`,
		`model_providers.stand-in={name="stand-in",base_url="` + w.Model + `/v1",wire_api="responses",env_key="MODEL_KEY"}`,
		`approval_policy="never"`, `sandbox_mode="danger-full-access"`, "check_for_update_on_startup=false", "analytics.enabled=false",
	} {
		run = append(run, "--config", setting)
	}
	return start{
		run:    append(run, Prompt),
		status: []string{w.Node, program, "mcp", "list"},
		env:    map[string]string{"MODEL_KEY": fakeKey},
	}
}

// geminiCLI has what a run needs besides the bridge in the settings of its folder, which is trusted.
func geminiCLI(w Window) start {
	program := w.file("@google/gemini-cli/bundle/gemini.js")
	return start{
		run:    []string{w.Node, program, "--prompt", Prompt, "--model", "gemini-2.5-pro", "--yolo"},
		status: []string{w.Node, program, "mcp", "list"},
		files: map[string]any{"work/.gemini/settings.json": object{
			"general":   object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
			"privacy":   object{"usageStatisticsEnabled": false},
			"telemetry": object{"enabled": false},
			"security":  object{"auth": object{"selectedType": "gemini-api-key"}},
		}},
		env: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_API_KEY": fakeKey, "GOOGLE_GEMINI_BASE_URL": w.Model},
	}
}

func copilotCLI(w Window) start {
	program := w.file("@github/copilot/npm-loader.js")
	return start{
		run:    []string{w.Node, program, "--prompt", Prompt, "--allow-all-tools", "--no-auto-update"},
		status: []string{w.Node, program, "mcp", "list"},
		env: map[string]string{
			"COPILOT_PROVIDER_BASE_URL": w.Model + "/v1", "COPILOT_PROVIDER_API_KEY": fakeKey, "COPILOT_MODEL": Name,
			"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
		},
	}
}

// settings is the file of what a run needs besides the bridge, for clients to which the environment
// names another one.
const settings = "settings.json"

// opencode takes the program of its package for the platform, as claudeCode does.
func opencode(w Window) start {
	program := w.file("opencode-linux-%s/bin/opencode", arch())
	return start{
		run:    []string{program, "run", Prompt},
		status: []string{program, "mcp", "list"},
		files: map[string]any{settings: object{
			"autoupdate": false, "share": "disabled", "model": "stand-in/" + Name,
			"provider": object{"stand-in": object{
				"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": w.Model + "/v1", "apiKey": fakeKey},
				"models": object{Name: object{"name": Name, "tool_call": true}},
			}},
		}},
		env: map[string]string{
			"OPENCODE_CONFIG":             filepath.Join(w.Home, settings),
			"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
		},
	}
}

func qwenCode(w Window) start {
	program := w.file("@qwen-code/qwen-code/cli-entry.js")
	return start{
		run: []string{
			w.Node, program, Prompt, "--yolo", "--auth-type", "openai", "--model", Name,
			"--openai-api-key", fakeKey, "--openai-base-url", w.Model + "/v1",
		},
		status: []string{w.Node, program, "mcp", "list"},
		files: map[string]any{settings: object{
			"general":   object{"enableAutoUpdate": false},
			"privacy":   object{"usageStatisticsEnabled": false},
			"telemetry": object{"enabled": false},
		}},
		env: map[string]string{
			"QWEN_CODE_SYSTEM_SETTINGS_PATH":  filepath.Join(w.Home, settings),
			"QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
		},
	}
}

// cline has its session in its own process: a daemon would outlive it.
func cline(w Window) start {
	program := w.file("@cline/cli-linux-%s/bin/cline", arch())
	return start{
		first: [][]string{{program, "auth", "--provider", "openai", "--apikey", fakeKey, "--modelid", Name, "--baseurl", w.Model + "/v1"}},
		run:   []string{program, "--json", Prompt},
		env:   map[string]string{"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1"},
	}
}

// program starts programs.mjs with one of the libraries.
func program(pkg string) func(Window) start {
	return func(w Window) start {
		headers := object{}
		if w.Key != "" {
			headers["Authorization"] = "Bearer " + w.Key
		}
		return start{
			run: []string{w.Node, filepath.Join(filepath.Dir(w.Modules), "programs.mjs"), pkg},
			files: map[string]any{"work/config/mcporter.json": object{
				"mcpServers": object{clientconfig.HostedName: object{"baseUrl": w.URL, "headers": headers}}, "imports": []string{},
			}},
			env: map[string]string{"HB_URL": w.URL, "HB_KEY": w.Key, "MODEL_URL": w.Model},
		}
	}
}

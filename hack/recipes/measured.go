// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// measured are the recipes whose programs are measured: they list tools without credentials.
var measured = []string{
	"antv-chart", "context7", "everything", "filesystem", "firecrawl", "memory", "notion", "playwright", "sequential-thinking", "tavily",
}

// figures are sums of the memory of programs.
type figures struct {
	npx, node memory
	second    int64
	programs  int
	// settle is how long after its list a program is measured.
	settle time.Duration
}

// row measures a program as npx starts it, and as node does.
func (f *figures) row(ctx context.Context, t *trial) string {
	npx, node, second, err := t.measure(ctx, f.settle)
	if err != nil {
		return fmt.Sprintf("| %s | not measured: %s | | | | |\n", t.recipe.ID, remark(err.Error(), t.folder))
	}
	f.programs++
	f.npx.private, f.npx.resident = f.npx.private+npx.private, f.npx.resident+npx.resident
	f.node.private, f.node.resident = f.node.private+node.private, f.node.resident+node.resident
	f.second += second.private
	return memoryRow(t.recipe.ID, npx, node, second.private)
}

func memoryRow(name string, npx, node memory, second int64) string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", name, mb(npx.private), mb(npx.resident), mb(node.private), mb(node.resident), mb(second))
}

func mb(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/1e6) }

// line returns the sums, and the proportion of what node takes to what npx takes.
func (f *figures) line() string {
	if f.programs == 0 {
		return ""
	}
	return memoryRow(fmt.Sprintf("sum of %d", f.programs), f.npx, f.node, f.second) +
		fmt.Sprintf("\nOf the private memory with npx, node takes %.2f, and a second one %.2f.\n",
			float64(f.node.private)/float64(f.npx.private), float64(f.second)/float64(f.npx.private))
}

// measure starts a program by npx, and then twice by node from its tree.
func (t *trial) measure(ctx context.Context, settle time.Duration) (npx, node, second memory, err error) {
	p, err := t.npx(ctx)
	if err != nil {
		return npx, node, second, err
	}
	npx, err = p.settle(ctx, npxTimeout, settle)
	p.end()
	if err != nil {
		return npx, node, second, fmt.Errorf("npx: %w: %s", err, lastWords(p.stderr.String()))
	}
	first, err := t.node()
	if err != nil {
		return npx, node, second, err
	}
	defer first.end()
	if node, err = first.settle(ctx, listTimeout, settle); err != nil {
		return npx, node, second, fmt.Errorf("node: %w", err)
	}
	other, err := t.node()
	if err != nil {
		return npx, node, second, err
	}
	defer other.end()
	second, err = other.settle(ctx, listTimeout, settle)
	return npx, node, second, err
}

// settle returns what a program has in memory some time after it has listed its tools.
func (p *program) settle(ctx context.Context, timeout, after time.Duration) (memory, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no list in %v", timeout))
	defer cancel()
	if _, err := p.list(ctx); err != nil {
		return memory{}, err
	}
	select {
	case <-ctx.Done():
		return memory{}, context.Cause(ctx)
	case <-p.ended:
		return memory{}, errEnded
	case <-time.After(after):
	}
	return memoryOf(p.cmd.Process.Pid)
}

// npx starts the program of a trial as it is started without a bundle: with an empty cache, from the
// machine's registry.
func (t *trial) npx(ctx context.Context) (*program, error) {
	home := filepath.Join(t.folder, "npx")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	out, err := runNPM(ctx, "", "config", "get", "registry", "cafile")
	if err != nil {
		return nil, err
	}
	env := slices.Clone(t.env)
	for line := range strings.Lines(string(out)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && value != "" && value != "null" {
			env = append(env, "npm_config_"+name+"="+value)
		}
	}
	if len(env) == len(t.env) {
		return nil, errors.New("npm config names no registry")
	}
	if authorities := os.Getenv("NODE_EXTRA_CA_CERTS"); authorities != "" {
		env = append(env, "NODE_EXTRA_CA_CERTS="+authorities)
	}
	return start(home, env, append([]string{"npx", "-y", exactly(t.recipe)}, t.args...))
}

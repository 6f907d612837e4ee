// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package bench

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/test/bench/ways"
	"github.com/hostedbridge/hostedbridge/test/load/world"
)

// programs are the programs that the ways are made of. former is another bridge
// to compare with, empty for none: one that was built from an earlier commit,
// with the build tag bench.
type programs struct {
	ways.Programs
	bridge, former string
}

// prepare builds what is ours, and toolhive's vMCP. The others are in node_modules.
func prepare(t *testing.T) programs {
	t.Helper()
	return programs{Programs: ways.Prepare(t, "vmcp"), former: os.Getenv("FORMER"), bridge: ways.Build(t, "../..", "./cmd/bridge", "-tags=bench")}
}

// overHTTP returns the ways to an upstream over HTTP. It speaks the version of
// its clients, but for the last bridge, which translates.
func (p programs) overHTTP() []ways.Way {
	all := []ways.Way{p.Direct(ways.Sessions)}
	all = append(all, p.bridgesHTTP(ways.Sessions, ways.Sessions)...)
	all = append(all, p.ToolhiveVMCP())
	all = append(all, p.Direct(ways.Stateless))
	all = append(all, p.bridgesHTTP(ways.Stateless, ways.Stateless)...)
	return append(all, p.bridgesHTTP(ways.Stateless, ways.Sessions)...)
}

func (p programs) directStdio() ways.Way {
	return ways.Way{Name: ways.Directly, Version: ways.Sessions, Start: func(t *testing.T) (func() mcp.Transport, ways.Process) {
		return func() mcp.Transport {
			return &mcp.CommandTransport{Command: exec.CommandContext(t.Context(), p.Everything)}
		}, ways.Process{}
	}}
}

// bridgesHTTP returns the ways through the bridge, and the former one, to an
// upstream that may speak another version than the clients.
func (p programs) bridgesHTTP(version, upstream string) []ways.Way {
	programs := map[string]string{"bridge": p.bridge, "former bridge": p.former}
	var all []ways.Way
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		program := programs[name]
		if program == "" {
			continue
		}
		if version != upstream {
			name += " before " + upstream
		}
		all = append(all, ways.Way{Name: name, Version: version, Start: func(t *testing.T) (func() mcp.Transport, ways.Process) {
			return serveBridge(t, program, fmt.Sprintf(`{"servers":{"everything":{"url":%q}}}`, p.Upstream(t, upstream)))
		}})
	}
	return all
}

func (p programs) bridgeStdio() ways.Way {
	return ways.Way{Name: "bridge", Version: ways.Sessions, Start: func(t *testing.T) (func() mcp.Transport, ways.Process) {
		return serveBridge(t, p.bridge, fmt.Sprintf(`{"servers":{"everything":{"command":%q}}}`, p.Everything))
	}}
}

func serveBridge(t *testing.T, program, config string) (func() mcp.Transport, ways.Process) {
	t.Helper()
	address, probe := world.UnusedAddress(t), world.UnusedAddress(t)
	t.Setenv("BENCH_LISTEN", probe)
	connect, bridge := ways.Serve(t, "http://"+address+"/u/local/mcp", program, "serve", "--http", address, "--config", ways.File(t, config))
	bridge.Probe = "http://" + probe
	return connect, bridge
}

func (p programs) mcpProxy() ways.Way {
	return ways.Way{Name: "mcp-proxy 6.7.19", Version: ways.Sessions, Start: func(t *testing.T) (func() mcp.Transport, ways.Process) {
		host, port := ways.Free(t)
		return ways.Serve(t, "http://"+net.JoinHostPort(host, port)+"/mcp", p.Node, filepath.Join(p.Modules, "mcp-proxy/dist/bin/mcp-proxy.mjs"),
			"--host", host, "--port", port, "--server", "stream", "--", p.Everything)
	}}
}

func (p programs) supergateway() ways.Way {
	return ways.Way{Name: "supergateway 4.0.0", Version: ways.Sessions, Start: func(t *testing.T) (func() mcp.Transport, ways.Process) {
		host, port := ways.Free(t)
		return ways.Serve(t, "http://"+net.JoinHostPort(host, port)+"/mcp", p.Node, filepath.Join(p.Modules, "supergateway/dist/index.js"),
			"--stdio", p.Everything, "--outputTransport", "streamableHttp", "--stateful", "--port", port, "--logLevel", "none")
	}}
}

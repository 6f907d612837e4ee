// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/credential"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/programs"
)

// kinds are the transports of servers.
var kinds = []bridgeconfig.Transport{bridgeconfig.StreamableHTTP, bridgeconfig.SSE, bridgeconfig.Stdio}

// serveOver serves s over a transport in one era.
func serveOver(t *testing.T, kind bridgeconfig.Transport, s *mcp.Server, eraName string) bridgeconfig.Server {
	t.Helper()
	switch kind {
	case bridgeconfig.SSE:
		return bridgeconfig.Server{Name: "one", Transport: kind, URL: serveSSE(t, s).URL}
	case bridgeconfig.Stdio:
		return newMemoryProgram(t, s, eraName).Server
	}
	upstream := serveMCP(t, s, eraName)
	t.Cleanup(upstream.Close)
	return bridgeconfig.Server{Name: "one", URL: upstream.URL}
}

// serveSSE serves s over HTTP+SSE.
func serveSSE(t *testing.T, s *mcp.Server) *httptest.Server {
	t.Helper()
	upstream := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		upstream.CloseClientConnections()
		upstream.Close()
	})
	return upstream
}

// memoryProgram stands for a program. It speaks as one, in this process.
type memoryProgram struct {
	bridgeconfig.Server
	mcp *mcp.Server

	mu       sync.Mutex
	starts   int
	launches []stdio.Launch
	sessions []*mcp.ServerSession
}

// memoryPrograms are those of all tests, by command.
var memoryPrograms sync.Map

// programOf is a server that runs a program of this process.
func programOf(t *testing.T, p any) bridgeconfig.Server {
	t.Helper()
	command := fmt.Sprintf("%s %p", t.Name(), p)
	memoryPrograms.Store(command, p)
	t.Cleanup(func() { memoryPrograms.Delete(command) })
	return bridgeconfig.Server{Name: "one", Transport: bridgeconfig.Stdio, Program: &bridgeconfig.Program{Command: []string{command}}}
}

// newMemoryProgram returns a program that is s in one era.
func newMemoryProgram(t *testing.T, s *mcp.Server, eraName string) *memoryProgram {
	t.Helper()
	p := &memoryProgram{mcp: s}
	if eraName == "legacy" {
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == methods.Discover {
					return nil, fault.MethodNotFound(method)
				}
				return next(ctx, method, req)
			}
		})
	}
	p.Server = programOf(t, p)
	return p
}

// runMemory runs the programs of tests.
func runMemory(p *bridgeconfig.Program, l stdio.Launch, log *slog.Logger) client.Dialer {
	if found, ok := memoryPrograms.Load(p.Command[0]); ok {
		return found.(interface {
			connect(l stdio.Launch) client.Dialer
		}).connect(l)
	}
	return credential.RunProgram(p, l, log)
}

func (p *memoryProgram) connect(l stdio.Launch) client.Dialer {
	return programs.Over(&memoryTransport{program: p, launch: l})
}

type memoryTransport struct {
	program *memoryProgram
	launch  stdio.Launch
}

// Connect implements mcp.Transport.
func (m *memoryTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := m.program.mcp.Connect(context.WithoutCancel(ctx), theirs, nil)
	if err != nil {
		return nil, err
	}
	m.program.mu.Lock()
	m.program.starts++
	m.program.launches = append(m.program.launches, m.launch)
	m.program.sessions = append(m.program.sessions, ss)
	m.program.mu.Unlock()
	return ours.Connect(ctx)
}

// started returns how often the program was started.
func (p *memoryProgram) started() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// last returns the program's last run.
func (p *memoryProgram) last(t *testing.T) (*mcp.ServerSession, stdio.Launch) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.starts == 0 {
		t.Fatal("the program was never started")
	}
	return p.sessions[p.starts-1], p.launches[p.starts-1]
}

// programVariable names what this test's binary is when it runs as a program.
const programVariable = "HOSTED_BRIDGE_TEST_PROGRAM"

// realProgram returns this test's binary as a server of another process, with
// the secrets that it may use.
func realProgram(t *testing.T, what string, secrets ...string) bridgeconfig.Server {
	t.Helper()
	self := must.Value(os.Executable())(t)
	return bridgeconfig.Server{Name: "one", Transport: bridgeconfig.Stdio, Secrets: secrets, Program: &bridgeconfig.Program{
		Command: []string{self}, Env: []bridgeconfig.Variable{{Name: programVariable, Value: what}},
	}}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridge/programio"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/template"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
)

// Runner returns the transport to a program. The program starts when the transport connects.
type Runner func(p *bridgeconfig.Program, l stdio.Launch, log *slog.Logger) client.Dialer

// RunProgram runs a real program.
func RunProgram(p *bridgeconfig.Program, l stdio.Launch, log *slog.Logger) client.Dialer {
	if p.Socket != "" {
		return programio.Dialer(stdio.Shim(p.Socket, l), l, log)
	}
	return programio.Dialer(stdio.Child(l, log), l, log)
}

// Program returns the transport to the server's program. All connections of the grant share it,
// because it remembers in which format the program writes.
func (g *Grant) Program(run Runner, p *bridgeconfig.Program, log *slog.Logger) client.Dialer {
	g.once.Do(func() { g.running = run(p, g.launch, log) })
	return g.running
}

// launchOf returns the program of s with its secrets, or the problem with them.
func launchOf(s bridgeconfig.Server, v secret.View) (l stdio.Launch, fault string) {
	if s.Program == nil {
		return stdio.Launch{}, ""
	}
	l = stdio.Launch{Server: s.Name, Dir: s.Program.Dir, Secrets: revealed(s, v)}
	expand := func(where, text string, binary bool) string {
		value, wrong := expandProgram(where, text, binary, v)
		if fault == "" {
			fault = wrong
		}
		return value
	}
	for i, text := range s.Program.Command {
		l.Command = append(l.Command, expand(fmt.Sprintf("command[%d]", i), text, false))
	}
	for _, e := range s.Program.Env {
		l.Env = append(l.Env, e.Name+"="+expand("variable "+e.Name, e.Value, false))
	}
	for _, f := range s.Program.Files {
		l.Files = append(l.Files, stdio.File{Name: f.Name, Content: []byte(expand("file "+f.Name, f.Content, true))})
	}
	if fault != "" {
		return stdio.Launch{}, fault
	}
	return l, ""
}

// expandProgram replaces the secrets in one text of a program. The placeholder of the program's
// folder stays; the process that writes the files replaces it.
func expandProgram(where, text string, binary bool, v secret.View) (value, fault string) {
	t, err := template.Parse(text)
	if err != nil {
		return "", fmt.Sprintf("%s: %v", where, err)
	}
	value, missing := t.Expand(func(name string) (string, bool) {
		if name == bridgeconfig.ConfigDir {
			return "${" + bridgeconfig.ConfigDir + "}", true
		}
		return v.Lookup(name)
	})
	if len(missing) > 0 {
		return "", fmt.Sprintf("secret %s is not set", missing[0])
	}
	if binary || !strings.ContainsRune(value, 0) {
		return value, ""
	}
	for _, name := range t.Names() {
		if held, _ := v.Lookup(name); strings.ContainsRune(held, 0) {
			return "", fmt.Sprintf("secret %s holds a NUL character, which %s cannot", name, where)
		}
	}
	return "", where + " holds a NUL character"
}

// revealed returns the values of the secrets that s may use. It is never nil.
func revealed(s bridgeconfig.Server, v secret.View) []string {
	values := []string{}
	for _, name := range s.Secrets {
		if value, ok := v.Lookup(name); ok {
			values = append(values, value)
		}
	}
	return values
}

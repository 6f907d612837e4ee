// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridge/template"
)

// runner returns the transport to a program, which it starts when connected.
type runner func(p *config.Program, l stdio.Launch, log *slog.Logger) mcp.Transport

// runProgram is the runner of programs themselves.
func runProgram(p *config.Program, l stdio.Launch, log *slog.Logger) mcp.Transport {
	if p.Socket != "" {
		return stdio.Shim(p.Socket, l, log)
	}
	return stdio.Child(l, log)
}

// program returns the transport to the server's program. It is one for all
// connections of the grant, since it learns how the program writes.
func (g *grant) program(u *upstream) mcp.Transport {
	g.once.Do(func() {
		run := runProgram
		if s, ok := u.owner.(*standIn); ok && s.bridge.options.runs != nil {
			run = s.bridge.options.runs
		}
		g.running = run(u.server.Program, g.launch, u.log)
	})
	return g.running
}

// launchOf returns the program of s with its secrets, or what is wrong with
// them.
func launchOf(s config.Server, v secret.View) (l stdio.Launch, fault string) {
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

// expandProgram puts the secrets into one text of a program. The name of the
// folder with the program's files stays, for the side that writes them.
func expandProgram(where, text string, binary bool, v secret.View) (value, fault string) {
	t, err := template.Parse(text)
	if err != nil {
		return "", fmt.Sprintf("%s: %v", where, err)
	}
	value, missing := t.Expand(func(name string) (string, bool) {
		if name == config.ConfigDir {
			return "${" + config.ConfigDir + "}", true
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

// revealed returns the values of the secrets that s may use, never nil.
func revealed(s config.Server, v secret.View) []string {
	values := []string{}
	for _, name := range s.Secrets {
		if value, ok := v.Lookup(name); ok {
			values = append(values, value)
		}
	}
	return values
}

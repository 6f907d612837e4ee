// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

func entry(name, value string) jsondoc.Entry[string] {
	return jsondoc.Entry[string]{Name: name, Value: value}
}

// commonServer is a server in the common format of clients.
type commonServer struct {
	Type        string                  `json:"type"`
	Command     string                  `json:"command"`
	Args        []string                `json:"args"`
	Env         jsondoc.Ordered[string] `json:"env"`
	Dir         string                  `json:"cwd"`
	URL         string                  `json:"url"`
	ServerURL   string                  `json:"serverUrl"`
	HTTPURL     string                  `json:"httpUrl"`
	Headers     jsondoc.Ordered[string] `json:"headers"`
	Disabled    bool                    `json:"disabled"`
	Description string                  `json:"description"`
}

// readCommon reads the object of servers under name, in the common format of clients.
func readCommon(doc jsondoc.Value, name string) (File, []jsondoc.Problem) {
	var f File
	var servers jsondoc.Ordered[commonServer]
	member, _ := doc.Get(name)
	problems := under(name, jsondoc.Decode(member, &servers))
	for _, m := range doc.Members {
		switch m.Name {
		case name:
		case "inputs":
			problems = append(problems, warning("inputs", "the bridge does not ask for inputs: set each as a secret, ${input:api-key} as API_KEY"))
		default:
			problems = append(problems, warning(m.Name, "unknown field"))
		}
	}
	for _, e := range servers {
		s, more := e.Value.server(name + "." + e.Name)
		f.Servers = append(f.Servers, jsondoc.Entry[Server]{Name: e.Name, Value: s})
		problems = append(problems, more...)
	}
	return f, problems
}

func (s commonServer) server(path string) (Server, []jsondoc.Problem) {
	t := translator{path: path}
	out := Server{
		Description: s.Description, Disabled: s.Disabled,
		Command: t.text("command", s.Command), Dir: s.Dir,
		URL: t.text("url", cmp.Or(s.URL, s.ServerURL, s.HTTPURL)), Type: s.Type,
		Env: t.entries("env", s.Env), Headers: t.entries("headers", s.Headers),
	}
	for _, arg := range s.Args {
		out.Args = append(out.Args, t.text("args", arg))
	}
	if n := len(s.URL) + len(s.ServerURL) + len(s.HTTPURL); n > len(cmp.Or(s.URL, s.ServerURL, s.HTTPURL)) {
		t.problems = append(t.problems, warning(path, "has several URLs: the first of url, serverUrl and httpUrl is used"))
	}
	if s.Command != "" && len(s.Headers) > 0 {
		out.Headers = nil
		t.problems = append(t.problems, warning(path+".headers", "a program gets no headers"))
	}
	switch {
	case s.Type == "streamable-http", s.Type == "streamableHttp", s.Type == "http", s.Type == "stdio":
		out.Type = ""
	case s.Type == "" && strings.HasSuffix(strings.TrimRight(out.URL, "/"), "/sse"):
		out.Type = "sse" // Files from before streamable HTTP have no types.
	}
	return out, t.problems
}

// under prefixes the paths of problems.
func under(path string, problems []jsondoc.Problem) []jsondoc.Problem {
	for i, p := range problems {
		problems[i].Path = strings.TrimSuffix(path+"."+p.Path, ".")
	}
	return problems
}

// translator converts the texts of other programs' files to our syntax.
type translator struct {
	path     string
	problems []jsondoc.Problem
	renamed  []string
}

// text converts one text: ${env:NAME} and ${input:name} become variables, and any other dollar
// sign is escaped.
func (t *translator) text(field, s string) string {
	plain := s
	for _, prefix := range []string{"${env:", "${input:"} {
		plain = strings.ReplaceAll(plain, prefix, "${")
	}
	if strings.Contains(plain, "${workspaceFolder") || strings.Contains(plain, "${userHome}") {
		t.problems = append(t.problems, warning(t.path+"."+field, "folders such as ${workspaceFolder} are an editor's: write the path"))
	}
	translated, secrets := recipe.Translate(plain)
	for _, name := range secrets {
		if !strings.Contains(plain, "${"+name) && !slices.Contains(t.renamed, name) {
			t.renamed = append(t.renamed, name)
			t.problems = append(t.problems, warning(t.path+"."+field, "its variable is called %s here", name))
		}
	}
	return translated
}

func (t *translator) entries(field string, in jsondoc.Ordered[string]) (out jsondoc.Ordered[string]) {
	for _, e := range in {
		out = append(out, entry(e.Name, t.text(field+"."+e.Name, e.Value)))
	}
	return out
}

// adapt removes the servers of another program's file that a bridge cannot run, so that the others
// still work, and renames servers with invalid names.
func (l *Loaded) adapt() {
	var kept jsondoc.Ordered[Server]
	for _, e := range l.File.Servers {
		if name := serverName(e.Name); name != e.Name {
			l.warn("the server %.80q is called %q here", e.Name, name)
			e.Name = name
		}
		one := File{Servers: jsondoc.Ordered[Server]{e}}
		if _, there := kept.Get(e.Name); there {
			l.warn("a second server %q is left out", e.Name)
			continue
		}
		if _, err := one.Config("check", func(string) (string, bool) { return "", false }); err != nil {
			l.warn("the server %q is left out: %v", e.Name, err)
			continue
		}
		kept = append(kept, e)
	}
	l.File.Servers = kept
}

func (l *Loaded) warn(format string, args ...any) {
	l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
}

// maxServerName is the maximum length of a server's name, in bytes.
const maxServerName = 64

// serverName returns a valid server name: letters and digits, and within the name spaces, dots,
// underscores and hyphens.
func serverName(of string) string {
	name := strings.Map(func(r rune) rune {
		if r > '~' || !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ._-", r) {
			return '-'
		}
		return r
	}, of)
	name = strings.Trim(name[:min(len(name), maxServerName)], " ._-")
	if name == "" {
		return "server"
	}
	return name
}

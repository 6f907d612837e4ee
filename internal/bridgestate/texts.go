// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/template"
)

var (
	// errControl is about what the API lets pass, and what could end a header
	// and begin another.
	errControl = errors.New("it holds a line break or another control character")
	// errNUL is about what the API lets pass, and what would end an argument
	// or a variable early.
	errNUL = errors.New("it holds the character NUL")
)

// text is a part of a server that can name secrets.
type text struct {
	// field is where it stands, from the server on, and what is what it is
	// called in a message.
	field, what, value string
	// unreadable is the reason if it cannot be read.
	unreadable string
	// folder means that it may contain ${CONFIG_DIR}.
	folder bool
}

// texts returns all texts of the server that can name secrets.
func texts(server Server) []text {
	var list []text
	for i, h := range server.Headers {
		list = append(list, text{
			field: fmt.Sprintf("transport.headers[%d].value", i), what: "header " + h.Name, value: h.Value,
			unreadable: v1alpha1.ReasonInvalidHeader,
		})
	}
	program := server.Program
	if program == nil {
		return list
	}
	add := func(field, what, value string, folder bool) {
		list = append(list, text{"transport.stdio." + field, what, value, v1alpha1.ReasonInvalidServer, folder})
	}
	args := len(program.Command) - server.Args
	for i, c := range program.Command[:args] {
		add(fmt.Sprintf("command[%d]", i), "a part of the command", c, true)
	}
	for i, a := range program.Command[args:] {
		add(fmt.Sprintf("args[%d]", i), "an argument", a, true)
	}
	for i, v := range program.Env {
		add(fmt.Sprintf("env[%d].value", i), "variable "+v.Name, v.Value, true)
	}
	for i, f := range program.Files {
		add(fmt.Sprintf("files[%d].content", i), "file "+f.Name, f.Content, false)
	}
	return list
}

// textsAreReadable is the check that every text names its secrets as the
// bridge reads them, and only such as its server is granted.
func textsAreReadable(server Server) Finding {
	for _, t := range texts(server) {
		if f := t.readable(server); f != (Finding{}) {
			return f
		}
	}
	return Finding{}
}

// readable never quotes the value: it may contain a secret by mistake.
func (t text) readable(server Server) Finding {
	parsed, err := template.Parse(t.value)
	switch {
	case t.unreadable == v1alpha1.ReasonInvalidHeader && strings.ContainsFunc(t.value, isControl):
		err = errControl
	case strings.ContainsRune(t.value, 0):
		err = errNUL
	}
	if err != nil {
		return Finding{t.unreadable, fmt.Sprintf(
			"spec.servers[%d].%s: %s of server %s cannot be read: %v; it must be text in which ${NAME} or ${NAME:-text} names a secret and $$ is a dollar sign",
			server.Index, t.field, t.what, server.Name, err)}
	}
	for _, name := range parsed.Names() {
		if !slices.Contains(server.Secrets, name) && (!t.folder || name != bridgeconfig.ConfigDir) {
			return notGranted(server, t.field, t.what, name)
		}
	}
	return Finding{}
}

// loginIsGranted is the check that the server's auth uses only secrets that the
// server is granted.
func loginIsGranted(server Server) Finding {
	if server.OAuth == nil {
		return Finding{}
	}
	for _, used := range [][2]string{{"clientSecret", server.OAuth.ClientSecret}, {"tokenSecret", server.OAuth.Token}} {
		if field, name := used[0], used[1]; name != "" && !slices.Contains(server.Secrets, name) {
			return notGranted(server, "auth.oauth."+field, "the auth", name)
		}
	}
	return Finding{}
}

func notGranted(server Server, field, what, name string) Finding {
	return Finding{v1alpha1.ReasonSecretNotGranted, fmt.Sprintf(
		"spec.servers[%d].%s: %s of server %s names the secret %s, which the server may not use; it must be one of the server's spec.servers[].secrets, so add it there",
		server.Index, field, what, server.Name, name)}
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

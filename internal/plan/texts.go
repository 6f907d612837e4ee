// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/template"
)

var (
	// errControl is about what the API lets pass, and what could end a header
	// and begin another.
	errControl = errors.New("it holds a line break or another control character")
	// errNUL is about what the API lets pass, and what would end an argument
	// or a variable early.
	errNUL = errors.New("it holds the character NUL")
)

// text is a part of a server in which secrets can be named.
type text struct {
	// field is where it stands, from the server on, and what is what it is
	// called in a message.
	field, what, value string
	// unreadable is the reason where it cannot be read.
	unreadable string
	// folder says that ${CONFIG_DIR} may stand in it.
	folder bool
}

// texts returns all texts of the server in which secrets can be named.
func texts(server v1alpha1.Server) []text {
	var list []text
	for i, h := range server.Transport.Headers {
		list = append(list, text{
			field: fmt.Sprintf("transport.headers[%d].value", i), what: "header " + h.Name, value: h.Value,
			unreadable: v1alpha1.ReasonInvalidHeader,
		})
	}
	program := server.Transport.Stdio
	if program == nil {
		return list
	}
	add := func(field, what, value string, folder bool) {
		list = append(list, text{"transport.stdio." + field, what, value, v1alpha1.ReasonInvalidServer, folder})
	}
	for i, c := range program.Command {
		add(fmt.Sprintf("command[%d]", i), "a part of the command", c, true)
	}
	for i, a := range program.Args {
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
func textsAreReadable(o Observed) Finding {
	for i, server := range o.Bridge.Spec.Servers {
		for _, t := range texts(server) {
			if f := t.readable(i, server); f != (Finding{}) {
				return f
			}
		}
	}
	return Finding{}
}

// readable never quotes the value: somebody may have put there what belongs
// into a secret.
func (t text) readable(i int, server v1alpha1.Server) Finding {
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
			i, t.field, t.what, server.Name, err)}
	}
	for _, name := range parsed.Names() {
		if !granted(server, name) && (!t.folder || name != config.ConfigDir) {
			return notGranted(i, t.field, t.what, server.Name, name)
		}
	}
	return Finding{}
}

// loginsAreGranted is the check that a server's auth uses only secrets that the
// server is granted.
func loginsAreGranted(o Observed) Finding {
	for i, server := range o.Bridge.Spec.Servers {
		if server.Auth == nil || server.Auth.OAuth == nil {
			continue
		}
		login := server.Auth.OAuth
		for _, used := range []struct {
			field string
			name  v1alpha1.SecretName
		}{{"clientSecret", login.ClientSecret}, {"tokenSecret", login.TokenSecret}} {
			if used.name != "" && !granted(server, string(used.name)) {
				return notGranted(i, "auth.oauth."+used.field, "the auth", server.Name, string(used.name))
			}
		}
	}
	return Finding{}
}

func granted(server v1alpha1.Server, name string) bool {
	return slices.Contains(server.Secrets, v1alpha1.SecretName(name))
}

func notGranted(i int, field, what, server, name string) Finding {
	return Finding{v1alpha1.ReasonSecretNotGranted, fmt.Sprintf(
		"spec.servers[%d].%s: %s of server %s names the secret %s, which the server may not use; it must be one of the server's spec.servers[].secrets, so add it there",
		i, field, what, server, name)}
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// withProgram makes the last server one over stdio.
func withProgram(change ...func(*v1alpha1.Stdio)) func(*Observed) {
	return func(o *Observed) {
		p := &v1alpha1.Stdio{Install: &v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "server", Version: "1.0.0"}}
		for _, c := range change {
			c(p)
		}
		o.Bridge.Spec.Servers[len(o.Bridge.Spec.Servers)-1].Transport = v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: p}
	}
}

// withLogin gives the last server a client of its own.
func withLogin(change func(*v1alpha1.OAuth)) func(*Observed) {
	return func(o *Observed) {
		login := &v1alpha1.OAuth{
			Grant: v1alpha1.OAuthClientCredentials, TokenURL: "https://login.example.com/token", ClientID: "me", ClientSecret: "TOKEN",
		}
		change(login)
		o.Bridge.Spec.Servers[len(o.Bridge.Spec.Servers)-1].Auth = &v1alpha1.Auth{OAuth: login}
	}
}

func TestEveryTextOfAServerIsRead(t *testing.T) {
	command := func(c ...string) func(*Observed) {
		return withProgram(func(p *v1alpha1.Stdio) { p.Command = c })
	}
	args := func(a ...string) func(*Observed) { return withProgram(func(p *v1alpha1.Stdio) { p.Args = a }) }
	env := func(value string) func(*Observed) {
		return withProgram(func(p *v1alpha1.Stdio) { p.Env = []v1alpha1.StdioVariable{{Name: "KEY", Value: value}} })
	}
	file := func(content string) func(*Observed) {
		return withProgram(func(p *v1alpha1.Stdio) { p.Files = []v1alpha1.StdioFile{{Name: "a.json", Content: content}} })
	}
	const at = "spec.servers[1].transport.stdio."
	tests := map[string]struct {
		server   func(*Observed)
		rejected string
		says     []string
	}{
		"a program that needs nothing":          {withProgram(), "", nil},
		"secrets in all places":                 {withProgram(func(p *v1alpha1.Stdio) { p.Args = []string{"${TOKEN}", "${TOKEN:-x}", "$$"} }), "", nil},
		"a variable of several lines":           {env("a\nb"), "", nil},
		"the folder of files":                   {env("${CONFIG_DIR}/a.json"), "", nil},
		"the folder of files, in a command":     {command("node", "${CONFIG_DIR}/a.js"), "", nil},
		"a file with a secret":                  {file("{\"key\": \"${TOKEN}\"}\n"), "", nil},
		"a command that cannot be read":         {command("node", "hunter2 $x"), "InvalidServer", []string{at + "command[1]: a part of the command of server github cannot be read: $ at position 9", "$$ is a dollar sign"}},
		"a command with a secret not granted":   {command("node", "hunter2 ${OTHER}"), "SecretNotGranted", []string{at + "command[1]", "of server github names the secret OTHER", "spec.servers[].secrets"}},
		"an argument that cannot be read":       {args("a", "hunter2 ${"), "InvalidServer", []string{at + "args[1]: an argument of server github cannot be read"}},
		"an argument with a secret not granted": {args("hunter2 ${OTHER:-none}"), "SecretNotGranted", []string{at + "args[0]", "names the secret OTHER"}},
		"an argument that ends early":           {args("hunter2\x00x"), "InvalidServer", []string{at + "args[0]", "it holds the character NUL"}},
		"a variable that cannot be read":        {env("hunter2 $"), "InvalidServer", []string{at + "env[0].value: variable KEY of server github cannot be read"}},
		"a variable with a secret not granted":  {env("hunter2 ${FIRST}"), "SecretNotGranted", []string{at + "env[0].value: variable KEY", "names the secret FIRST"}},
		"a file that cannot be read":            {file("hunter2 ${a b}"), "InvalidServer", []string{at + "files[0].content: file a.json of server github cannot be read"}},
		"a file with a secret not granted":      {file("hunter2 ${OTHER}"), "SecretNotGranted", []string{at + "files[0].content: file a.json", "names the secret OTHER"}},
		"the folder of files, in one of them":   {file("${CONFIG_DIR}"), "SecretNotGranted", []string{at + "files[0].content", "names the secret CONFIG_DIR"}},
		"the folder of files, in a header":      {withHeaders(v1alpha1.Header{Name: "X", Value: "${CONFIG_DIR}"}), "SecretNotGranted", []string{"names the secret CONFIG_DIR"}},
		"a login with a secret that is granted": {withLogin(func(*v1alpha1.OAuth) {}), "", nil},
		"a client's secret that is not granted": {withLogin(func(l *v1alpha1.OAuth) { l.ClientSecret = "OTHER" }), "SecretNotGranted", []string{"spec.servers[1].auth.oauth.clientSecret: the auth of server github names the secret OTHER"}},
		"a login's tokens that are not granted": {withLogin(func(l *v1alpha1.OAuth) { l.TokenSecret = "OTHER" }), "SecretNotGranted", []string{"spec.servers[1].auth.oauth.tokenSecret: the auth of server github names the secret OTHER"}},
		"what only the bridge finds":            {withLogin(func(l *v1alpha1.OAuth) { l.ClientID = "" }), "InvalidServer", []string{`spec.servers[1]: server "github": oauth.clientID is empty`}},
		"more than a ConfigMap holds": {withProgram(func(p *v1alpha1.Stdio) {
			p.Files = []v1alpha1.StdioFile{{Name: "a", Content: strings.Repeat("hunter2 ", 130_000)}}
		}), "InvalidServer", []string{"spec.servers: all servers together are", "at most 1024000"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := observed(needing("first", "FIRST"), needing("github", "TOKEN"), tt.server, withWorkload)
			p := Decide(o, now)
			if p.Rejected.Reason != tt.rejected || (p.Action == Run) != (tt.rejected == "") {
				t.Errorf("%s, rejected %v; want %q", p.Action, p.Rejected, tt.rejected)
			}
			for _, says := range tt.says {
				if !strings.Contains(p.Rejected.Message, says) {
					t.Errorf("the message does not say %q: %s", says, p.Rejected.Message)
				}
			}
			if strings.Contains(p.Rejected.Message, "hunter2") {
				t.Errorf("the message quotes the value: %s", p.Rejected.Message)
			}
		})
	}
}

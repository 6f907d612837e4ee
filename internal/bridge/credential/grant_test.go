// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/test/programs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAGrantSaysWhyItsServerIsOutOfService, without the secret.
func TestAGrantSaysWhyItsServerIsOutOfService(t *testing.T) {
	t.Parallel()
	header := bridgeconfig.Server{URL: "https://a.example", Headers: []bridgeconfig.Header{{Name: "X-Key", Value: "${TOKEN}"}}}
	program := func(p bridgeconfig.Program) bridgeconfig.Server {
		p.Command = append([]string{"one"}, p.Command...)
		return bridgeconfig.Server{Program: &p}
	}
	argument := program(bridgeconfig.Program{Command: []string{"${TOKEN}"}})
	variable := program(bridgeconfig.Program{Env: []bridgeconfig.Variable{{Name: "X", Value: "a${TOKEN}"}}})
	file := program(bridgeconfig.Program{Files: []bridgeconfig.File{{Name: "x", Content: "${TOKEN}"}}})
	login := bridgeconfig.Server{OAuth: &bridgeconfig.OAuth{Token: "TOKEN"}}
	set := func(pairs ...string) *secret.Set {
		values := map[string][]byte{"OTHER": []byte("x")}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = []byte(pairs[i+1])
		}
		return secret.NewSet("1", values, nil)
	}
	unreadable, nul := secret.NewSet("1", nil, []string{"TOKEN"}), set("TOKEN", "c4n4ry\x00")
	const notSet, notOpened = "secret TOKEN is not set", "secret TOKEN cannot be opened"
	type state struct {
		Fault                         string
		Waiting, Lacking, Unconnected bool
	}
	for name, tt := range map[string]struct {
		server bridgeconfig.Server
		set    *secret.Set
		want   state
	}{
		"a header":                      {header, set("TOKEN", "c4n4ry"), state{}},
		"a header, not set":             {header, set(), state{Fault: notSet, Lacking: true}},
		"a header, not opened":          {header, unreadable, state{Fault: notOpened}},
		"a header, a line break":        {header, set("TOKEN", "c4n4ry\nX: y"), state{Fault: "secret TOKEN holds a line break or another control character, which header X-Key cannot"}},
		"a header, before the secrets":  {header, nil, state{Waiting: true}},
		"no secret, before the secrets": {program(bridgeconfig.Program{}), nil, state{}},
		"a fault, before the secrets":   {bridgeconfig.Server{Fault: "withdrawn", Secrets: []string{"TOKEN"}}, nil, state{Fault: "withdrawn"}},
		"an argument":                   {argument, set("TOKEN", "c4n4ry"), state{}},
		"an argument, not set":          {argument, set(), state{Fault: notSet, Lacking: true}},
		"an argument, not opened":       {argument, unreadable, state{Fault: notOpened}},
		"an argument, a NUL":            {argument, nul, state{Fault: "secret TOKEN holds a NUL character, which command[1] cannot"}},
		"a variable, not set":           {variable, set(), state{Fault: notSet, Lacking: true}},
		"a variable, not opened":        {variable, unreadable, state{Fault: notOpened}},
		"a variable, a NUL":             {variable, nul, state{Fault: "secret TOKEN holds a NUL character, which variable X cannot"}},
		"a file, not set":               {file, set(), state{Fault: notSet, Lacking: true}},
		"a file, not opened":            {file, unreadable, state{Fault: notOpened}},
		"a file, a NUL":                 {file, nul, state{}},
		"a login":                       {login, set("TOKEN", "c4n4ry"), state{}},
		"a login, not logged in":        {login, set(), state{Fault: notSet, Lacking: true, Unconnected: true}},
		"a login, not opened":           {login, unreadable, state{Fault: notOpened}},
		"a variable's default":          {program(bridgeconfig.Program{Env: []bridgeconfig.Variable{{Name: "X", Value: "${TOKEN:-none}"}}}), set(), state{}},
		"a header's default":            {bridgeconfig.Server{Headers: []bridgeconfig.Header{{Name: "X-Key", Value: "${TOKEN:-none}"}}}, set(), state{}},
		"a default, before the secrets": {bridgeconfig.Server{Headers: []bridgeconfig.Header{{Name: "X-Key", Value: "${TOKEN:-none}"}}}, nil, state{Waiting: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "no secret, before the secrets" {
				tt.server.Secrets = []string{"TOKEN"}
			}
			g := New(t.Context(), tt.server, tt.set, nil)
			defer g.end()
			if got := (state{g.Fault, g.Waiting, g.Lacking, g.Unconnected}); got != tt.want {
				t.Errorf("grant %+v, want %+v", got, tt.want)
			}
			if g.Usable() != (tt.want.Fault == "" && !tt.want.Waiting) {
				t.Errorf("it is usable: %t", g.Usable())
			}
		})
	}
}

// TestAProgramStartsWithItsSecretsOnceItsFilesAreThere and all connections of a grant share it.
func TestAProgramStartsWithItsSecretsOnceItsFilesAreThere(t *testing.T) {
	t.Parallel()
	program := &bridgeconfig.Program{
		Command: []string{"one", "--token=${TOKEN}", "--config", "${CONFIG_DIR}/settings.json"}, Dir: "/work", Bundle: &bridgeconfig.Bundle{},
		Env:   []bridgeconfig.Variable{{Name: "X", Value: "$$${MISSING:-none} ${TOKEN}"}},
		Files: []bridgeconfig.File{{Name: "settings.json", Content: `{"token":"${TOKEN}","more":${config.json}}`}},
	}
	s := bridgeconfig.Server{Name: "one", Program: program, Secrets: []string{"TOKEN", "MISSING", "config.json"}}
	g := New(t.Context(), s, secret.NewSet("1", map[string][]byte{"TOKEN": []byte("a-token"), "config.json": []byte(`{"a":"line\n"}`), "OTHER": nil}, nil), nil)
	defer g.end()
	var launches []stdio.Launch
	near, _ := mcp.NewInMemoryTransports()
	var fetched error
	run := Runner(func(_ *bridgeconfig.Program, l stdio.Launch, _ *slog.Logger) client.Dialer {
		launches = append(launches, l)
		return programs.Over(near)
	}).AfterFetch(func(context.Context, bridgeconfig.Bundle) error { return fetched })
	first, again := g.Program(run, program, nil), g.Program(run, program, nil)
	want := []stdio.Launch{{
		Server: "one", Command: []string{"one", "--token=a-token", "--config", "${CONFIG_DIR}/settings.json"}, Env: []string{"X=$none a-token"}, Dir: "/work",
		Files: []stdio.File{{Name: "settings.json", Content: []byte(`{"token":"a-token","more":{"a":"line\n"}}`)}}, Secrets: []string{"a-token", `{"a":"line\n"}`},
	}}
	if diff := cmp.Diff(want, launches, cmpopts.IgnoreUnexported(stdio.Launch{})); diff != "" || reflect.ValueOf(first) != reflect.ValueOf(again) {
		t.Errorf("launches (-want +got):\n%s", diff)
	}
	fetched = errors.New("no room")
	if _, err := first(t.Context()); err == nil || !strings.Contains(err.Error(), `"one" cannot be started: no room`) {
		t.Errorf("without its files: %v", err)
	}
	fetched = nil
	if conn, err := first(t.Context()); err != nil || conn.Close() != nil {
		t.Errorf("with its files: %v", err)
	}
	fetched = errors.New("no room")
	if conn, err := run(&bridgeconfig.Program{}, stdio.Launch{}, nil)(t.Context()); err != nil || conn.Close() != nil {
		t.Errorf("a program without a bundle waits for files: %v", err)
	}
}

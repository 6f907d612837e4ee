// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeconfig

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestParse(t *testing.T) {
	const accepted = `{"userID":"alice","bridgeUID":"u-1","servers":[{"name":"git-hub","url":"https://mcp.example.com/mcp"},{"name":"My Files","url":"http://10.0.0.1:3001","headers":[{"name":"X-Region","value":"eu$$1"},{"name":"Authorization","value":"Bearer ${TOKEN}"}],"secrets":["TOKEN","credentials.json"]}]}`
	want := Config{UserID: "alice", BridgeUID: "u-1", Servers: []Server{
		{Name: "git-hub", URL: "https://mcp.example.com/mcp"},
		{
			Name:    "My Files",
			URL:     "http://10.0.0.1:3001",
			Headers: []Header{{Name: "X-Region", Value: "eu$$1"}, {Name: "Authorization", Value: "Bearer ${TOKEN}"}},
			Secrets: []string{"TOKEN", "credentials.json"},
		},
	}}
	got := must.Value(Parse([]byte(accepted)))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	encoded := must.Value(got.Encode())(t)
	if string(encoded) != accepted {
		t.Errorf("encoded = %s, want %s", encoded, accepted)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct {
		in   string
		want string
	}{
		"nothing at all":               {``, "EOF"},
		"an unknown field":             {`{"userID":"a","bridgeUID":"u","servers":[],"x":1}`, "unknown field"},
		"an unknown field of a server": {`{"userID":"a","bridgeUID":"u","servers":[{"name":"s","url":"http://h","token":"t"}]}`, "unknown field"},
		"a second value":               {`{"userID":"a","bridgeUID":"u","servers":[]}{}`, "data after"},
		"a user id that is a path":     {`{"userID":"a/../b","bridgeUID":"u","servers":[]}`, "userID"},
		"an empty bridge uid":          {`{"userID":"a","bridgeUID":"","servers":[]}`, "bridgeUID"},
		"an empty server name":         {`{"userID":"a","bridgeUID":"u","servers":[{"name":"","url":"http://h"}]}`, "servers[0].name"},
		"a name used twice":            {`{"userID":"a","bridgeUID":"u","servers":[{"name":"s","url":"http://h"},{"name":"s","url":"http://i"}]}`, "used twice"},
		"a relative url":               {`{"userID":"a","bridgeUID":"u","servers":[{"name":"s","url":"/mcp"}]}`, "server \"s\": url"},
		"a url of another scheme":      {`{"userID":"a","bridgeUID":"u","servers":[{"name":"s","url":"ftp://h"}]}`, "server \"s\": url"},
		"a url with a port but no host": {
			`{"userID":"a","bridgeUID":"u","servers":[{"name":"s","url":"http://:80"}]}`, "server \"s\": url"},
		"a url with credentials": {`{"userID":"a","bridgeUID":"u","servers":[{"name":"s","url":"http://me:hunter2@h"}]}`, "server \"s\": url"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error = %v, want one with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error holds a credential: %v", err)
			}
		})
	}
}

func TestValidateRefusesHeadersAndSecrets(t *testing.T) {
	header := func(name, value string) Server { return Server{Headers: []Header{{name, value}}} }
	tests := map[string]struct {
		server Server
		want   string
	}{
		"a secret's name in lower case":      {Server{Secrets: []string{"token"}}, "secrets[0]"},
		"a secret's name with a dot first":   {Server{Secrets: []string{"A", ".index"}}, "secrets[1]"},
		"a secret twice":                     {Server{Secrets: []string{"A", "B", "A"}}, "secrets[2] \"A\" is there twice"},
		"a header without a name":            {header("", "x"), "headers[0]"},
		"a header's name with a line break":  {header("X-Key\n", "x"), "headers[0]"},
		"a header's name with a blank":       {header("X Key", "x"), "headers[0]"},
		"a header's name of 65 letters":      {header(strings.Repeat("x", 65), "x"), "headers[0]"},
		"a header of HTTP":                   {header("Host", "x"), "belongs to HTTP"},
		"a header of the connection":         {header("transfer-encoding", "x"), "belongs to HTTP"},
		"a header of the proxy":              {header("Proxy-Authorization", "x"), "belongs to HTTP"},
		"a header of MCP":                    {header("Mcp-Session-Id", "x"), "belongs to HTTP, MCP or"},
		"a header that tells of loops":       {header("Hosted-Bridge-Hops", "x"), "belongs to HTTP"},
		"a header of this project":           {header("hosted-BRIDGE-Anything", "x"), "belongs to HTTP"},
		"a trace":                            {header("TraceParent", "x"), "belongs to HTTP"},
		"a trace's state":                    {header("tracestate", "x"), "belongs to HTTP"},
		"a header of MCP, otherwise spelled": {header("mCP-Anything", "x"), "belongs to HTTP, MCP or"},
		"a value that is no template":        {header("X-Key", "hunter2$"), "value of X-Key: $ at position 8"},
		"a value with a line break":          {header("X-Key", "hunter2\r\nX-Other: y"), "header X-Key holds a line break"},
		"a secret that is not granted":       {header("X-Key", "${TOKEN}"), "secret TOKEN, which the server is not granted"},
		"a default of a secret that is not granted": {
			Server{Headers: []Header{{"X-Key", "${TOKEN:-x}"}}, Secrets: []string{"OTHER"}}, "secret TOKEN, which the server is not granted"},
		"a header twice, otherwise spelled": {
			Server{Headers: []Header{{"X-Key", "a"}, {"x-key", "b"}}}, "headers[1]: \"x-key\" is there twice"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.server.Name, tt.server.URL = "s", "http://h"
			err := Config{UserID: "a", BridgeUID: "u", Servers: []Server{tt.server}}.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `server "s"`) {
				t.Fatalf("error = %v, want one with %q and the server", err, tt.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error holds a header's value: %v", err)
			}
		})
	}
}

func TestValidateRefusesAPendingServerThatDoesNotSayWhyOrSinceWhen(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tt := range map[string]struct {
		pending Pending
		want    string
	}{
		"no reason":                {Pending{Since: since}, "pending.reason has 0 bytes; it must be one line of 1 to 256"},
		"a long reason":            {Pending{strings.Repeat("x", 257), since}, "pending.reason has 257 bytes"},
		"a reason of two lines":    {Pending{"a\nb", since}, "pending.reason"},
		"a reason that is no text": {Pending{"\xff", since}, "pending.reason"},
		"no time":                  {Pending{Reason: "x"}, "pending.since is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Server{Name: "s", URL: "http://h", Pending: &tt.pending}
			err := Config{UserID: "a", BridgeUID: "u", Servers: []Server{s}}.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `server "s"`) {
				t.Errorf("error = %v, want one with %q and the server", err, tt.want)
			}
		})
	}
}

func TestRequired(t *testing.T) {
	s := Server{
		Secrets: []string{"UNUSED", "DEFAULT", "BOTH", "USED"},
		Headers: []Header{
			{"X-A", "${USED}${DEFAULT:-x}"},
			{"X-B", "${BOTH:-x}"},
			{"X-C", "${BOTH}"},
		},
	}
	if diff := cmp.Diff([]string{"UNUSED", "BOTH", "USED"}, s.Required()); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if got := (Server{}).Required(); got != nil {
		t.Errorf("required of a server without secrets = %q", got)
	}
}

func TestEncodeHasAListEvenWithoutServers(t *testing.T) {
	b := must.Value(Config{UserID: "alice", BridgeUID: "u"}.Encode())(t)
	if want := `{"userID":"alice","bridgeUID":"u","servers":[]}`; string(b) != want {
		t.Errorf("encoded = %s, want %s", b, want)
	}
}

func TestEncodeRefusesWhatParseRefuses(t *testing.T) {
	if _, err := (Config{UserID: "Alice", BridgeUID: "u"}).Encode(); err == nil {
		t.Error("an invalid configuration was encoded")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"userID":"alice","bridgeUID":"u","servers":[{"name":"s","url":"https://h/p?q"}]}`))
	f.Add([]byte(`{"userID":"alice","bridgeUID":"u","servers":[{"name":"s","url":"https://h","headers":[{"name":"X-Key","value":"${A:-$$}"}],"secrets":["A"]}]}`))
	if whole, err := complete().Encode(); err == nil {
		f.Add(whole)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := Parse(in)
		if err != nil {
			return
		}
		encoded, err := c.Encode()
		if err != nil {
			t.Fatalf("parsed but not encoded: %v", err)
		}
		again, err := Parse(encoded)
		if err != nil {
			t.Fatalf("encoded but not parsed: %v", err)
		}
		twice, err := again.Encode()
		if err != nil || !bytes.Equal(encoded, twice) {
			t.Fatalf("encoding is not stable: %s, %s, %v", encoded, twice, err)
		}
	})
}

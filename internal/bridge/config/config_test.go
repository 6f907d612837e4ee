// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	const accepted = `{"userID":"alice","bridgeUID":"u-1","servers":[{"name":"git-hub","url":"https://mcp.example.com/mcp"},{"name":"My Files","url":"http://10.0.0.1:3001"}]}`
	want := Config{UserID: "alice", BridgeUID: "u-1", Servers: []Server{
		{Name: "git-hub", URL: "https://mcp.example.com/mcp"},
		{Name: "My Files", URL: "http://10.0.0.1:3001"},
	}}
	got, err := Parse([]byte(accepted))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	encoded, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
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
		"a relative url":               {`{"userID":"a","bridgeUID":"u","servers":[{"name":"s","url":"/mcp"}]}`, "url of server"},
		"a url of another scheme":      {`{"userID":"a","bridgeUID":"u","servers":[{"name":"s","url":"ftp://h"}]}`, "url of server"},
		"a url with a port but no host": {
			`{"userID":"a","bridgeUID":"u","servers":[{"name":"s","url":"http://:80"}]}`, "url of server"},
		"a url with credentials": {`{"userID":"a","bridgeUID":"u","servers":[{"name":"s","url":"http://me:hunter2@h"}]}`, "url of server"},
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

func TestEncodeHasAListEvenWithoutServers(t *testing.T) {
	b, err := Config{UserID: "alice", BridgeUID: "u"}.Encode()
	if err != nil {
		t.Fatal(err)
	}
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

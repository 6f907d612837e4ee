// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"strings"
	"testing"
)

func TestID(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"a number", `{"jsonrpc":"2.0","id":7,"method":"ping"}`, `7`},
		{"a negative number", `{"id":-1,"method":"ping"}`, `-1`},
		{"a fraction keeps its digits", `{"id":1.50,"method":"ping"}`, `1.50`},
		{"a string", ` {"id":"a\"b","method":"ping"}`, `"a\"b"`},
		{"the last of two, as decoders have it", `{"id":1,"id":2,"method":"ping"}`, `2`},
		{"no id", `{"method":"notifications/initialized"}`, ``},
		{"null", `{"id":null,"method":"ping"}`, ``},
		{"an object", `{"id":{"a":1},"method":"ping"}`, ``},
		{"a boolean", `{"id":true,"method":"ping"}`, ``},
		{"another case", `{"ID":7,"method":"ping"}`, ``},
		{"an id within the parameters", `{"method":"ping","params":{"id":7}}`, ``},
		{"a response", `{"id":7,"result":{}}`, ``},
		{"a batch", `[{"id":7,"method":"ping"}]`, ``},
		{"not JSON", `id=7`, ``},
		{"broken JSON", `{"id":7,"method":"ping"`, ``},
		{"something after the message", `{"id":7,"method":"ping"}{}`, ``},
		{"nothing", ``, ``},
		{"a very long id", `{"id":"` + strings.Repeat("a", 300) + `","method":"ping"}`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(ID([]byte(tt.body))); got != tt.want {
				t.Errorf("ID = %s, want %s", got, tt.want)
			}
		})
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"
	"regexp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// noSpace matches what systems and languages say of a full disk.
var noSpace = regexp.MustCompile(`ENOSPC|[Nn]o space left on device|[Dd]isk quota exceeded`)

// nameFullStorage adds to a failed call of a program the name of the server whose disk
// is full. The program's own text stays: it names a file, and often nothing else.
func nameFullStorage(s bridgeconfig.Server, method string, r *message.Result) {
	if s.Program == nil || method != methods.CallTool || !r.IsError() || !noSpace.Match(r.Fields["content"]) {
		return
	}
	var content []json.RawMessage
	if json.Unmarshal(r.Fields["content"], &content) != nil {
		return
	}
	said, err := json.Marshal(map[string]string{
		"type": "text",
		"text": "server " + s.Name + ": its storage is full: delete files there, or raise the size of the server's storage",
	})
	if err != nil {
		return
	}
	if whole, err := json.Marshal(append(content, said)); err == nil {
		r.Fields["content"] = whole
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"encoding/json"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// routerTool is the one tool that a bridge in mode Router lists, by which clients call the
// tools of all servers.
const routerTool = "mcp"

// routed are the arguments of that tool.
type routed struct {
	Action string          `json:"action"`
	Server string          `json:"server"`
	Tool   string          `json:"tool"`
	Params json.RawMessage `json:"params,omitempty"`
}

func (r routed) call() httpapi.RPC {
	arguments, err := json.Marshal(r)
	if err != nil {
		panic(err) // Params are valid JSON, and the rest can always be encoded.
	}
	return Call(routerTool, arguments)
}

// CallThroughRouter calls a tool of a server in mode Router. The arguments are a JSON object.
func CallThroughRouter(server, tool string, arguments json.RawMessage) httpapi.RPC {
	return routed{"call", server, tool, arguments}.call()
}

// FindThroughRouter asks a bridge in mode Router for a tool of a server. The tool is nil if
// the server does not have it.
func FindThroughRouter(exchange func(httpapi.RPC) httpapi.Exchanged, server, tool string) (*Tool, error) {
	result, err := Result(exchange(routed{Action: "schema", Server: server, Tool: tool}.call()))
	if err != nil {
		return nil, err
	}
	var r struct {
		Structured struct {
			Tool

			// Error is the kind of a refusal.
			Error   string `json:"error"`
			Message string `json:"message"`
		} `json:"structuredContent"`
		Type string `json:"resultType"`
	}
	found := &r.Structured
	switch err := json.Unmarshal(result, &r); {
	case err != nil:
		return nil, &Failure{Message: "The bridge's answer about the tool could not be read."}
	case found.Error == "unknown_tool" || found.Error == "unknown_server":
		return nil, nil
	case found.Error != "":
		return nil, &Failure{Message: found.Message}
	case r.Type == "input_required":
		return nil, &Failure{Message: "The server of the tool waits for a login. Connect its account on the page of the server."}
	}
	found.Name = tool
	return &found.Tool, nil
}

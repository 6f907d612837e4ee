// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inputrequired

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// LoginRequired returns the answer to a request for an unavailable server. If only a login is
// missing, it asks the client to open the login page. It asks once for each call: otherwise a user
// who returns without a login would be asked for ever.
func LoginRequired(q *message.Request, e *fault.Unavailable) (mcp.Result, error) {
	switch {
	case e.ConnectURL == "" || !methods.Of(q.Method).Asks:
	case q.Era == message.Modern && !q.Invited && message.OpensPages(q.Askable()):
		return loginQuestion(e), nil
	case q.Session != nil && message.OpensPages(q.Session.Capabilities()):
		return nil, loginElicitation(e, q.Session.LoginID(e.Server))
	case q.Method == methods.CallTool:
		return q.Reply(unconnectedDetails{health.ReasonLoginRequired, e.Error(), e.Server, e.ConnectURL}, true)
	}
	return nil, fault.ToRPC(e, e.Server)
}

// elicitLogin is the question that sends the user to the login page. The id is empty in the era
// without ids.
func elicitLogin(e *fault.Unavailable, id string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Mode: "url", URL: e.ConnectURL, ElicitationID: id,
		Message: fmt.Sprintf("Log in to use the server %q.", e.Server),
	}
}

// loginQuestion is the answer that asks a modern client. It needs no state, because the bridge
// keeps nothing in between.
func loginQuestion(e *fault.Unavailable) *message.Result {
	answer := message.EmptyResult()
	answer.Set("resultType", "input_required")
	answer.Set("inputRequests", map[string]message.InputRequest{upstream.LoginInputKey: {Method: methods.Elicit, Params: jsondoc.EncodeExact(elicitLogin(e, ""))}})
	answer.Meta = mcp.Meta{message.MetaServerInfo: message.Implementation}
	return answer
}

// unconnectedDetails is the structured part of a tool's result for a server without a login.
type unconnectedDetails struct {
	Kind       string `json:"error"`
	Message    string `json:"message"`
	Server     string `json:"server"`
	ConnectURL string `json:"connectURL"`
}

// loginElicitation returns the error that asks the client of a session.
func loginElicitation(e *fault.Unavailable, id string) error {
	data, err := json.Marshal(map[string]any{"elicitations": []*mcp.ElicitParams{elicitLogin(e, id)}})
	if err != nil {
		panic(err) // texts always encode
	}
	return &jsonrpc.Error{Code: mcp.CodeURLElicitationRequired, Message: e.Error(), Data: data}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	encoded "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asSent parses JSON as the SDK does: names are case-sensitive, and the last of several equal names counts.
var asSent = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// DecodeParams returns the parameters of a client's request, nil if the method's parameters are not read. The
// error is a *jsonrpc.Error that says which part has another form.
func DecodeParams(method string, raw encoded.RawMessage) (mcp.Params, error) {
	params := NewParams(method)
	if params == nil || len(raw) == 0 || jsontext.Value(raw).Kind() == 'n' {
		return params, nil
	}
	err := json.Unmarshal(withoutAnswers(method, raw), params, asSent)
	if err == nil {
		return params, nil
	}
	where := ""
	if at, ok := errors.AsType[*json.SemanticError](err); ok && at.JSONPointer != "" {
		where = fmt.Sprintf(" at %q", at.JSONPointer)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("invalid params: another form%s than %s has", where, method)}
}

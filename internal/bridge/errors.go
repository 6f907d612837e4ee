// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// unavailableError says that a server cannot be reached.
type unavailableError struct {
	server string
}

// Error implements error.
func (e *unavailableError) Error() string {
	return fmt.Sprintf("server %q is not available", e.server)
}

// rpcError returns err as the client is to see it: the server's own JSON-RPC
// error unchanged, and for everything else a sentence without addresses.
func rpcError(err error, server string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && rpc.Code != 0 {
		return rpc
	}
	code := "upstream_error"
	message := fmt.Sprintf("server %q failed: %s", server, describe(err))
	var unavailable *unavailableError
	if errors.As(err, &unavailable) || lost(err) {
		code, message = "upstream_unavailable", (&unavailableError{server: server}).Error()
	}
	data, err := json.Marshal(map[string]string{"code": code, "server": server})
	if err != nil {
		panic(err) // strings always encode
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message, Data: data}
}

// invalidParams is the protocol's answer to a name or URI that nobody has.
func invalidParams(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func isMethodNotFound(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeMethodNotFound
}

// lost reports whether err says that the connection is of no more use.
func lost(err error) bool {
	return errors.Is(err, mcp.ErrSessionMissing) || errors.Is(err, mcp.ErrConnectionClosed)
}

// describe returns the text of err without the address that was called, whose
// query may hold a token.
func describe(err error) string {
	text := err.Error()
	var target *url.Error
	if errors.As(err, &target) && target.URL != "" {
		text = target.Err.Error()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the server did not answer in time"
	case strings.Contains(text, "://"):
		return "the server could not be reached"
	}
	return text
}

func methodNotFound(method string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not supported", method)}
}

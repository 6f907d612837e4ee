// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errUnreadable says that the SDK saw an answer in what the tap saw none in. The
// request was carried out, so it is not sent again.
var errUnreadable = errors.New("the server answered in a form that could not be read")

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
	if errors.As(err, &rpc) && rpc.Code != 0 && !ofSDK(rpc) {
		return rpc
	}
	code := "upstream_error"
	message := fmt.Sprintf("server %q failed: %s", server, describe(err))
	var unavailable *unavailableError
	if errors.As(err, &unavailable) || lost(err) || unreached(err) {
		code, message = "upstream_unavailable", (&unavailableError{server: server}).Error()
	}
	data, err := json.Marshal(map[string]string{"code": code, "server": server})
	if err != nil {
		panic(err) // strings always encode
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message, Data: data}
}

// ofSDK reports whether e is not a server's answer but the SDK's way of saying
// that there is none. It does not export these errors.
func ofSDK(e *jsonrpc.Error) bool {
	switch e.Message {
	case "rejected by transport":
		return e.Code == -32005
	case "server is closing":
		return e.Code == -32004
	case "client is closing":
		return e.Code == -32003
	}
	return false
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

// unreached reports whether err came before there was a connection.
func unreached(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// describe returns the text of err without the address that was called: its
// query may hold a token, and where a server is does not concern its user.
func describe(err error) string {
	var resolve *net.DNSError
	var op *net.OpError
	var target *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the server did not answer in time"
	case errors.As(err, &resolve):
		return "the server's name could not be resolved"
	case errors.As(err, &op) && op.Err != nil:
		return op.Op + ": " + op.Err.Error()
	case errors.As(err, &target) && target.Err != nil:
		return target.Err.Error()
	}
	if text := err.Error(); !strings.Contains(text, "://") {
		return text
	}
	return "the server could not be reached"
}

func methodNotFound(method string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not supported", method)}
}

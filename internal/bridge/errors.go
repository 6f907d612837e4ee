// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// errUnreadable says that the SDK saw an answer in what the tap saw none in. The
// request was carried out, so it is not sent again.
var errUnreadable = errors.New("the server answered in a form that could not be read")

// errEnded says that a program ended and gave no reason.
var errEnded = errors.New("the program ended")

// errStale says that a server's secrets changed while it was called with the
// former ones.
var errStale = errors.New("the server's secrets changed")

// unavailableError says that a server cannot be reached.
type unavailableError struct {
	server string
	reason string // why, where the user can do something about it
	// connect is the page on which the user does that by logging in, empty for
	// other reasons or where there is none.
	connect string
}

// Error implements error.
func (e *unavailableError) Error() string {
	if e.connect != "" {
		return e.plainly() + "; the user has to log in at " + e.connect
	}
	return e.plainly()
}

// plainly returns the error without the page, for whom it does not concern.
func (e *unavailableError) plainly() string {
	if e.reason != "" {
		return fmt.Sprintf("server %q is not available: %s", e.server, e.reason)
	}
	return fmt.Sprintf("server %q is not available", e.server)
}

// guardedError is an error in whose text a server may have repeated secrets.
type guardedError struct {
	err  error
	hide secret.Redactor
	// connect is the page on which the server's user logs in, empty for none.
	connect string
	// grant is what the server was called with, nil where that is not known.
	grant *grant
}

// Error implements error.
func (e *guardedError) Error() string { return e.hide.Redact(e.err.Error()) }

// Unwrap serves errors.Is and errors.As. The texts of what they find are not
// redacted.
func (e *guardedError) Unwrap() error { return e.err }

// redactorOf returns what takes the secrets out of the texts of err.
func redactorOf(err error) secret.Redactor {
	if guarded, ok := errors.AsType[*guardedError](err); ok {
		return guarded.hide
	}
	return secret.Redactor{}
}

// rpcError returns err as the client is to see it: the server's own JSON-RPC
// error, and for everything else a sentence without addresses. Secrets are
// taken out of both, since what a client gets a model reads.
func rpcError(err error, server string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && rpc.Code != 0 && !ofSDK(rpc) {
		return redacted(rpc, redactorOf(err))
	}
	details := map[string]string{"code": "upstream_error", "server": server}
	message := fmt.Sprintf("server %q failed: %s", server, describe(err))
	if unavailable := unavailability(err, server); unavailable != nil {
		details["code"], message = "upstream_unavailable", unavailable.Error()
		if unavailable.connect != "" {
			details["connectURL"] = unavailable.connect
		}
	}
	data, err := json.Marshal(details)
	if err != nil {
		panic(err) // strings always encode
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message, Data: data}
}

// unavailability returns the error that says that a server cannot be reached,
// nil where err means something else.
func unavailability(err error, server string) *unavailableError {
	if unavailable, ok := errors.AsType[*unavailableError](err); ok {
		return unavailable
	}
	if login := loginFault(err); login != nil {
		e := &unavailableError{server: server, reason: login.Error()}
		if guarded, ok := errors.AsType[*guardedError](err); ok {
			e.connect = guarded.connect
		}
		return e
	}
	if lost(err) || unreached(err) || refusedAddress(err) != nil {
		return &unavailableError{server: server, reason: reasonOf(err)}
	}
	return nil
}

// redacted returns e without secrets, and e itself where it holds none.
func redacted(e *jsonrpc.Error, hide secret.Redactor) *jsonrpc.Error {
	message, data := hide.Redact(e.Message), redactedData(e.Data, hide)
	if message == e.Message && bytes.Equal(data, e.Data) {
		return e
	}
	return &jsonrpc.Error{Code: e.Code, Message: message, Data: data}
}

// jsonString is a string in valid JSON, where a quotation mark is nothing else.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// redactedData returns data without secrets, nil where they cannot be told from
// the rest. Strings are looked at as what they mean: JSON has many ways to write
// one. What is not changed stays as the server wrote it.
func redactedData(data json.RawMessage, hide secret.Redactor) json.RawMessage {
	if !json.Valid(data) {
		return nil
	}
	clean := jsonString.ReplaceAllFunc(data, func(quoted []byte) []byte {
		var text string
		if json.Unmarshal(quoted, &text) != nil {
			return []byte(`""`)
		}
		if shown := hide.Redact(text); shown != text {
			return []byte(quote(shown))
		}
		return quoted
	})
	// A secret may also be a number, or JSON itself.
	clean = []byte(hide.Redact(string(clean)))
	if !json.Valid(clean) {
		return nil
	}
	return clean
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

// reasonOf returns why a server cannot be used where that is for the user or the
// installation to change, empty where it is not.
func reasonOf(err error) string {
	if refused := refusedAddress(err); refused != nil {
		return refused.Error()
	}
	if login := loginFault(err); login != nil {
		return login.Error()
	}
	return refusedHops(err)
}

// refusedAddress returns why the bridge itself does not connect to the address,
// nil where that is not the reason.
func refusedAddress(err error) error {
	for _, reason := range []error{errNotPublic, errPlain, oauth.ErrPlain} {
		if errors.Is(err, reason) {
			return reason
		}
	}
	return nil
}

// describe returns the text of err without the address that was called: its
// query may hold a token, and where a server is does not concern its user. Nor
// has it secrets that the server repeats.
func describe(err error) string { return redactorOf(err).Redact(plainly(err)) }

func plainly(err error) string {
	var resolve *net.DNSError
	var op *net.OpError
	var target *url.Error
	var away *unavailableError
	switch {
	case errors.As(err, &away):
		return away.plainly()
	case refusedAddress(err) != nil:
		return refusedAddress(err).Error()
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

// errWhose answers a question that could be that of several clients' calls. The
// method exists, and for the code that says otherwise the SDK writes a text of
// its own.
func errWhose(method string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(
		"method %q is not supported while calls of several clients are in flight: it does not say which of them it is for", method)}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
)

// LoginRequired returns the error if only a new login can fix err, else nil.
func LoginRequired(err error) *oauth.Error {
	if e, ok := errors.AsType[*oauth.Error](err); ok && e.Login {
		return e
	}
	return nil
}

// ErrEnded says that a program ended without a reason.
var ErrEnded = errors.New("the program ended")

// ErrStale says that a server's secrets changed during a call with the previous secrets.
var ErrStale = errors.New("the server's secrets changed")

// Unavailable says that a server cannot be reached.
type Unavailable struct {
	Server string
	Reason string // empty before the first attempt to connect
	// LastLines are what the server's program wrote last, without secrets.
	LastLines []string
	// ConnectURL is the login page that fixes the error; empty if a login does not help or there
	// is no page.
	ConnectURL string
}

// linesForClients is how many of a program's last lines clients are told.
const linesForClients = 3

// Error implements error.
func (e *Unavailable) Error() string {
	if e.ConnectURL != "" {
		return e.plainly() + "; the user has to log in at " + e.ConnectURL
	}
	if n := len(e.LastLines); n > 0 {
		return fmt.Sprintf("%s; it wrote last: %q", e.plainly(), e.LastLines[max(0, n-linesForClients):])
	}
	return e.plainly()
}

// plainly returns the error's text without the login page, for readers that cannot use it.
func (e *Unavailable) plainly() string {
	if e.Reason != "" {
		return fmt.Sprintf("server %q is not available: %s", e.Server, e.Reason)
	}
	return fmt.Sprintf("server %q is not available", e.Server)
}

// Guarded is an error whose text may contain secrets that a server repeated.
type Guarded struct {
	Err  error
	Hide secret.Redactor
	// ConnectURL is the page on which the server's user logs in; empty if there is no page.
	ConnectURL string
	// Generation is the version of the secrets during the call, 0 if it is unknown.
	Generation uint64
}

// Error implements error.
func (e *Guarded) Error() string { return e.Hide.Redact(e.Err.Error()) }

// Unwrap serves errors.Is and errors.As. The texts of the inner errors are not redacted.
func (e *Guarded) Unwrap() error { return e.Err }

// redactorOf returns the redactor for the texts of err.
func redactorOf(err error) secret.Redactor {
	if guarded, ok := errors.AsType[*Guarded](err); ok {
		return guarded.Hide
	}
	return secret.Redactor{}
}

// ToRPC returns err as the client gets it: the server's own JSON-RPC error, or for every other
// error a sentence without addresses. Both are redacted, because a model reads them.
func ToRPC(err error, server string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return Cancelled(err)
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && rpc.Code != 0 {
		return redacted(rpc, redactorOf(err))
	}
	if starting, ok := errors.AsType[*Starting](err); ok {
		return starting.rpc()
	}
	details := map[string]any{"code": "upstream_error", "server": server}
	message := fmt.Sprintf("server %q failed: %s", server, Describe(err))
	if unavailable := AsUnavailable(err, server); unavailable != nil {
		details["code"], message = "upstream_unavailable", unavailable.Error()
		if unavailable.ConnectURL != "" {
			details["connectURL"] = unavailable.ConnectURL
		}
	}
	if refused, ok := errors.AsType[*Refused](err); ok {
		refused.describe(details)
	}
	return NewUpstream(message, details)
}

// errCancelled is the answer to a cancelled request, where it has an answer.
var errCancelled = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the request was cancelled"}

// Cancelled returns the error of a cancelled request with a code of JSON-RPC, and every other error
// as it is.
func Cancelled(err error) error {
	var rpc *jsonrpc.Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &rpc) && rpc.Code != 0 {
		return err
	}
	return &cancelled{err}
}

// cancelled is the error of a cancelled request, in words for the client.
type cancelled struct{ err error }

// Error implements error.
func (e *cancelled) Error() string { return errCancelled.Message }

// Unwrap serves errors.Is and errors.As.
func (e *cancelled) Unwrap() []error { return []error{e.err, errCancelled} }

// AsUnavailable returns the Unavailable error in err, nil if err has another cause.
func AsUnavailable(err error, server string) *Unavailable {
	if unavailable, ok := errors.AsType[*Unavailable](err); ok {
		return unavailable
	}
	if login := LoginRequired(err); login != nil {
		e := &Unavailable{Server: server, Reason: login.Error()}
		if guarded, ok := errors.AsType[*Guarded](err); ok {
			e.ConnectURL = guarded.ConnectURL
		}
		return e
	}
	if ConnectionLost(err) || unreached(err) || refusedAddress(err) != nil {
		return &Unavailable{Server: server, Reason: ReasonFor(err)}
	}
	return nil
}

// redacted returns e without secrets, or e itself if it contains none.
func redacted(e *jsonrpc.Error, hide secret.Redactor) *jsonrpc.Error {
	message, data := hide.Redact(e.Message), redactedData(e.Data, hide)
	if message == e.Message && bytes.Equal(data, e.Data) {
		return e
	}
	return &jsonrpc.Error{Code: e.Code, Message: message, Data: data}
}

// jsonString matches a string in valid JSON, where every quotation mark starts or ends a string.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// redactedData returns data without secrets, or nil if they cannot be separated from the rest.
// Strings are compared by their values, because JSON can escape a string in many ways. The other
// parts stay as the server wrote them.
func redactedData(data json.RawMessage, hide secret.Redactor) json.RawMessage {
	if !json.Valid(data) {
		return nil
	}
	clean := jsonString.ReplaceAllFunc(message.ToUTF8(data), func(quoted []byte) []byte {
		var text string
		if json.Unmarshal(quoted, &text) != nil {
			return []byte(`""`)
		}
		if shown := hide.Redact(text); shown != text {
			return []byte(message.Quote(shown))
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

// InvalidParams is the protocol's answer to an unknown name or URI.
func InvalidParams(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// IsMethodNotFound reports whether err says that the method does not exist.
func IsMethodNotFound(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeMethodNotFound
}

// ConnectionLost reports whether err means that the connection is unusable.
func ConnectionLost(err error) bool {
	return errors.Is(err, client.ErrSessionMissing) || errors.Is(err, client.ErrClosed)
}

// unreached reports whether err occurred before there was a connection.
func unreached(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// ReasonFor returns why a server cannot be used, if the user or an administrator can fix it; else
// an empty string.
func ReasonFor(err error) string {
	if refused := refusedAddress(err); refused != nil {
		return refused.Error()
	}
	if login := LoginRequired(err); login != nil {
		return login.Error()
	}
	if much, ok := errors.AsType[*TooMuch](err); ok {
		return much.Text
	}
	return RefusedHops(err)
}

// LastLines returns what a program that failed wrote last, without secrets.
func LastLines(err error) []string {
	ended, ok := errors.AsType[*stdio.ProgramError](err)
	if !ok {
		return nil
	}
	var lines []string
	for _, line := range ended.Said {
		lines = append(lines, redactorOf(err).Redact(line))
	}
	return lines
}

// IsFinal reports whether another attempt is likely to fail as this one.
func IsFinal(err error) bool {
	ended, ok := errors.AsType[*stdio.ProgramError](err)
	return ok && ended.Unstarted
}

// MissesPackage reports whether the registry lacks the package that a program was to fetch.
func MissesPackage(err error) bool {
	ended, ok := errors.AsType[*stdio.ProgramError](err)
	return ok && ended.Missing
}

// Classify returns the reason of the error in a health report.
func Classify(err error) string {
	switch {
	case RefusesCredentials(err):
		return health.ReasonCredentialsRefused
	case LoginRequired(err) != nil:
		return health.ReasonLoginRequired
	case refusedAddress(err) != nil:
		return health.ReasonAddressRefused
	case errors.Is(err, context.DeadlineExceeded):
		return health.ReasonTimedOut
	case errors.Is(err, syscall.ECONNREFUSED):
		return health.ReasonConnectionRefused
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return health.ReasonNameNotResolved
	}
	if _, ok := errors.AsType[*stdio.ProgramError](err); ok && !MissesPackage(err) {
		return health.ReasonProgramEnded
	} else if ok {
		return health.ReasonPackageNotFound
	}
	return health.ReasonFailed
}

// RefusesCredentials reports whether err is the HTTP status 401 or 403 of a server.
func RefusesCredentials(err error) bool {
	if err == nil || LoginRequired(err) != nil {
		return false
	}
	refused, ok := errors.AsType[*client.StatusError](err)
	return ok && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden) && refused.Said == nil
}

// refusedAddress returns why the bridge refused to connect to the address, or nil if the cause is
// another.
func refusedAddress(err error) error {
	for _, reason := range []error{egress.ErrNotPublic, egress.ErrPlain, oauth.ErrPlain} {
		if errors.Is(err, reason) {
			return reason
		}
	}
	return nil
}

// Describe returns the text of err without the server's address and without secrets: the query of
// the address may hold a token, and the server may repeat secrets.
func Describe(err error) string {
	if starting, ok := errors.AsType[*Starting](err); ok {
		return redactorOf(err).Redact(starting.Error())
	}
	if refused, ok := errors.AsType[*Refused](err); ok {
		return redactorOf(err).Redact(refused.Error())
	}
	return redactorOf(err).Redact(textOf(err))
}

func textOf(err error) string {
	var resolve *net.DNSError
	var op *net.OpError
	var target *url.Error
	var away *Unavailable
	switch {
	case errors.As(err, &away):
		return away.plainly()
	case refusedAddress(err) != nil:
		return refusedAddress(err).Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the server did not answer in time"
	case errors.As(err, &resolve):
		return "the server's name could not be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the server's address refuses connections"
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

// MethodNotFound is the answer to a method that does not exist.
func MethodNotFound(method string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not supported", method)}
}

// NewAmbiguousClient answers a server's question that may belong to the calls of several clients.
// It does not use the code for an unknown method, since the method exists.
func NewAmbiguousClient(method string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(
		"method %q is not supported while calls of several clients are in flight: it does not say which of them it is for", method)}
}

// TooManyQuestions answers a question of a server of which many wait for clients already.
func TooManyQuestions(most int) error {
	return &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("%d questions of this server wait for answers already", most),
		Data: json.RawMessage(`{"code":"too_many_questions"}`),
	}
}

// NewHops refuses a request because of the bridges it has passed.
func NewHops(code, message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: message, Data: jsondoc.EncodeExact(map[string]string{"code": code})}
}

// RefusedHops returns the message of err if this bridge or a bridge behind it refused the request
// because of its hops, else an empty string.
func RefusedHops(err error) string {
	var rpc *jsonrpc.Error
	var data struct {
		Code string `json:"code"`
	}
	if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidRequest || json.Unmarshal(rpc.Data, &data) != nil {
		return ""
	}
	switch data.Code {
	case "bridge_loop", "too_many_bridges", "bridge_hops_invalid":
		return rpc.Message
	}
	return ""
}

// NewState tells a client that its answer to a question is not accepted.
func NewState(code, message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message, Data: jsondoc.EncodeExact(map[string]string{"code": code})}
}

// Unanswered is the error of a call without an answer from the server.
type Unanswered struct{ Err error }

// Error implements error.
func (e *Unanswered) Error() string { return e.Err.Error() }

// Unwrap serves errors.Is and errors.As.
func (e *Unanswered) Unwrap() error { return e.Err }

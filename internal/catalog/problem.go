// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// Problem is one reason why the catalog refuses a recipe.
type Problem struct {
	// Field is where, such as transports[0].url; empty for the whole recipe.
	Field   string `json:"field"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// String returns the problem as one line.
func (p Problem) String() string {
	return jsondoc.Problem{Path: p.Field, Message: p.Message}.String()
}

// Code is the kind of a problem, for programs. It is stable.
type Code string

// The codes.
const (
	// CodeSyntax means that the document is not a JSON object, or is too long.
	CodeSyntax Code = "syntax"
	// CodeUnknownField is a member that the format does not have.
	CodeUnknownField Code = "unknown_field"
	// CodeInvalid is a value that the format does not allow.
	CodeInvalid Code = "invalid"
	// CodeName is an id that differs from the name of the recipe's resource.
	CodeName Code = "name_mismatch"
	// CodeUnpinned is a reference that may resolve to another program tomorrow.
	CodeUnpinned Code = "unpinned"
	// CodeDrift means that a command runs another program than install says.
	CodeDrift Code = "drift"
	// CodeHook is a command that an installer would run.
	CodeHook Code = "shell_hook"
	// CodeShell is a server that is started by way of a shell.
	CodeShell Code = "shell"
	// CodeSecret is a credential where a variable belongs.
	CodeSecret Code = "secret_value"
	// CodePlainHTTP is a remote server without TLS.
	CodePlainHTTP Code = "plain_http"
	// CodeSignature means that the signature is not one of the publisher over
	// this recipe; CodeUnknownKey that the publisher has no public key to
	// verify it with.
	CodeSignature  Code = "signature_invalid"
	CodeUnknownKey Code = "signature_unknown_key"
	// CodeVersion means that the version is not higher than the one before, or
	// is missing although that one had one; CodeReplay that the signature is
	// older.
	CodeVersion Code = "version_not_newer"
	CodeReplay  Code = "replayed"
	// CodeTaken means that the name of a new recipe is not free.
	CodeTaken Code = "name_taken"
	// CodeWarning is an oddity for which alone no recipe is refused.
	CodeWarning Code = "warning"
)

const (
	// MaxProblems is how many problems a message names.
	MaxProblems = 10
	// MaxMessage is how long a message may be, in bytes.
	MaxMessage = 4096
)

// MessageOf returns the problems as the message of a condition.
func MessageOf(found []Problem) string {
	lines := make([]string, 0, MaxProblems+1)
	for i, p := range found {
		if i == MaxProblems {
			lines = append(lines, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		lines = append(lines, p.String())
	}
	message := strings.Join(lines, "; ")
	if len(message) > MaxMessage {
		return strings.ToValidUTF8(message[:MaxMessage], "") + "…"
	}
	return message
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// ErrFractionalID refuses a request whose id is a number with a fraction.
var ErrFractionalID = &jsonrpc.Error{
	Code: jsonrpc.CodeInvalidRequest, Message: "the request's id is a number with a fraction: use an integer or a text",
}

// IsFraction reports whether an id, as it was sent, is a number with a fraction. 1.0 has none.
func IsFraction(id json.RawMessage) bool {
	if len(id) == 0 || id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return false
	}
	if bytes.ContainsAny(id, "eE") {
		f, err := strconv.ParseFloat(string(id), 64)
		return err != nil || f != math.Trunc(f)
	}
	_, fraction, _ := bytes.Cut(id, []byte("."))
	return len(bytes.Trim(fraction, "0")) > 0
}

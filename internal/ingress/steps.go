// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// steps are what one step of a request leaves for those after it. They belong to
// the request's goroutine. What the access log may say is in the record.
type steps struct {
	principal principal
	// authenticated says that principal was let in. Where it is not and there is
	// a principal, that one asked for what is another's, or nobody's.
	authenticated bool
	// account is whose quota it is counted against, once findAccount found it.
	account account
	// body was read, or could not be, when bodyRead is set.
	body     []byte
	bodyRead bool
	// messages are those of body, once they were asked for.
	messages []rpcMessage
	parsed   bool
	// overlong says that body is a batch of more than maxBatch members, of which
	// messages has the first ones.
	overlong bool
	// plain says that no reader of body finds other messages.
	plain bool
	// trail makes the audit entries, from when there may be some.
	trail *trail
	// caller is what they share, once there is one.
	caller      audit.Entry
	callerKnown bool
}

// stepsOf returns what the steps of a request have left.
func stepsOf(c *gin.Context) *steps { return &recordOf(c.Request.Context()).call.steps }

// served is what a request needs from its beginning to its end, in one piece.
type served struct {
	call   openCall
	record record
	ctx    recordContext
}

// recordContext is a context that knows the request's record.
type recordContext struct {
	context.Context
	record *record
}

type recordKey struct{}

// Value implements context.Context.
func (c *recordContext) Value(key any) any {
	if key == (recordKey{}) {
		return c.record
	}
	return c.Context.Value(key)
}

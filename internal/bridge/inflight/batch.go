// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

// between separates the messages of a batch in a stream of events.
const between = "\n\ndata: "

// observeText is observe for a text that may be a batch, which becomes the data of several events.
// version is that of the protocol on this connection, empty if it is not known.
func (t *HTTPObserver) observeText(ctx context.Context, sent []byte, version string, x *Call, id json.RawMessage) []byte {
	each, ok := message.BatchOf(sent)
	if !ok {
		return t.observe(ctx, sent, x, id)
	}
	if fault := batchFault(each, version); fault != "" {
		return message.InvalidAnswerTo(id, fault)
	}
	var seen [][]byte
	for _, one := range each {
		if text := t.observe(ctx, one, x, id); text != nil {
			seen = append(seen, text)
		}
	}
	if len(seen) == 0 {
		return nil
	}
	return bytes.Join(seen, []byte(between))
}

// batchFault returns what is wrong with a batch, empty for nothing. One message in an array is read
// in each version: servers that were made for batches send it so.
func batchFault(each []json.RawMessage, version string) string {
	if len(each) == 0 {
		return "it is an empty array"
	}
	for _, one := range each {
		if _, ok := message.ReadIncoming(one); !ok {
			return "it is an array with a member that is no object"
		}
	}
	if len(each) > 1 && version != "" && version != message.BatchVersion {
		return fmt.Sprintf("it is an array of %d messages, which version %s of the protocol does not have: send each by itself", len(each), version)
	}
	return ""
}

// hasAnswer reports whether one of the messages can be the answer to a request.
func hasAnswer(each []json.RawMessage) bool {
	for _, one := range each {
		if m, ok := message.ReadIncoming(one); ok && !m.Request {
			return true
		}
	}
	return false
}

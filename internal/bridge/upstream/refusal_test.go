// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
)

// TestTheWordsOfARefusalAreBoundedAndWithoutSecrets also where a secret stands where the text is cut.
func TestTheWordsOfARefusalAreBoundedAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	const canary = `c4n4ry-"t0ken"`
	hide := secret.NewSet("1", map[string][]byte{"TOKEN": []byte(canary)}, nil).Grant([]string{"TOKEN"}).Redactor()
	for name, tt := range map[string]struct {
		refused client.StatusError
		want    string
	}{
		"a secret":                       {client.StatusError{Status: 429, Words: "no more for " + canary}, `429 Too Many Requests and says "no more for [redacted]"`},
		"a secret where the text is cut": {client.StatusError{Status: 429, Words: strings.Repeat("a", 495) + canary + " b"}, `429 Too Many Requests and says "` + strings.Repeat("a", 495) + `[reda"…`},
		"a long text":                    {client.StatusError{Status: 500, Words: strings.Repeat("ä", 30_000)}, `500 Internal Server Error and says "` + strings.Repeat("ä", 500) + `"…`},
		"several lines":                  {client.StatusError{Status: 500, Words: "a\nb"}, `500 Internal Server Error and says "a\nb"`},
		"a time":                         {client.StatusError{Status: 429, Words: "no", RetryAfter: 30 * time.Second}, `429 Too Many Requests and says "no": try again in 30 s`},
		"no words":                       {client.StatusError{Status: 502}, `502 Bad Gateway`},
	} {
		if got := explain(&tt.refused, hide).Error(); got != "it answered HTTP "+tt.want {
			t.Errorf("%s: error = %s, want %s", name, got, tt.want)
		}
	}
	answer := &client.StatusError{Status: 400, Said: &jsonrpc.Error{Code: -32602, Message: "no"}}
	if got := explain(answer, hide); !errors.Is(got, answer) || errors.As(got, new(*fault.Refused)) {
		t.Errorf("an answer with a status is explained: %v", got)
	}
}

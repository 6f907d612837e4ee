// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// headed returns a tool whose arguments are repeated in headers. more are properties of its own.
func headed(more string) json.RawMessage {
	return json.RawMessage(`{"inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},` +
		`"in":{"type":"object","properties":{"size":{"type":"integer","x-mcp-header":"Size"}}}` + more + `}}}`)
}

// TestHeadersRepeatArguments compares headers with the arguments {"region":…,"in":{"size":…}}, and those
// that fit with what the bridge itself would write.
func TestHeadersRepeatArguments(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ region, size, headers, want string }{
		"as they are":                   {`"eu"`, `3`, "Region: eu, Size: 3", ""},
		"a text that no header has":     {`"köln"`, `null`, "Region: =?base64?a8O2bG4=?=", ""},
		"a text that ends with a space": {`"eu "`, `null`, "Region: =?base64?ZXUg?=", ""},
		"a text that looks like Base64": {`"=?base64?x?="`, `null`, "Region: =?base64?PT9iYXNlNjQ/eD89?=", ""},
		"none for nothing":              {`null`, `null`, "", ""},
		"Base64 without need":           {`"eu"`, `null`, "Region: =?base64?ZXU=?=", "other form"},
		"a number in another form":      {`null`, `3`, "Size: 3.0", "other form"},
		"invalid Base64":                {`"eu"`, `null`, "Region: =?base64?ZX?=", "Mcp-Param-Region header contains invalid Base64 encoding"},
		"one that is missing":           {`"eu"`, `3`, "Region: eu", `missing Mcp-Param-Size header for parameter "in.size"`},
		"another text":                  {`"eu"`, `3`, "Region: us, Size: 3", "Mcp-Param-Region header value 'us' does not match body value"},
		"another number":                {`"eu"`, `3`, "Region: eu, Size: 4", "Mcp-Param-Size header value '4' does not match body value"},
		"no number":                     {`null`, `3`, "Size: x", "Mcp-Param-Size header value 'x' does not match body value"},
		"a number that readers round":   {`null`, `9007199254740993`, "Size: 9007199254740993", `Mcp-Param-Size header present but body parameter "in.size" is not a primitive type`},
		"one for nothing":               {`null`, `3`, "Region: eu, Size: 3", `unexpected Mcp-Param-Region header for absent or null parameter "region"`},
		"one for an object":             {`{}`, `null`, "Region: eu", `Mcp-Param-Region header present but body parameter "region" is not a primitive type`},
	} {
		arguments := json.RawMessage(fmt.Sprintf(`{"region":%s,"in":{"size":%s}}`, tt.region, tt.size))
		sent, header := map[string]string{}, http.Header{"Mcp-Param-Other": {"x"}}
		for text := range strings.SplitSeq(tt.headers, ", ") {
			if key, value, ok := strings.Cut(text, ": "); ok {
				sent["Mcp-Param-"+key] = value
				header.Set("Mcp-Param-"+key, value)
			}
		}
		err := CompareParamHeaders(headed(""), arguments, header)
		if failed := tt.want != "" && tt.want != "other form"; failed != (err != nil) || failed && err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		if written := HeadersOfCall(headed(""), arguments); tt.want == "" && !maps.Equal(written, sent) {
			t.Errorf("%s: the bridge writes %v", name, written)
		}
		if len(ParamHeaders(header)) != len(header) || ParamHeaders(http.Header{"Accept": {"*/*"}}) != nil {
			t.Errorf("%s: of %v these repeat arguments: %v", name, header, ParamHeaders(header))
		}
	}
}

// TestASchemaThatTheProtocolForbidsHasNoHeaders neither in calls of the bridge nor in those of clients.
func TestASchemaThatTheProtocolForbidsHasNoHeaders(t *testing.T) {
	t.Parallel()
	arguments := json.RawMessage(`{"region":"eu","more":"x"}`)
	for more, allowed := range map[string]bool{
		``: true, `,"more":{"type":"string","x-mcp-header":"More"}`: true,
		`,"more":{"type":"string","x-mcp-header":"REGION"}`: false, `,"more":{"type":"string","x-mcp-header":"a b"}`: false, `,"more":{"type":"string","x-mcp-header":7}`: false,
		`,"more":{"type":"number","x-mcp-header":"More"}`: false, `,"more":{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"A"}}}`: false, `,"more":7`: false,
	} {
		written, err := HeadersOfCall(headed(more), arguments), CompareParamHeaders(headed(more), arguments, http.Header{})
		if (len(written) > 0) != allowed || (err != nil) != allowed {
			t.Errorf("with %s: the bridge writes %v, and clients must not leave them out: %v", more, written, err)
		}
	}
}

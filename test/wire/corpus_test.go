// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// exchange is one request of the corpus.
type exchange struct {
	name, method string
	header       map[string]string
	body         string
	lines        int // to read of the answer, 0 for all
}

const (
	legacy  = "2025-11-25"
	current = "2026-07-28"
)

// corpus returns the requests of both eras. Names of tools and prompts have the
// prefix.
func corpus(prefix string) []exchange {
	return append(legacyCorpus(prefix), currentCorpus(prefix)...)
}

func with(header map[string]string, more ...string) map[string]string {
	header = maps.Clone(header)
	for i := 0; i < len(more); i += 2 {
		if header[more[i]] = more[i+1]; more[i+1] == "" {
			delete(header, more[i])
		}
	}
	return header
}

func rpc(id any, method, params string) string {
	if params == "" {
		params = "{}"
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":%s}`, id, method, params)
}

var both = map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

func legacyCorpus(prefix string) []exchange {
	const initialize = `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"sampling":{},"roots":{"listChanged":true}},"clientInfo":{"name":"wire","version":"1"}}`
	session := with(both, "Mcp-Session-Id", "<session>", "Mcp-Protocol-Version", legacy)
	post := func(name string, header map[string]string, body string) exchange {
		return exchange{name: "legacy: " + name, method: http.MethodPost, header: header, body: body}
	}
	call := func(tool, arguments string) exchange {
		return post("call of "+tool, session, rpc(`"a"`, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":{"progressToken":7}}`, prefix+tool, arguments)))
	}
	return []exchange{
		post("initialize of an old version", both, rpc(1, "initialize", strings.Replace(initialize, legacy, "2024-11-05", 1))),
		post("initialize of an unknown version", both, rpc(1, "initialize", strings.Replace(initialize, legacy, "1999-01-01", 1))),
		post("initialize without params", both, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`),
		post("initialize", both, rpc(1, "initialize", initialize)),
		post("initialized", session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`),
		post("ping", session, rpc(2, "ping", "")),
		post("an id that is a text", session, rpc(`"two"`, "ping", "")),
		post("an id that is null", session, rpc("null", "ping", "")),
		post("list of tools", session, rpc(3, "tools/list", "")),
		post("list of tools by a wrong cursor", session, rpc(3, "tools/list", `{"cursor":"nowhere"}`)),
		post("list of prompts", session, rpc(4, "prompts/list", "")),
		post("list of resources", session, rpc(5, "resources/list", "")),
		post("list of templates", session, rpc(6, "resources/templates/list", "")),
		call("test_simple_text", "{}"),
		call("test_image_content", "{}"),
		call("test_multiple_content_types", "{}"),
		call("test_tool_with_progress", "{}"),
		call("test_tool_with_logging", "{}"),
		call("test_error_handling", "{}"),
		call("no_such_tool", "{}"),
		call("json_schema_2020_12_tool", `{"name":1}`),
		post("a call without a name", session, rpc(7, "tools/call", `{"arguments":{}}`)),
		post("prompt", session, rpc(8, "prompts/get", fmt.Sprintf(`{"name":%q,"arguments":{"arg1":"x","arg2":"y"}}`, prefix+"test_prompt_with_arguments"))),
		post("prompt that is not there", session, rpc(8, "prompts/get", `{"name":"none"}`)),
		post("resource", session, rpc(9, "resources/read", `{"uri":"test://static-text"}`)),
		post("resource that is not there", session, rpc(9, "resources/read", `{"uri":"test://none"}`)),
		post("level of logging", session, rpc(10, "logging/setLevel", `{"level":"error"}`)),
		post("wrong level of logging", session, rpc(10, "logging/setLevel", `{"level":"loud"}`)),
		post("completion", session, rpc(11, "completion/complete", fmt.Sprintf(`{"ref":{"type":"ref/prompt","name":%q},"argument":{"name":"arg1","value":"p"}}`, prefix+"test_prompt_with_arguments"))),
		post("unknown method", session, rpc(12, "no/such", "")),
		post("unknown notification", session, `{"jsonrpc":"2.0","method":"notifications/none"}`),
		post("cancellation of nothing", session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`),
		post("an answer to nothing", session, `{"jsonrpc":"2.0","id":99,"result":{}}`),
		post("no JSON", session, `{"jsonrpc":`),
		post("nothing", session, ""),
		post("a batch", session, "["+rpc(13, "ping", "")+"]"),
		post("a wrong version of JSON-RPC", session, `{"jsonrpc":"1.0","id":1,"method":"ping"}`),
		post("an unknown version in the header", with(session, "Mcp-Protocol-Version", "1999-01-01"), rpc(14, "ping", "")),
		post("no version in the header", with(session, "Mcp-Protocol-Version", ""), rpc(14, "ping", "")),
		post("no Accept", with(session, "Accept", ""), rpc(14, "ping", "")),
		post("Accept of JSON alone", with(session, "Accept", "application/json"), rpc(14, "ping", "")),
		post("another Content-Type", with(session, "Content-Type", "text/plain"), rpc(14, "ping", "")),
		post("a foreign Origin", with(session, "Origin", "https://elsewhere.example.com"), rpc(14, "ping", "")),
		post("an unknown session", with(session, "Mcp-Session-Id", "nothing"), rpc(14, "ping", "")),
		{name: "legacy: put", method: http.MethodPut, header: session},
		{name: "legacy: stream that accepts JSON alone", method: http.MethodGet, header: with(session, "Accept", "application/json")},
		{name: "legacy: end of the session", method: http.MethodDelete, header: session},
		post("ping after the end", session, rpc(15, "ping", "")),
		{name: "legacy: end of no session", method: http.MethodDelete, header: with(session, "Mcp-Session-Id", "")},
	}
}

func currentCorpus(prefix string) []exchange {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"wire","version":"1"},"io.modelcontextprotocol/clientCapabilities":{%s}}`
	plain := fmt.Sprintf(meta, "")
	request := func(name, method, target string, header []string, body string) exchange {
		h := with(both, "Mcp-Protocol-Version", current, "Mcp-Method", method)
		if target != "" {
			h["Mcp-Name"] = target
		}
		return exchange{name: "current: " + name, method: http.MethodPost, header: with(h, header...), body: body}
	}
	post := func(name, method, params string, header ...string) exchange {
		if params != "" {
			params += ","
		}
		return request(name, method, "", header, rpc(1, method, "{"+params+plain+"}"))
	}
	call := func(tool, arguments string, header ...string) exchange {
		name := prefix + tool
		return request("call of "+tool, "tools/call", name, header, rpc(`"a"`, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,%s}`, name, arguments, plain)))
	}
	asking := func(tool, capabilities string) exchange {
		name := prefix + tool
		return request("call of "+tool+" by a client that can "+capabilities, "tools/call", name, nil,
			rpc(2, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{},%s}`, name, fmt.Sprintf(meta, fmt.Sprintf("%q:{}", capabilities)))))
	}
	listen := post("listening", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
	listen.lines = 2
	return []exchange{
		post("discovery", "server/discover", ""),
		post("list of tools", "tools/list", ""),
		post("list of tools by a wrong cursor", "tools/list", `"cursor":"nowhere"`),
		post("list of prompts", "prompts/list", ""),
		post("list of resources", "resources/list", ""),
		post("list of templates", "resources/templates/list", ""),
		call("test_simple_text", "{}"),
		call("test_image_content", "{}"),
		call("test_tool_with_progress", "{}"),
		call("test_tool_with_logging", "{}"),
		call("test_error_handling", "{}"),
		call("no_such_tool", "{}"),
		call("test_x_mcp_header", "{}"),
		call("test_missing_capability", "{}"),
		asking("test_elicitation", "elicitation"),
		asking("test_input_required_result_elicitation", "elicitation"),
		asking("test_input_required_result_sampling", "sampling"),
		call("test_simple_text", "{}", "Mcp-Name", "other"),
		call("test_simple_text", "{}", "Mcp-Name", ""),
		call("test_simple_text", "{}", "Mcp-Method", "tools/list"),
		call("test_simple_text", "{}", "Mcp-Method", ""),
		call("test_simple_text", "{}", "Mcp-Session-Id", "nothing"),
		call("test_simple_text", "{}", "Accept", "application/json"),
		call("test_simple_text", "{}", "Accept", ""),
		call("test_simple_text", "{}", "Content-Type", "text/plain"),
		call("test_simple_text", "{}", "Mcp-Protocol-Version", "2099-01-01"),
		call("test_simple_text", "{}", "Mcp-Protocol-Version", legacy),
		call("test_simple_text", "{}", "Mcp-Protocol-Version", ""),
		call("test_simple_text", "{}", "Last-Event-Id", "x"),
		call("test_simple_text", "{}", "Origin", "https://elsewhere.example.com"),
		request("prompt", "prompts/get", prefix+"test_prompt_with_arguments", nil,
			rpc(8, "prompts/get", fmt.Sprintf(`{"name":%q,"arguments":{"arg1":"x","arg2":"y"},%s}`, prefix+"test_prompt_with_arguments", plain))),
		request("resource", "resources/read", "test://static-text", nil, rpc(9, "resources/read", `{"uri":"test://static-text",`+plain+`}`)),
		request("resource that is not there", "resources/read", "test://none", nil, rpc(9, "resources/read", `{"uri":"test://none",`+plain+`}`)),
		request("call without a name", "tools/call", "", nil, rpc(9, "tools/call", `{`+plain+`}`)),
		request("call without _meta", "tools/call", prefix+"test_simple_text", nil, rpc(9, "tools/call", fmt.Sprintf(`{"name":%q}`, prefix+"test_simple_text"))),
		post("unknown method", "no/such", ""),
		post("ping", "ping", ""),
		post("initialize", "initialize", ""),
		request("unknown notification", "notifications/none", "", nil, `{"jsonrpc":"2.0","method":"notifications/none","params":{`+plain+`}}`),
		request("cancellation", "notifications/cancelled", "", nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,`+plain+`}}`),
		request("an answer to nothing", "", "", nil, `{"jsonrpc":"2.0","id":99,"result":{}}`),
		request("no JSON", "tools/list", "", nil, `{"jsonrpc":`),
		request("nothing", "tools/list", "", nil, ""),
		request("a batch", "tools/list", "", nil, "["+rpc(1, "tools/list", "{"+plain+"}")+"]"),
		request("a wrong version of JSON-RPC", "tools/list", "", nil, `{"jsonrpc":"1.0","id":1,"method":"tools/list","params":{`+plain+`}}`),
		request("an id that is null", "tools/list", "", nil, rpc("null", "tools/list", "{"+plain+"}")),
		request("a member twice", "tools/list", "", nil, `{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list","params":{`+plain+`}}`),
		request("an unknown version in _meta", "tools/list", "", []string{"Mcp-Protocol-Version", "2099-01-01"}, rpc(1, "tools/list", "{"+strings.Replace(plain, current, "2099-01-01", 1)+"}")),
		{name: "current: stream", method: http.MethodGet, header: with(both, "Mcp-Protocol-Version", current)},
		{name: "current: end", method: http.MethodDelete, header: with(both, "Mcp-Protocol-Version", current)},
		listen,
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// pages is how many pages of a list the bridge reads.
const pages = 100

// listRows are servers whose connection begins well.
func listRows() []Row {
	list := func(name, does string, tools int, answer func(*Exchange)) Row {
		return Row{Name: name, Kind: List, Does: does, Sees: Sees{Tools: tools}, Serve: answer,
			Meets: func(x *Exchange) bool { return x.Method == "tools/list" }}
	}
	result := func(tools string) func(*Exchange) {
		return func(x *Exchange) {
			x.result(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":` + tools + `}`)
		}
	}
	plain := tool(quote(Plain))
	rows := []Row{
		list("100000-tools", "lists 100,000 tools", 0, func(x *Exchange) {
			x.json(`{"jsonrpc":"2.0","id":<id>,"result":{"resultType":"complete","tools":[`)
			for i := range 100_000 {
				x.many(tool(quote("tool-"+strconv.Itoa(i)))+",", 1)
			}
			x.send(plain + `]}}`)
		}),
		list("30-mb-tool", "lists a tool whose description has 30 MB", 0, func(x *Exchange) {
			x.json(`{"jsonrpc":"2.0","id":<id>,"result":{"resultType":"complete","tools":[{"name":"plain","inputSchema":{},"description":"`)
			x.many(xs, 30)
			x.send(`"}]}}`)
		}),
		list("endless-cursor", "has always one more page", pages, func(x *Exchange) {
			n, _ := strconv.Atoi(x.Params.Cursor) // The first page has no cursor.
			name := Plain
			if n > 0 {
				name += "-" + x.Params.Cursor
			}
			x.result(toolList([]string{name}, strconv.Itoa(n+1)))
		}),
		list("same-cursor", "has always the same next page", 0, func(x *Exchange) { x.result(toolList([]string{Plain}, "again")) }),
		list("odd-names", "lists tools with odd names", 7, result(`[`+plain+`,`+strings.Join([]string{
			tool(`"a\u0000b\u001b[31m"`), tool(`"\u202egnol"`), tool(`"pl\u0430in"`), tool(`"__proto__"`), tool(`"plain"`), tool(quote(xs[:10_000])),
			tool(`""`), tool(`null`), tool(`5`), tool(`{}`), `5`, `null`, `[]`,
		}, ",")+`]`)),
		list("deep-schema", "lists a tool whose schema is 10,000 levels deep", 0, result(`[`+plain+`,{"name":"deep","inputSchema":`+deep+`}]`)),
		list("odd-schemas", "lists tools with schemas that are none", 4, result(`[`+plain+`,{"name":"none"},{"name":"text","inputSchema":"x"},`+
			`{"name":"loop","inputSchema":{"type":"object","$ref":"#"}}]`)),
		list("no-list", "answers the list with a number", 0, result(`5`)),
		{Name: "list-never", Kind: List, Does: "never answers the list", Sees: nothing, Serve: (*Exchange).wait,
			Meets: func(x *Exchange) bool { return x.Method == "tools/list" }},
		list("list-500", "answers the list with status 500", 0, refuse),
	}
	for i := range rows {
		rows[i].Alone = true
	}
	return append(rows, changeRows()...)
}

// changeRows are servers that say things where the bridge listens for changes.
func changeRows() []Row {
	changes := func(name, does string, answer func(*Exchange)) Row {
		return Row{Name: name, Kind: List, Does: does, Sees: Sees{Tools: 1}, Alone: true, Serve: answer, Meets: (*Exchange).listens}
	}
	return []Row{
		changes("changes", "says without end that its lists changed", func(x *Exchange) {
			x.listen()
			for i := 0; i < 100_000 && x.Request.Context().Err() == nil; i += 1000 {
				x.flood(1000, changed)
			}
			x.wait()
		}),
		changes("listen-comments", "sends comments where the bridge listens", func(x *Exchange) {
			x.stream()
			x.many(": "+xs[:1000]+"\n\n", 100_000)
			x.wait()
		}),
		changes("listen-line", "sends a line of 50 MB where the bridge listens", func(x *Exchange) {
			x.stream()
			x.send("data: ")
			x.many(xs, 50)
			x.wait()
		}),
		changes("listen-ends", "ends at once where the bridge listens", func(x *Exchange) { x.stream() }),
		changes("listen-500", "answers with status 500 where the bridge listens", refuse),
	}
}

// openingRows are servers with which no connection comes about, or a strange one.
func openingRows() []Row {
	opening := func(name, does string, tools int, answer func(*Exchange)) Row {
		return Row{Name: name, Kind: Opening, Does: does, Sees: Sees{Tools: tools}, Serve: answer, Meets: (*Exchange).opens}
	}
	rows := []Row{
		{Name: "open-never", Kind: Opening, Does: "never answers the first request", Sees: nothing, Serve: (*Exchange).wait,
			Meets: (*Exchange).opens},
		opening("open-close", "closes the connection at the first request", 0, func(x *Exchange) { x.raw() }),
		opening("open-not-http", "is no HTTP server", 0, func(x *Exchange) { x.raw("220 mail.example.com ESMTP\r\n") }),
		opening("open-html", "answers the first request with a page", 0, func(x *Exchange) { x.typed("text/html", "<html>") }),
		opening("open-401", "answers the first request with status 401", 0, func(x *Exchange) {
			x.Header().Set("WWW-Authenticate", `Bearer resource_metadata="http://169.254.169.254/"`)
			x.WriteHeader(http.StatusUnauthorized)
		}),
		opening("open-500", "answers the first request with status 500", 0, refuse),
		opening("open-redirect", "redirects the first request", 0, func(x *Exchange) {
			http.Redirect(x, x.Request, x.server.Elsewhere, http.StatusTemporaryRedirect)
		}),
		opening("open-version", "speaks a version that does not exist", 0, func(x *Exchange) {
			x.result(strings.NewReplacer(Legacy, "1999-01-01", Modern, "1999-01-01").Replace(x.introduction(`{"tools":{}}`)))
		}),
		opening("open-empty", "introduces itself with nothing", 0, func(x *Exchange) { x.result(`{}`) }),
		opening("open-25-mb", "introduces itself with a name of 25 MB", 0, func(x *Exchange) {
			x.json(`{"jsonrpc":"2.0","id":<id>,"result":` + strings.TrimSuffix(x.introduction(`{"tools":{}}`), "}") + `,"instructions":"`)
			x.many(xs, 25)
			x.send(`"}}`)
		}),
		opening("open-deep", "introduces itself with JSON 10,000 levels deep", 0, func(x *Exchange) {
			x.result(x.introduction(`{"tools":{},"experimental":` + strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000) + `}`))
		}),
		opening("open-session", "names its session with 10 kB", 1, func(x *Exchange) {
			x.Header().Set("Mcp-Session-Id", xs[:10_000])
			x.result(x.introduction(`{"tools":{}}`))
		}),
		{Name: "open-lost", Kind: Opening, Does: "loses each session at once", Meets: func(x *Exchange) bool { return !x.opens() },
			Serve: func(x *Exchange) { x.WriteHeader(http.StatusNotFound) }},
	}
	for i := range rows {
		rows[i].Alone = true
	}
	return rows
}

// refuse answers with a status.
func refuse(x *Exchange) { x.WriteHeader(http.StatusInternalServerError) }

// URL returns where a server is, below the URL of the program: that of the row, or that
// of all rows that are calls.
func URL(base, era string, row Row) string {
	if row.Serve == nil {
		return base + era
	}
	return fmt.Sprintf("%s%s/%s", base, era, row.Name)
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

const (
	mega = 1 << 20
	// tooLarge is in the error of an answer that is larger than the bridge takes.
	tooLarge = "larger than 16 MiB"
	// huge is the size of answers that are too large.
	huge = 100 * mega
	// begun is the beginning of an answer whose text goes on.
	begun = `{"jsonrpc":"2.0","id":<id>,"result":{"content":[{"type":"text","text":"`
	// ended is its end.
	ended = `"}],"resultType":"complete"}}`
	// good is an answer.
	good = `{"jsonrpc":"2.0","id":<id>,"result":<ok>}`
)

// xs is what large answers are made of.
var xs = strings.Repeat("x", mega)

// What clients see of most rows.
var (
	nothing = Sees{Nothing: true}
	failed  = Sees{Error: "failed"}
	whole   = Sees{Result: here}
	// invalid is an answer that is not JSON-RPC, or is not to the request.
	invalid = Sees{Error: "not a valid JSON-RPC answer"}
)

// row returns a row that answers calls.
func row(k Kind, name, does string, sees Sees, call func(*Exchange)) Row {
	return Row{Name: name, Kind: k, Does: does, Sees: sees, Call: call}
}

// alone gives the row a bridge of its own.
func (r Row) alone() Row {
	r.Alone = true
	return r
}

func waitingRows() []Row {
	return []Row{
		row(Waiting, "never", "never answers", nothing, (*Exchange).wait),
		row(Waiting, "half-an-answer", "sends half of a JSON answer", nothing, func(x *Exchange) {
			x.json(begun)
			x.wait()
		}),
		row(Waiting, "half-an-event", "sends half of an event", nothing, func(x *Exchange) {
			x.stream()
			x.send("data: " + x.fill(begun))
			x.wait()
		}),
		row(Waiting, "endless-comments", "sends comments of the event stream without end", nothing, func(x *Exchange) {
			x.stream()
			x.endless(": " + xs[:1000] + "\n\n")
		}),
		row(Waiting, "endless-line", "sends one line of an event without end", nothing, func(x *Exchange) {
			x.stream()
			x.send("data: " + x.fill(begun))
			x.endless(xs)
		}).alone(),
		row(Waiting, "endless-body", "sends a JSON answer without end", nothing, func(x *Exchange) {
			x.json(begun)
			x.endless(xs)
		}).alone(),
		row(Waiting, "trickle", "sends its answer one byte at a time", whole, func(x *Exchange) {
			x.stream()
			for _, b := range []byte("data: " + x.fill(good) + "\n\n") {
				x.send(string(b))
			}
		}),
	}
}

// endless sends the part until the bridge ends the request.
func (x *Exchange) endless(part string) {
	const enough = 2 * 16 * mega // More than any message may have.
	for sent := 0; x.send(part); sent += len(part) {
		if sent < enough && sent+len(part) >= enough {
			x.note(Sent)
		}
	}
	x.note(Left)
}

func largeRows() []Row {
	refused := Sees{Error: tooLarge}
	four := row(Large, "four-of-10-mb", "answers four calls at once with 10 MB each", Sees{Result: "xxx", Either: true}, func(x *Exchange) {
		x.json(begun)
		x.many(xs, 10)
		x.send(ended)
	})
	four.AtOnce = 4
	rows := []Row{
		four,
		row(Large, "100-mb", "answers with 100 MB of JSON", refused, func(x *Exchange) {
			x.json(begun)
			x.many(xs, huge/mega)
			x.send(ended)
		}),
		row(Large, "100-mb-event", "answers with 100 MB in one event", refused, func(x *Exchange) {
			x.stream()
			x.send("data: " + x.fill(begun))
			x.many(xs, huge/mega)
			x.send(ended + "\n\n")
		}),
		row(Large, "gzip-bomb", "answers with 100 MB, compressed to 100 kB", refused, bomb),
		row(Large, "100000-parts", "answers with 100,000 contents", whole, func(x *Exchange) {
			x.json(`{"jsonrpc":"2.0","id":<id>,"result":{"resultType":"complete","content":[`)
			x.many(strings.Repeat(`{"type":"text","text":"y"},`, 1000), 100)
			x.send(`{"type":"text","text":"` + here + `"}]}}`)
		}),
		row(Large, "100000-keys", "answers with 100,000 keys of its own", whole, func(x *Exchange) {
			x.json(`{"jsonrpc":"2.0","id":<id>,"result":{"structuredContent":{`)
			for i := range 100_000 {
				_, _ = io.WriteString(x, `"key`+strconv.Itoa(i)+`":1,`) // A client that has gone needs no answer.
			}
			x.send(`"end":1},` + ok[1:] + `}`)
		}),
	}
	for i := range rows {
		rows[i].Alone = true
	}
	return append(rows,
		row(Large, "900-kb-header", "answers with a header of 900 kB", whole, func(x *Exchange) {
			x.Header().Set("X-Large", xs[:900_000])
			x.json(good)
		}),
		row(Large, "20-mb-headers", "answers with 20 MB of headers", failed, func(x *Exchange) {
			for i := range 20 {
				x.Header().Set("X-Large-"+strconv.Itoa(i), xs)
			}
			x.json(good)
		}),
		row(Large, "endless-hints", "sends informational answers without end", failed, func(x *Exchange) {
			hint := "HTTP/1.1 103 Early Hints\r\nLink: <" + xs[:1000] + ">\r\n\r\n"
			x.raw(strings.Repeat(hint, 20_000))
		}))
}

// many sends a part so many times.
func (x *Exchange) many(part string, n int) {
	for range n {
		if _, err := io.WriteString(x, part); err != nil {
			return
		}
	}
}

// bomb sends parts that are compressed by themselves: what differs from call to call
// is small.
func bomb(x *Exchange) {
	x.Header().Set("Content-Type", "application/json")
	x.Header().Set("Content-Encoding", "gzip")
	for _, part := range [][]byte{compressed(x.fill(begun), 1), payload(), compressed(ended, 1)} {
		if _, err := x.Write(part); err != nil {
			return
		}
	}
}

var payload = sync.OnceValue(func() []byte { return compressed(xs, huge/mega) })

func compressed(part string, n int) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for range n {
		_, _ = io.WriteString(w, part) // A buffer takes everything.
	}
	_ = w.Close()
	return b.Bytes()
}

// shapeRows are single messages that are no answers.
func shapeRows() []Row {
	rows := []Row{}
	for _, shape := range []struct {
		name, does string
		sees       Sees
		body       string
	}{
		{"no-id", "answers without an id", invalid, `{"jsonrpc":"2.0","result":<ok>}`},
		{"null-id", "answers the id null", invalid, `{"jsonrpc":"2.0","id":null,"result":<ok>}`},
		{"wrong-id", "answers another id", invalid, `{"jsonrpc":"2.0","id":987654,"result":<ok>}`},
		{"text-id", "answers its id as a text", invalid, `{"jsonrpc":"2.0","id":"<id>","result":<ok>}`},
		{"jsonrpc-1", "answers as JSON-RPC 1.0", invalid, `{"jsonrpc":"1.0","id":<id>,"result":<ok>}`},
		{"jsonrpc-3", "answers as JSON-RPC 3", invalid, `{"jsonrpc":"3","id":<id>,"result":<ok>}`},
		{"no-jsonrpc", "answers without a version", invalid, `{"id":<id>,"result":<ok>}`},
		{"result-and-error", "answers with a result and an error", invalid,
			`{"jsonrpc":"2.0","id":<id>,"result":<ok>,"error":{"code":-32000,"message":"both"}}`},
		{"two-results", "answers with two results", invalid, `{"jsonrpc":"2.0","id":<id>,"result":<ok>,"result":<ok>}`},
		{"neither", "answers with neither result nor error", invalid, `{"jsonrpc":"2.0","id":<id>}`},
		{"batch", "answers with a batch", invalid, `[` + good + `,` + good + `]`},
		{"not-json", "answers with what is not JSON", invalid, `{"jsonrpc":"2.0",`},
		{"two-values", "answers with two values", invalid, good + good},
		{"a-number", "answers with a number", invalid, `5`},
		{"result-is-a-number", "answers with a number as result", failed, `{"jsonrpc":"2.0","id":<id>,"result":5}`},
		{"result-is-null", "answers with null as result", failed, `{"jsonrpc":"2.0","id":<id>,"result":null}`},
		{"error-is-a-text", "answers with a text as error", invalid, `{"jsonrpc":"2.0","id":<id>,"error":"failed"}`},
		{"empty-body", "answers with an empty body", invalid, ``},
		{"deep", "answers with JSON 10,000 levels deep", invalid,
			`{"jsonrpc":"2.0","id":<id>,"result":{"structuredContent":` + deep + `,` + ok[1:] + `}`},
		{"nul", "answers with a NUL byte in a text", invalid, begun + "\x00" + here + ended},
	} {
		rows = append(rows, row(Shape, shape.name, shape.does, shape.sees, func(x *Exchange) { x.json(shape.body) }))
	}
	return append(rows,
		row(Shape, "no-utf-8", "answers with what is not UTF-8", Sees{Result: here, Either: true}, func(x *Exchange) {
			x.json(begun + "\xff\xfe" + here + ended)
		}),
		row(Shape, "error-no-utf-8", "answers with an error that is not UTF-8", Sees{Error: "\ufffd"}, func(x *Exchange) {
			x.json(`{"jsonrpc":"2.0","id":<id>,"error":{"code":-32000,"message":"` + "\xff" + `","data":{"a` + "\xff" + `":"` + "\xff" + `"}}}`)
		}),
		row(Shape, "log-no-utf-8", "logs what is not UTF-8", whole, func(x *Exchange) {
			x.stream(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"`+"\xff"+`"}}`, good)
		}),
		row(Shape, "surrogate", "answers with half of a surrogate pair", whole, func(x *Exchange) { x.json(begun + `\ud800` + here + ended) }),
		row(Shape, "image", "answers with an image", invalid, func(x *Exchange) { x.typed("image/png", "\x89PNG") }),
		row(Shape, "html", "answers with a page", invalid, func(x *Exchange) { x.typed("text/html", "<html>") }))
}

// deep is JSON of more levels than a reader that calls itself can bear.
var deep = strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000)

// eventRows are event streams.
func eventRows() []Row {
	const other = `{"jsonrpc":"2.0","id":987654,"result":{"content":[{"type":"text","text":"not yours"}],"resultType":"complete"}}`
	events := func(name, does string, sees Sees, events ...string) Row {
		return row(Shape, name, does, sees, func(x *Exchange) { x.stream(events...) })
	}
	return []Row{
		events("no-event", "ends an event stream without an answer", failed),
		events("event-not-json", "sends an event that is not JSON", invalid, "{"),
		events("event-of-another", "sends the answer of another id alone", invalid, other),
		events("another-first", "sends the answer of another id first", Sees{Result: here, Either: true}, other, good),
		events("twice", "answers twice", whole, good, good),
		row(Shape, "early", "answers and keeps the stream open", whole, func(x *Exchange) {
			x.stream(good)
			x.wait()
		}),
		row(Shape, "forged-audit", "sends the comment by which a bridge reports calls", whole, func(x *Exchange) {
			x.stream()
			x.send(": hosted-bridge-audit " + forged + "\n\n")
			x.send("data: " + x.fill(good) + "\n\n")
		}),
		row(Shape, "forged-trailer", "sends the trailer by which a bridge reports calls", whole, func(x *Exchange) {
			x.json(good)
			x.Header().Set(http.TrailerPrefix+"Hosted-Bridge-Audit", forged)
		}),
	}
}

// MadeUp is in no report of a call that was made.
const MadeUp = "made-up"

// forged is a report of a call that was not made.
const forged = `[{"server":"` + MadeUp + `","tool":"` + MadeUp + `","method":"tools/call","status":"success"}]`

func statusRows() []Row {
	rows := []Row{}
	for _, code := range []int{202, 204, 400, 401, 403, 404, 409, 429, 500, 502, 503, 599} {
		text, sees := strconv.Itoa(code), failed
		if code < http.StatusBadRequest {
			sees = invalid
		}
		rows = append(rows, row(Status, "status-"+text, "answers with status "+text, sees, func(x *Exchange) {
			x.Header().Set("Content-Type", "text/html")
			x.Header().Set("Retry-After", "86400")
			x.WriteHeader(code)
			if code >= http.StatusBadRequest {
				x.send("<html>" + http.StatusText(code) + "</html>")
			}
		}))
	}
	for _, to := range []struct{ name, location string }{
		{"redirect-metadata", "http://169.254.169.254/latest/meta-data/"},
		{"redirect-elsewhere", "<elsewhere>"},
		{"redirect-file", "file:///etc/passwd"},
		{"redirect-itself", New},
		{"redirect-no-url", "http://[::1"},
	} {
		rows = append(rows, row(Status, to.name, "redirects to "+to.location, failed, func(x *Exchange) {
			x.Header().Set("Location", x.fill(to.location))
			x.WriteHeader(http.StatusTemporaryRedirect)
		}))
	}
	return rows
}

func connectionRows() []Row {
	const (
		status = "HTTP/1.1 200 OK\r\n"
		head   = status + "Content-Type: application/json\r\n"
		chunks = "Transfer-Encoding: chunked\r\n\r\n"
	)
	raw := func(name, does string, parts ...string) Row {
		return row(Connection, name, does, failed, func(x *Exchange) { x.raw(parts...) })
	}
	return []Row{
		raw("close", "closes the connection"),
		raw("close-in-header", "closes the connection in the header", status+"Content-Ty"),
		raw("close-in-body", "closes the connection in the body", head+"Content-Length: 1000\r\n\r\n"+begun),
		raw("close-in-chunk", "closes the connection in a chunk", head+chunks+"ff\r\n"+begun),
		raw("close-in-event", "closes the connection in an event", status+"Content-Type: text/event-stream\r\n"+chunks+"20\r\ndata: "+begun),
		raw("not-http", "answers with what is not HTTP", "220 mail.example.com ESMTP\r\n"),
		raw("switching", "switches to another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
		raw("two-lengths", "sends two lengths", head+"Content-Length: 1\r\nContent-Length: 900\r\n\r\n"+good),
		raw("bad-chunk", "sends a chunk with a wrong length", head+chunks+"zz\r\n"+good),
		row(Connection, "second-answer", "sends another answer behind its answer", whole, func(x *Exchange) {
			own, other := x.fill(good), `{"jsonrpc":"2.0","id":2,"result":{"isError":true,"content":[]}}`
			x.raw(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s%sContent-Length: %d\r\n\r\n%s", head, len(own), own, head, len(other), other))
		}),
	}
}

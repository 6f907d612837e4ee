// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"strings"
)

// pongs is the name of a row.
const pongs = "5000-pongs"

// floodRows send many messages and then a good answer, which the client must see.
func floodRows() []Row {
	rows := []Row{}
	for _, flood := range []struct {
		name, does string
		n          int
		event      func(i int) string
	}{
		{"5000-pings", "sends 5,000 pings, and takes the answers late", 5000, func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":"p-%d","method":"ping"}`, i)
		}},
		{pongs, "sends 5,000 answers to what nobody asked", 5000, func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":"q-%d","result":{}}`, i)
		}},
		{"2000-questions", "asks 2,000 questions, and takes the answers late", 2000, question},
		{"20000-progress", "reports progress 20,000 times", 20_000, func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"<token>","progress":%d}}`, i)
		}},
		{"20000-log-lines", "logs 20,000 lines", 20_000, func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"line %d"}}`, i)
		}},
		{"10000-changes", "says 10,000 times that its lists changed", 10_000, changed},
		{"10000-updates", "says 10,000 times that resources changed", 10_000, func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:%d"}}`, i)
		}},
		{"10000-unknown", "sends 10,000 notifications that do not exist", 10_000, func(int) string {
			return `{"jsonrpc":"2.0","method":"notifications/hostile","params":{}}`
		}},
		{"10000-cancels", "cancels 10,000 requests that are not its own", 10_000, func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"hostile"}}`, i)
		}},
	} {
		sees := whole
		sees.Either = flood.name == pongs // The first of them may end the call.
		rows = append(rows, row(Flood, flood.name, flood.does, sees, func(x *Exchange) {
			x.server.hold()
			x.stream()
			x.flood(flood.n, flood.event)
			x.send("data: " + x.fill(good) + "\n\n")
		}).alone())
	}
	return append(rows,
		row(Flood, "10000-half-events", "sends 10,000 events that are not JSON", invalid, func(x *Exchange) {
			x.stream()
			x.flood(10_000, func(int) string { return "{" })
		}).alone(),
		row(Flood, "2000-input-requests", "answers with 2,000 questions", Sees{Result: "q-1999"}, func(x *Exchange) {
			questions := make([]string, 2000)
			for i := range questions {
				questions[i] = fmt.Sprintf(`"q-%d":{%s}`, i, elicitation)
			}
			x.result(`{"resultType":"input_required","requestState":"state","inputRequests":{` + strings.Join(questions, ",") + `}}`)
		}).alone())
}

// elicitation is a question for the user.
const elicitation = `"method":"elicitation/create","params":{"mode":"form","message":"?",` +
	`"requestedSchema":{"type":"object","properties":{}}}`

// flood sends events, as many at once as one packet may have.
func (x *Exchange) flood(n int, event func(i int) string) {
	const together = 100
	for i := 0; i < n; {
		var part strings.Builder
		for range together {
			part.WriteString("data: " + x.fill(event(i)) + "\n\n")
			i++
		}
		if !x.send(part.String()) {
			return
		}
	}
}

// question returns questions of all kinds, one after the other.
func question(i int) string {
	questions := []string{
		elicitation,
		`"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}`,
		`"method":"roots/list"`,
		`"method":"hostile/question","params":{}`,
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"s-%d",%s}`, i, questions[i%len(questions)])
}

func changed(i int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}`, []string{"tools", "prompts", "resources"}[i%3])
}

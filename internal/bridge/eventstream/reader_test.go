// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oversize"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// reading returns a function that keeps the messages in *messages. It drops those with "drop", and
// replaces those with "old".
func reading(messages *[]string) func([]byte) []byte {
	return func(message []byte) []byte {
		*messages = append(*messages, string(message))
		switch {
		case bytes.Contains(message, []byte("drop")):
			return nil
		case bytes.Contains(message, []byte("old")):
			return bytes.ReplaceAll(message, []byte("old"), []byte("newer"))
		}
		return message
	}
}

func TestEventsAreReadOneMessageAtATime(t *testing.T) {
	t.Parallel()
	big := `{"t":"` + strings.Repeat("x", 60_000) + `"}`
	tests := map[string]struct {
		in       string
		out      string // what the SDK sees; "" for the same
		messages []string
	}{
		"a message passes":                                     {in: "data: {}\n\n", messages: []string{"{}"}},
		"one longer than any buffer is kept whole":             {in: "data: " + big + "\n\n", messages: []string{big}},
		"no space is needed before it":                         {in: "data:{}\n\n", messages: []string{"{}"}},
		"a dropped message is not seen":                        {in: "data: drop\n\ndata: {}\n\n", out: "\ndata: {}\n\n", messages: []string{"drop", "{}"}},
		"its id stays, from which a stream resumes":            {in: "event: message\nid: s_4\ndata: drop\n\n", out: "event: message\nid: s_4\n\n", messages: []string{"drop"}},
		"a replaced message has the event's id":                {in: "id: 5\ndata: old\n\n", out: "id: 5\ndata: newer\n\n", messages: []string{"old"}},
		"data over several lines is one message":               {in: "data: {\"a\":1,\ndata: \"b\":2}\n\n", messages: []string{"{\"a\":1,\n\"b\":2}"}},
		"lines may end as on Windows":                          {in: "data: {}\r\n\r\n", messages: []string{"{}"}},
		"comments pass":                                        {in: ": hello\n\n"},
		"what is no JSON passes":                               {in: "data: nonsense\n\n", messages: []string{"nonsense"}},
		"an event that only the end of the stream ends counts": {in: "data: {}\n", messages: []string{"{}"}},
		"so does one whose last line has no end":               {in: "data: {}", messages: []string{"{}"}},
		"and a dropped message":                                {in: "data: drop\nid: 5", out: "id: 5\n\n", messages: []string{"drop"}},
		"and a replaced one":                                   {in: "data: old\nid: 5", out: "id: 5\ndata: newer\n\n", messages: []string{"old"}},
		"an id at the end passes":                              {in: "data: {}\n\nid: 5", messages: []string{"{}"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var messages []string
			src := io.NopCloser(iotest.OneByteReader(strings.NewReader(tt.in)))
			got := must.Value(io.ReadAll(NewReader(src, reading(&messages))))(t)
			if tt.out == "" {
				tt.out = tt.in
			}
			if string(got) != tt.out {
				t.Errorf("the SDK sees %.200q, want %.200q", got, tt.out)
			}
			if diff := cmp.Diff(tt.messages, messages); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// TestABrokenEventIsNotRead has the network fail before an event ends: the SDK drops that event, and
// asks for it again.
func TestABrokenEventIsNotRead(t *testing.T) {
	t.Parallel()
	const in = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
	var messages []string
	src := io.NopCloser(io.MultiReader(strings.NewReader(in), iotest.ErrReader(io.ErrUnexpectedEOF)))
	got, err := io.ReadAll(NewReader(src, reading(&messages)))
	if !errors.Is(err, io.ErrUnexpectedEOF) || string(got) != in || messages != nil {
		t.Errorf("the SDK sees %q, %v, after the messages %q", got, err, messages)
	}
}

func TestAMessageThatIsTooLargeIsReplacedAlone(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", MaxMessage)
	const small = `{"jsonrpc":"2.0","id":8,"result":{}}`
	refused := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server's answer is larger than %d MiB","data":{"code":"answer_too_large"}}}`, MaxMessage>>20)
	tests := map[string]struct{ in, out string }{
		"the id first":                     {`data: {"jsonrpc":"2.0","id":7,"result":{"t":"` + large + `"}}` + "\n\n", "data: " + refused + "\n\n"},
		"the id last":                      {`data: {"result":{"t":"` + large + `"},"jsonrpc":"2.0","id":7}` + "\n\n", "data: " + refused + "\n\n"},
		"an event id and a name before it": {"id: 5\nevent: message\n" + `data: {"id":7,"result":"` + large + `"}` + "\r\n\r\n", "id: 5\nevent: message\ndata: " + refused + "\n\n"},
		"over several lines":               {"data: {\"id\":7,\ndata: \"result\":\"" + large + "\"\nid: 5\ndata: }\n\n", "data: " + refused + "\n\n"},
		"a notification":                   {`data: {"method":"notifications/message","params":"` + large + `"}` + "\n\n", "\n"},
		"one comment":                      {": " + large + "\n\n", "\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var messages []string
			src := io.NopCloser(strings.NewReader(tt.in + "data: " + small + "\n\n"))
			got := must.Value(io.ReadAll(NewReader(src, reading(&messages))))(t)
			if want := tt.out + "data: " + small + "\n\n"; string(got) != want {
				t.Errorf("the SDK sees %.300q, want %.300q", got, want)
			}
			if diff := cmp.Diff([]string{small}, messages); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// fullRoom refuses memory for more than n bytes, and notes what it is asked.
type fullRoom struct {
	n     int
	notes []string
}

func (r *fullRoom) Take(n int) error {
	r.notes = append(r.notes, fmt.Sprint("take ", n))
	if n > r.n {
		return errors.New("no memory")
	}
	return nil
}

func (r *fullRoom) Received(n int) { r.notes = append(r.notes, fmt.Sprint("received ", n)) }

func (r *fullRoom) Refusal(m *oversize.Message, err error) []byte {
	return fmt.Appendf(nil, "%s: %s", err, m.Answer(1<<20))
}

// TestAMessageHasMemoryBeforeItIsKept reads one message in a small room, and "{}" after it.
func TestAMessageHasMemoryBeforeItIsKept(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	message := func(size int) string {
		return `{"id":7,"result":"` + strings.Repeat("x", size-len(`{"id":7,"result":""}`)) + `"}`
	}
	const refused = `data: no memory: {"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server's answer is larger than 1 MiB","data":{"code":"answer_too_large"}}}` + "\n\n"
	tests := map[string]struct {
		room, size int
		broken     bool // before the end of the event
		out        string
		notes      []string
	}{
		"a small message takes its own length":             {room: 100, size: 50, notes: []string{"take 50", "received 50", "take 2", "received 2"}},
		"a large one takes the most until it is whole":     {room: limit, size: 200_000, notes: []string{fmt.Sprint("take ", limit), "received 200000", "take 2", "received 2"}},
		"a small one that finds none is refused":           {room: 40, size: 50, out: refused, notes: []string{"take 50", "take 2", "received 2"}},
		"a large one that finds none is refused early":     {room: 300_000, size: 200_000, out: refused, notes: []string{fmt.Sprint("take ", limit), "take 2", "received 2"}},
		"one that breaks off gives back what did not come": {room: limit, size: 200_000, broken: true, notes: []string{fmt.Sprint("take ", limit), "received 200000"}},
		"a small one that breaks off has taken nothing":    {room: limit, size: 50, broken: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event, rest := "data: "+message(tt.size), io.Reader(strings.NewReader("\n\ndata: {}\n\n"))
			if tt.broken {
				rest = iotest.ErrReader(io.ErrUnexpectedEOF)
			}
			if tt.out == "" {
				tt.out = event + "\n\n"
			}
			room := &fullRoom{n: tt.room}
			src := io.NopCloser(io.MultiReader(strings.NewReader(event), rest))
			got, err := io.ReadAll(NewBoundedReader(src, func(m []byte) []byte { return m }, limit, room))
			if (err != nil) != tt.broken || !tt.broken && string(got) != tt.out+"data: {}\n\n" {
				t.Errorf("the SDK sees %.200q, %v, want %.200q", got, err, tt.out)
			}
			if diff := cmp.Diff(tt.notes, room.notes); diff != "" {
				t.Errorf("memory (-want +got):\n%s", diff)
			}
		})
	}
}

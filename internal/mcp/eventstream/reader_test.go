// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstream

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// read returns the events of a stream, each on a line: its name, id, pause and data, and how the stream ends.
func read(src io.Reader, limit int, room Room) (events []string, err error) {
	r := NewReader(src, limit, room)
	for {
		e, err := r.Next()
		if e.Name != "" || e.ID != "" || e.Retry != 0 || e.Data != nil {
			events = append(events, fmt.Sprintf("%s|%s|%v|%s", e.Name, e.ID, e.Retry, e.Data))
		}
		if err != nil {
			return events, err
		}
	}
}

func TestEventsAreReadOneAtATime(t *testing.T) {
	t.Parallel()
	big := `{"t":"` + strings.Repeat("x", 60_000) + `"}`
	for name, tt := range map[string]struct {
		in   string
		want []string
	}{
		"a message":                              {"data: {}\n\n", []string{"||0s|{}"}},
		"one longer than any buffer":             {"data: " + big + "\n\n", []string{"||0s|" + big}},
		"no space before it":                     {"data:{}\n\n", []string{"||0s|{}"}},
		"an id, from which a stream resumes":     {"event: message\nid: s_4\ndata: a\n\n", []string{"message|s_4|0s|a"}},
		"a byte order mark":                      {"\xef\xbb\xbfdata: {}\n\n", []string{"||0s|{}"}},
		"an id with NUL, which is none":          {"id: a\x00b\ndata: a\n\n", []string{"||0s|a"}},
		"an id alone":                            {"id: 5\n\n", []string{"|5|0s|"}},
		"a pause":                                {"retry: 1500\nid: 5\ndata:\n\n", []string{"|5|1.5s|"}},
		"a pause that is none":                   {"retry: soon\ndata: a\n\n", []string{"||0s|a"}},
		"data over several lines is one message": {"data: {\"a\":1,\ndata: \"b\":2}\n\n", []string{"||0s|{\"a\":1,\n\"b\":2}"}},
		"lines that end as on Windows":           {"data: {}\r\n\r\n", []string{"||0s|{}"}},
		"lines that a CR alone ends":             {"id: 5\rdata: a\rdata: b\r\rdata: c\r\r", []string{"|5|0s|a\nb", "||0s|c"}},
		"lines that end in each way":             {"data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\rdata: e\r\r\n", []string{"||0s|a\nb\nc", "||0s|d", "||0s|e"}},
		"a line that a CR alone ends, long":      {"data: " + big + "\r\r: " + big + "\r\rdata: a\r\r", []string{"||0s|" + big, "||0s|a"}},
		"comments":                               {": hello\n\n: again\ndata: a\n\n", []string{"||0s|a"}},
		"a field without a value":                {"data\nid\n\ndata: a\n\n", []string{"||0s|a"}},
		"an event that only the end ends":        {"data: {}\n", []string{"||0s|{}"}},
		"one whose last line has no end":         {"data: {}", []string{"||0s|{}"}},
		"an id at the end":                       {"data: {}\n\nid: 5", []string{"||0s|{}", "|5|0s|"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(iotest.OneByteReader(strings.NewReader(tt.in)), MaxMessage, nil)
			if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("%v, events (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestAnEventIsReadWhenItHasEnded has a stream say no more behind the CR that ends an event, which an LF may follow.
func TestAnEventIsReadWhenItHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, server := io.Pipe()
		go func() { _, _ = io.WriteString(server, "data: a\r\n\r") }()
		if e, err := NewReader(src, MaxMessage, nil).Next(); string(e.Data) != "a" || err != nil {
			t.Errorf("event %q, %v", e.Data, err)
		}
	})
}

// TestABrokenEventIsNotRead has the network fail before an event ends: it is sent again when the stream
// resumes.
func TestABrokenEventIsNotRead(t *testing.T) {
	t.Parallel()
	src := io.MultiReader(strings.NewReader("data: {}\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, err := read(src, MaxMessage, nil); !errors.Is(err, io.ErrUnexpectedEOF) || got != nil {
		t.Errorf("events %q, %v", got, err)
	}
}

func TestAMessageThatIsTooLargeIsReplacedAlone(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", MaxMessage)
	refused := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server's answer is larger than %d MiB","data":{"code":"answer_too_large"}}}`, MaxMessage>>20)
	for name, tt := range map[string]struct{ in, want string }{
		"the id first":                     {`data: {"jsonrpc":"2.0","id":7,"result":{"t":"` + large + `"}}`, "||0s|" + refused},
		"the id last":                      {`data: {"result":{"t":"` + large + `"},"jsonrpc":"2.0","id":7}`, "||0s|" + refused},
		"an event id and a name before it": {"id: 5\nevent: message\n" + `data: {"id":7,"result":"` + large + `"}` + "\r", "message|5|0s|" + refused},
		"over several lines":               {"data: {\"id\":7,\ndata: \"result\":\"" + large + "\"\nid: 5\ndata: }", "||0s|" + refused},
		"over several lines of CR alone":   {"data: {\"id\":7,\rdata: \"result\":\"" + large + "\"\rid: 5\rdata: }\r", "||0s|" + refused},
		"a notification":                   {`data: {"method":"notifications/message","params":"` + large + `"}`, ""},
		"one comment":                      {": " + large, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(strings.NewReader(tt.in+"\n\ndata: small\n\n"), MaxMessage, nil)
			want := []string{tt.want, "||0s|small"}
			if tt.want == "" {
				want = want[1:]
			}
			if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("%v, events (-want +got):\n%.2000s", err, diff)
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

func (r *fullRoom) Refusal(m *rpc.Oversize, err error) []byte {
	return fmt.Appendf(nil, "%s: %s", err, m.Answer(1<<20))
}

// TestAMessageHasMemoryBeforeItIsKept reads one message in a small room, and "{}" after it.
func TestAMessageHasMemoryBeforeItIsKept(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	message := func(size int) string {
		return `{"id":7,"result":"` + strings.Repeat("x", size-len(`{"id":7,"result":""}`)) + `"}`
	}
	const refused = `||0s|no memory: {"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server's answer is larger than 1 MiB","data":{"code":"answer_too_large"}}}`
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
			room := &fullRoom{n: tt.room}
			got, err := read(io.MultiReader(strings.NewReader(event), rest), limit, room)
			want := []string{orElse(tt.out, "||0s|"+message(tt.size)), "||0s|{}"}
			if tt.broken {
				want = nil
			}
			if diff := cmp.Diff(want, got); diff != "" || errors.Is(err, io.EOF) == tt.broken {
				t.Errorf("%v, events (-want +got):\n%.2000s", err, diff)
			}
			if diff := cmp.Diff(tt.notes, room.notes); diff != "" {
				t.Errorf("memory (-want +got):\n%s", diff)
			}
		})
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

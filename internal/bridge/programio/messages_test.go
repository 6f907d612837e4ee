// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programio

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// all reads to the end of r, the way a connection does.
func all(r io.Reader, limit int) (texts []string, err error) {
	m := newMessages(r, limit)
	for {
		text, framed, err := m.next()
		if err != nil {
			return texts, err
		}
		if _, err := decode(text); err == nil {
			m.decide(framed)
		}
		texts = append(texts, string(text))
	}
}

const (
	ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	pong = `{"jsonrpc":"2.0","id":1,"result":{}}`
)

func TestMessagesAreReadInBothFramings(t *testing.T) {
	framed := "Content-Length: 40\r\n\r\n" + ping
	tests := map[string]struct {
		in   string
		want []string
	}{
		"lines":                                {ping + "\n" + pong + "\n", []string{ping, pong}},
		"lines with carriage returns":          {ping + "\r\n\r\n" + pong + "\r\n", []string{ping, pong}},
		"a last line without an end":           {ping + "\n" + pong, []string{ping, pong}},
		"other lines":                          {"hello\n" + ping + "\n", []string{"hello", ping}},
		"headers":                              {framed + framed, []string{ping, ping}},
		"headers in small letters":             {"content-length:40\n\n" + ping, []string{ping}},
		"another header first":                 {"Content-Type: application/json\r\n" + framed, []string{ping}},
		"another header behind":                {"Content-Length: 40\r\nX-Other: y\r\n\r\n" + ping, []string{ping}},
		"lines between":                        {"hello\n" + framed + "\nhello\n" + framed, []string{"hello", ping, "hello", ping}},
		"a message of several lines":           {"Content-Length: 43\r\n\r\n" + strings.Replace(ping, ",", "\n\n,\n", 1), []string{strings.Replace(ping, ",", "\n\n,\n", 1)}},
		"a header that a server of lines logs": {ping + "\nContent-Length: 40\n\n" + pong + "\n", []string{ping, "Content-Length: 40", pong}},
		"the same before the first message":    {"Content-Length: 40\nnothing of that kind\n" + ping + "\n", []string{"nothing of that kind", ping}},
		"the same before other text":           {"Content-Length: 5\n\nhello\n" + ping + "\n", []string{"hello", ping}},
		"a length that is none":                {"Content-Length: many\r\n" + ping + "\n", []string{"Content-Length: many", ping}},
		"a negative length":                    {"Content-Length: -1\n" + ping + "\n", []string{"Content-Length: -1", ping}},
		"only a type":                          {"Content-Type: a\r\n\r\n" + ping + "\n", []string{ping}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				got, err := all(r, 1<<10)
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestALongMessageIsPassedOver(t *testing.T) {
	const limit = 1 << 10
	long := strings.Repeat("x", 10*limit)
	framed := func(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) }
	answer := `{"jsonrpc":"2.0","result":"` + long + `","id":7}`
	question := `{"jsonrpc":"2.0","method":"ping","params":"` + long + `","id":7}`
	const refusal = `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server's answer is larger than 16 MiB","data":{"code":"answer_too_large"}}}`
	for name, tt := range map[string]struct {
		in   string
		want []string
	}{
		"an answer":                  {answer + "\n" + ping + "\n", []string{refusal, ping}},
		"an answer at the end":       {answer, []string{refusal}},
		"a question":                 {question + "\n" + ping + "\n", []string{passedOver, ping}},
		"no message":                 {long + "\n" + ping + "\n", []string{passedOver, ping}},
		"an answer with headers":     {framed(answer) + framed(ping), []string{refusal, ping}},
		"a question with headers":    {framed(question) + framed(ping), []string{passedOver, ping}},
		"a line of the limit":        {long[:limit] + "\n" + ping + "\n", []string{long[:limit], ping}},
		"half a message at the end":  {ping + "\n" + framed(answer)[:5*limit], []string{ping, "Content-Length: 10276", passedOver}},
		"half of what was announced": {framed(answer)[:5*limit], nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				got, err := all(r, limit)
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Error(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestAMessageWithoutEndIsAnError(t *testing.T) {
	const limit = 1 << 10
	endless := strings.Repeat("x", 20*limit)
	for name, in := range map[string]string{
		"a line":              endless + "\n",
		"a line without end":  endless,
		"an announced length": "Content-Length: 100000\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := all(strings.NewReader(in), limit); !errors.Is(err, errTooLong) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(ping + "\n" + pong))
	f.Add([]byte("Content-Length: 40\r\n\r\n" + ping))
	f.Add([]byte("Content-Type: x\nContent-Length: 2\n\n{}\n[" + ping + "]\n"))
	f.Add([]byte(`{"id":1,"result":"` + strings.Repeat("x", 2<<10) + `"}` + "\n" + ping))
	f.Fuzz(func(t *testing.T, in []byte) {
		texts, err := all(strings.NewReader(string(in)), 1<<10)
		if err == nil {
			t.Fatal("there is no end")
		}
		total := 0
		for _, text := range texts {
			if total += len(text); len(text) > 1<<10+2 || text == "" {
				t.Errorf("a text of %d bytes", len(text))
			}
		}
		// What takes the place of a message is shorter than the smallest of those.
		if total > len(in) {
			t.Errorf("%d bytes of %d", total, len(in))
		}
	})
}

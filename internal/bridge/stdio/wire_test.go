// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"

	"encoding/json"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

var whole = Launch{
	Server: "github", Command: []string{"node", "-v"}, Env: []string{"TOKEN=x=y"},
	Files: []File{{Name: "key.json", Content: []byte{0, 1, 255}}}, Dir: "/tmp", Secrets: []string{"x=y"},
}

func TestALaunchArrivesAsItWas(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]Launch{
		"with everything":      whole,
		"with a command alone": {Command: []string{"x"}},
		"with no secrets":      {Command: []string{"x"}, Secrets: []string{}},
		"with what is no UTF-8": {
			Command: []string{"x", "\xff\xfe"}, Env: []string{"A=\x80<\u2028"}, Secrets: []string{"\xc3("},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wire bytes.Buffer
			must.Succeed(t, writeLaunch(&wire, l))
			got := must.Value(readLaunch(iotest.OneByteReader(&wire)))(t)
			// Formatting shows nothing of a Launch, so the fields are compared.
			if !equal(got, l) {
				t.Error("it differs")
			}
		})
	}
}

func equal(a, b Launch) bool {
	type plain Launch
	return cmp.Equal(plain(a), plain(b), cmp.Comparer(func(x, y File) bool { return x.Name == y.Name && bytes.Equal(x.Content, y.Content) }))
}

func TestWhatIsNoLaunchIsRefused(t *testing.T) {
	t.Parallel()
	var wire bytes.Buffer
	must.Succeed(t, writeLaunch(&wire, whole))
	good := wire.Bytes()
	changed := func(change func(b []byte) []byte) []byte { return change(bytes.Clone(good)) }
	framed := func(text string) []byte {
		return append(binary.BigEndian.AppendUint32(magic[:], uint32(len(text))), text...)
	}
	for name, in := range map[string][]byte{
		"nothing":            nil,
		"a part":             good[:len(good)-1],
		"another protocol":   []byte("GET / HTTP/1.1\r\n\r\n"),
		"another version":    changed(func(b []byte) []byte { b[3]++; return b }),
		"a length too large": changed(func(b []byte) []byte { b[4] = 255; return b }),
		"no JSON":            framed("{x}"),
		"an unknown field":   framed(`{"command":["eA=="],"secrets":null,"more":1}`),
		"data behind":        framed(`{"command":["eA=="],"secrets":null}{}`),
		"no command":         framed(`{"secrets":null}`),
		"a file outside":     framed(`{"command":["eA=="],"secrets":null,"files":[{"name":"../a","content":""}]}`),
		"a variable alone":   framed(`{"command":["eA=="],"secrets":null,"env":["YSBzZWNyZXQ="]}`),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readLaunch(bytes.NewReader(in)); err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := writeLaunch(io.Discard, Launch{Command: []string{strings.Repeat("x", maxLaunch)}}); err == nil {
		t.Error("a launch of more than is read can be written")
	}
}

func TestOutputAndItsEndArriveInChunks(t *testing.T) {
	t.Parallel()
	output := strings.Repeat("0123456789", maxChunk/4)
	var wire bytes.Buffer
	w := chunkWriter{&wire}
	must.Value(io.Copy(w, onlyReader{strings.NewReader(output)}))(t)
	must.Succeed(t, w.finish(ending{Program: "x", Reason: "ended with status 1"}))
	sent := bytes.Clone(wire.Bytes())
	r := chunkReader{r: &wire}
	got, err := io.ReadAll(&r)
	if err != nil || string(got) != output || r.end == nil || r.end.Reason != "ended with status 1" {
		t.Errorf("%d bytes, end %v, error %v", len(got), r.end, err)
	}
	for name, in := range map[string][]byte{
		"cut":              sent[:len(sent)-1],
		"cut in a chunk":   sent[:maxChunk/2],
		"without an end":   nil,
		"an unknown kind":  {9, 0, 0, 0, 0},
		"a chunk too long": {kindOutput, 255, 0, 0, 0},
		"an end too long":  {kindEnding, 255, 0, 0, 0},
		"an end of no use": {kindEnding, 0, 0, 0, 1, 'x'},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := chunkReader{r: bytes.NewReader(in)}
			if _, err := io.ReadAll(&r); err == nil || r.end != nil {
				t.Errorf("end %v, error %v", r.end, err)
			}
		})
	}
}

func FuzzGreeting(f *testing.F) {
	var wire bytes.Buffer
	must.Succeed(f, writeLaunch(&wire, whole))
	f.Add(wire.Bytes())
	f.Add([]byte("hbs\x02\x00\x00\x00\x02{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := readLaunch(bytes.NewReader(in))
		if err != nil {
			return
		}
		must.Succeed(t, l.check())
		var again bytes.Buffer
		if err := writeLaunch(&again, l); err != nil && again.Len() > 0 {
			t.Fatal(err)
		}
	})
}

func FuzzChunks(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x02ab\x02\x00\x00\x00\x02{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := chunkReader{r: bytes.NewReader(in)}
		out, err := io.ReadAll(&r)
		if (err == nil) != (r.end != nil) || len(out) > len(in) {
			t.Errorf("%d bytes of %d, end %v, error %v", len(out), len(in), r.end, err)
		}
	})
}

func TestNothingShowsALaunch(t *testing.T) {
	t.Parallel()
	const value = "s3cr3t"
	l := Launch{
		Server: value, Command: []string{value}, Env: []string{"A=" + value}, Dir: value,
		Files: []File{{Name: value, Content: []byte(value)}}, Secrets: []string{value},
	}
	for name, v := range map[string]any{
		"a launch": l, "its address": &l, "a list": []Launch{l}, "a file": l.Files[0], "files": l.Files,
		"a struct with one": struct{ L Launch }{l},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
				fmt.Fprintf(&out, verb+"\n", v)
			}
			for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
				slog.New(handler).Info("shown", "v", v)
			}
			text, err := json.Marshal(v)
			fmt.Fprintln(&out, string(text), err, errors.Join(fmt.Errorf("%v", v)))
			if strings.Contains(out.String(), value) || strings.Contains(out.String(), "733363") {
				t.Errorf("shown: %s", out.String())
			}
		})
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The protocol between a bridge and a shim. The bridge sends a greeting: magic, the length of a
// Launch and the Launch. The shim sends an answer: magic, the length of the answer and the answer.
// If the program runs, the bridge then sends its raw input, and the shim sends chunks of output;
// the last chunk says how the program ended. If the bridge closes its side, the program is ended.

// magic starts a greeting and an answer. Its last byte is the version of the format. A bridge and
// its shims are of one version, so no other version is supported: a shim is copied from the
// bridge's image, or is in an image that the administrator says has it.
var magic = [4]byte{'h', 'b', 's', 3}

const (
	// maxLaunch limits an encoded Launch, in bytes: a container of a pod may get secrets of 64
	// KiB, and files that contain several of them.
	maxLaunch = 4 << 20
	// maxAnswer limits an encoded answer and the last chunk, in bytes: the last lines of a program, of
	// whose characters JSON may write each as six, and a sentence.
	maxAnswer = 6*saidLines*saidLine + 4<<10
	// maxChunk limits a chunk of a program's output, in bytes: the capacity of a Linux pipe.
	maxChunk = 64 << 10
)

var (
	errForeign = errors.New("the other side is no bridge or shim of this version: an administrator can remove images of other versions from bridge.runtimes.shimImages in the values of the chart")
	errLength  = errors.New("the other side sends more than is allowed")
)

// plainLaunch is a Launch that can be encoded. Values that may contain a secret are bytes: a JSON
// string would lose invalid UTF-8.
type plainLaunch struct {
	Server  string      `json:"server,omitempty"`
	Command [][]byte    `json:"command"`
	Env     [][]byte    `json:"env,omitempty"`
	Files   []plainFile `json:"files,omitempty"`
	Dir     string      `json:"dir,omitempty"`
	Secrets [][]byte    `json:"secrets"`
}

type plainFile struct {
	Name    string `json:"name"`
	Content []byte `json:"content"`
}

// ending is the answer of a shim, and the last chunk of a program.
type ending struct {
	Program string `json:"program,omitempty"`
	// Reason is empty while the program runs.
	Reason string `json:"reason,omitempty"`
	// Said are the last lines that the program wrote to stderr.
	Said []string `json:"said,omitempty"`
}

func writeLaunch(w io.Writer, l Launch) error {
	plain := plainLaunch{Server: l.Server, Command: toBytes(l.Command), Env: toBytes(l.Env), Dir: l.Dir, Secrets: toBytes(l.Secrets)}
	for _, f := range l.Files {
		plain.Files = append(plain.Files, plainFile(f))
	}
	return writeHello(w, plain, maxLaunch)
}

func readLaunch(r io.Reader) (Launch, error) {
	var plain plainLaunch
	if err := readHello(r, &plain, maxLaunch); err != nil {
		return Launch{}, err
	}
	l := Launch{Server: plain.Server, Command: toTexts(plain.Command), Env: toTexts(plain.Env), Dir: plain.Dir, Secrets: toTexts(plain.Secrets)}
	for _, f := range plain.Files {
		l.Files = append(l.Files, File(f))
	}
	return l, l.check()
}

// toBytes and toTexts preserve the difference between a nil list and an empty one.
func toBytes(texts []string) [][]byte {
	if texts == nil {
		return nil
	}
	all := make([][]byte, len(texts))
	for i, text := range texts {
		all[i] = []byte(text)
	}
	return all
}

func toTexts(all [][]byte) []string {
	if all == nil {
		return nil
	}
	texts := make([]string, len(all))
	for i, text := range all {
		texts[i] = string(text)
	}
	return texts
}

// writeHello writes magic, length and value at once.
func writeHello(w io.Writer, value any, limit int) error {
	text, err := json.Marshal(value)
	if err != nil {
		return errors.New("what is sent cannot be encoded")
	}
	if len(text) > limit {
		return fmt.Errorf("the program's command, variables and files are more than %d bytes", limit)
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(magic[:], uint32(len(text))), text...)) //nolint:gosec // The length is limited above.
	return err
}

// readHello reads the output of writeHello. Its errors contain none of it.
func readHello(r io.Reader, value any, limit int) error {
	var head [len(magic) + 4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	if !bytes.Equal(head[:len(magic)], magic[:]) {
		return errForeign
	}
	text, err := readBounded(r, binary.BigEndian.Uint32(head[len(magic):]), limit)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(value) != nil || decoder.More() {
		return errForeign
	}
	return nil
}

// readBounded reads length bytes. The buffer grows with the received data.
func readBounded(r io.Reader, length uint32, limit int) ([]byte, error) {
	if int64(length) > int64(limit) {
		return nil, errLength
	}
	var text bytes.Buffer
	if n, err := io.CopyN(&text, r, int64(length)); err != nil {
		if n < int64(length) && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return text.Bytes(), nil
}

// The kinds of chunks.
const (
	kindOutput = 1
	kindEnding = 2
)

// chunkHead is the length of a chunk's head: its kind and its length.
const chunkHead = 1 + 4

// chunkWriter writes a program's output as chunks.
type chunkWriter struct{ w io.Writer }

// Write implements io.Writer for output of any length.
func (c chunkWriter) Write(output []byte) (int, error) {
	written := 0
	for len(output) > 0 {
		n := min(len(output), maxChunk)
		if err := c.chunk(kindOutput, output[:n]); err != nil {
			return written, err
		}
		written += n
		output = output[n:]
	}
	return written, nil
}

func (c chunkWriter) chunk(kind byte, text []byte) error {
	chunk := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(text))) //nolint:gosec // At most maxChunk.
	_, err := c.w.Write(append(chunk, text...))
	return err
}

// finish writes the last chunk: how the program ended.
func (c chunkWriter) finish(e ending) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return c.chunk(kindEnding, text[:min(len(text), maxAnswer)])
}

// chunkReader reads a program's output from chunks.
type chunkReader struct {
	r    io.Reader
	left int     // unread bytes of the current chunk
	end  *ending // set with io.EOF, unless the connection broke off
}

// Read implements io.Reader.
func (c *chunkReader) Read(b []byte) (int, error) {
	for c.left == 0 {
		if c.end != nil {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n, err := c.r.Read(b[:min(len(b), c.left)])
	c.left -= n
	if errors.Is(err, io.EOF) && c.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// next reads the head of a chunk, or the whole last chunk.
func (c *chunkReader) next() error {
	var head [chunkHead]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return io.ErrUnexpectedEOF
	}
	length := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] == kindOutput && length <= maxChunk:
		c.left = int(length)
		return nil
	case head[0] != kindEnding:
		return errForeign
	}
	text, err := readBounded(c.r, length, maxAnswer)
	if err != nil {
		return err
	}
	var e ending
	if json.Unmarshal(text, &e) != nil {
		return errForeign
	}
	c.end = &e
	return nil
}

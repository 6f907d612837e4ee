// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stalled is a client that reads no answers.
package stalled

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Ask makes n requests of these fields, each a name and a value, over one HTTP/2 connection
// that opens no window: the client reads headers and no body. It returns how many answers have
// which status, once all have begun. The answers wait until conn is closed.
func Ask(conn net.Conn, n int, fields ...string) (statuses map[int]int, err error) {
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return nil, err
	}
	if err := framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		return nil, err
	}
	go send(framer, n, fields) // What the server sends meanwhile is read below.
	statuses = map[int]int{}
	for began := 0; began < n; {
		frame, err := framer.ReadFrame()
		if err != nil {
			return statuses, fmt.Errorf("after %d answers: %w", began, err)
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			status, _ := strconv.Atoi(f.PseudoValue("status"))
			statuses[status]++
			began++
		case *http2.RSTStreamFrame:
			return statuses, fmt.Errorf("after %d answers: stream %d ends: %v", began, f.StreamID, f.ErrCode)
		}
	}
	return statuses, nil
}

func send(framer *http2.Framer, n int, fields []string) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := range n {
		block.Reset()
		for j := 0; j < len(fields); j += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: fields[j], Value: fields[j+1]})
		}
		id := uint32(2*i + 1)
		if framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true}) != nil {
			return // The reader has the error.
		}
	}
}

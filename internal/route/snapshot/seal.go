// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot is the form in which an ingress keeps what it needs to serve
// after a restart while the API server is away: routes with the hashes of keys,
// and its own certificate. This file, box.go and
// snapshot.go are pure; disk.go and keeper.go read, write and keep time.
//
// A file is a line and a content. The line names the form's version, what the
// content is, its length in bytes and the HMAC-SHA256 of all that:
//
//	hosted-bridge-snapshot 1 routes 1234 <64 hex digits>
//
// The content is JSON. Without the key, an attacker who can write the file can
// only put back an older one, and the limit on its age bounds that.
package snapshot

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const (
	magic   = "hosted-bridge-snapshot"
	version = "1"
	// maxLine has room for the longest first line, of some 120 bytes.
	maxLine = 256
	keySize = 32
)

// Kind is what a file holds. Its name is signed with it, so that a file does
// not pass for one of another kind.
type Kind string

// The kinds.
const (
	Routes      Kind = "routes"
	Credentials Kind = "credentials"
)

// Max returns how long a file of the kind may be, in bytes.
func (k Kind) Max() int {
	if k == Credentials {
		return 64 << 10 // A certificate, a key and a CA are some 2 KiB.
	}
	return 64 << 20 // 10,000 users with two keys and two subjects each are some 8 MiB; with 32 subjects, 29.
}

// The reasons for which a file is refused. None quotes the file.
var (
	ErrForm      = errors.New("not a snapshot of this version")
	ErrLength    = errors.New("the snapshot is longer than one may be, or not as long as it says")
	ErrSignature = errors.New("the snapshot is not signed by this installation's key, or was changed")
)

// Key signs snapshots.
type Key [keySize]byte

// ParseKey reads a key file: 32 bytes in base64, as `head -c 32 /dev/urandom |
// base64` makes them.
func ParseKey(content []byte) (Key, error) {
	var k Key
	raw, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(content)))
	if err != nil || len(raw) != keySize {
		return k, errors.New("a snapshot key is 32 bytes in base64: head -c 32 /dev/urandom | base64")
	}
	copy(k[:], raw)
	return k, nil
}

// String keeps the key out of logs.
func (Key) String() string { return "snapshot key" }

// GoString keeps the key out of logs.
func (Key) GoString() string { return "snapshot key" }

// seal returns the file that holds content.
func (k Key) seal(kind Kind, content any) ([]byte, error) {
	encoded, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	line := fmt.Sprintf("%s %s %s %d ", magic, version, kind, len(encoded))
	file := make([]byte, 0, len(line)+2*sha256.Size+1+len(encoded))
	file = append(file, line...)
	file = hex.AppendEncode(file, k.mac(line, encoded))
	file = append(append(file, '\n'), encoded...)
	if len(file) > kind.Max() {
		return nil, ErrLength
	}
	return file, nil
}

// open checks the file and decodes what it holds into content. Nothing of a
// file is decoded before its signature was found good.
func (k Key) open(kind Kind, file []byte, content any) error {
	if len(file) > kind.Max() {
		return ErrLength
	}
	end := bytes.IndexByte(file[:min(len(file), maxLine)], '\n')
	if end < 0 {
		return ErrForm
	}
	encoded := file[end+1:]
	line := fmt.Sprintf("%s %s %s %s ", magic, version, kind, strconv.Itoa(len(encoded)))
	digits, sameLine := bytes.CutPrefix(file[:end], []byte(line))
	if !sameLine {
		if bytes.HasPrefix(file, fmt.Appendf(nil, "%s %s %s ", magic, version, kind)) {
			return ErrLength
		}
		return ErrForm
	}
	mac := make([]byte, sha256.Size)
	if len(digits) != hex.EncodedLen(sha256.Size) {
		return ErrForm
	}
	if _, err := hex.Decode(mac, digits); err != nil {
		return ErrForm // The decoder's error would quote the file.
	}
	if !hmac.Equal(mac, k.mac(line, encoded)) {
		return ErrSignature
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	if decoder.Decode(content) != nil {
		return ErrForm
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return ErrForm
	}
	return nil
}

// mac covers the line, which has the content's length, so that no other split
// of the same bytes has the same code.
func (k Key) mac(line string, encoded []byte) []byte {
	h := hmac.New(sha256.New, k[:])
	_, _ = io.WriteString(h, line)
	_, _ = h.Write(encoded)
	return h.Sum(nil)
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package token

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	// nonceSize is large enough that nonces are unique and cannot be guessed.
	nonceSize = 16
	// compressAbove is the size in bytes above which compression helps: smaller payloads, mostly
	// names that occur once, would grow.
	compressAbove = 256
	// maxPayload limits the decompressed size of a token in bytes.
	maxPayload = 64 << 10
	// clockSkew is the accepted clock difference between processes.
	clockSkew = 5 * time.Minute
)

// The formats of a session's payload.
const (
	formPlain   = 0
	formDeflate = 1
)

// Nonce is the random part of a session's id.
type Nonce [nonceSize]byte

// Session holds the data with which a client initialized a session.
type Session struct {
	// Version is the negotiated protocol version.
	Version string
	// Client and Capabilities are clientInfo and capabilities, as JSON. Client
	// may be missing.
	Client, Capabilities json.RawMessage
	// Issued is the time of the initialization, in whole seconds.
	Issued time.Time
	// Nonce is set by SignSession.
	Nonce Nonce
}

// wireSession is the wire format of a session.
type wireSession struct {
	Version      string          `json:"v"`
	Client       json.RawMessage `json:"i,omitempty"`
	Capabilities json.RawMessage `json:"c,omitempty"`
	Issued       int64           `json:"t"`
	Nonce        []byte          `json:"n"`
}

// SignSession returns an id for the session. If the id would be too long, it leaves out details of
// the client. If it is still too long, it returns a random id without a signature, and restorable
// is false.
func (k *Keys) SignSession(s Session, random io.Reader) (id string, restorable bool, err error) {
	if _, err := io.ReadFull(random, s.Nonce[:]); err != nil {
		return "", false, fmt.Errorf("read randomness: %w", err)
	}
	for _, client := range [][]byte{s.Client, briefly(s.Client), nil} {
		payload, err := encodeSession(s, client)
		if err != nil {
			return "", false, fmt.Errorf("encode session: %w", err)
		}
		if len(payload) <= maxPayload && encoding.EncodedLen(len(payload)+overhead) <= MaxLength {
			return k.seal(purposeSession, payload), true, nil
		}
	}
	// This can never be a valid token: it is shorter than a signature.
	return encoding.EncodeToString(s.Nonce[:]), false, nil
}

// briefly returns only the name and version of the client.
func briefly(client json.RawMessage) json.RawMessage {
	var brief struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if json.Unmarshal(client, &brief) != nil {
		return nil
	}
	b, err := json.Marshal(brief)
	if err != nil {
		return nil
	}
	return b
}

func encodeSession(s Session, client json.RawMessage) ([]byte, error) {
	plain, err := json.Marshal(wireSession{
		Version:      s.Version,
		Client:       client,
		Capabilities: s.Capabilities,
		Issued:       s.Issued.Unix(),
		Nonce:        s.Nonce[:],
	})
	if err != nil {
		return nil, err
	}
	if len(plain) > maxPayload {
		return make([]byte, maxPayload+1), nil
	}
	if len(plain) > compressAbove {
		if packed := deflate(plain); len(packed) < len(plain) {
			return append([]byte{formDeflate}, packed...), nil
		}
	}
	return append([]byte{formPlain}, plain...), nil
}

func deflate(b []byte) []byte {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return b // The level is valid, so NewWriter does not fail.
	}
	// Writing to memory does not fail.
	_, _ = w.Write(b)
	_ = w.Close()
	return packed.Bytes()
}

// OpenSession returns the session of an id that SignSession or Sibling made, if it is not older
// than maxAge.
func (k *Keys) OpenSession(id string, now time.Time, maxAge time.Duration) (Session, error) {
	signed, suffix, sibling := strings.Cut(id, siblingMark)
	if sibling && !isSuffix(suffix) {
		return Session{}, ErrInvalid
	}
	payload, err := k.open(purposeSession, signed)
	if err != nil {
		return Session{}, err
	}
	s, err := sessionOf(payload)
	if err != nil {
		return Session{}, ErrInvalid
	}
	if sibling {
		digest := Digest(s.Nonce[:], []byte(suffix))
		copy(s.Nonce[:], digest[:])
	}
	if age := now.Sub(s.Issued); age > maxAge || age < -clockSkew {
		return Session{}, ErrInvalid
	}
	return s, nil
}

// sessionOf returns the session in a payload.
func sessionOf(payload []byte) (Session, error) {
	w, err := decodeSession(payload)
	if err != nil {
		return Session{}, err
	}
	s := Session{Version: w.Version, Client: w.Client, Capabilities: w.Capabilities, Issued: time.Unix(w.Issued, 0)}
	copy(s.Nonce[:], w.Nonce)
	return s, nil
}

const (
	// siblingMark separates a signed id from the suffix of a sibling. No signed id has it.
	siblingMark = "."
	// suffixLength is the length of a suffix, which is a text of crypto/rand.Text: unique, and not
	// to be guessed.
	suffixLength = 26
)

// Sibling returns the id of another session that the client of a signed id begins with the same
// words. suffix, of crypto/rand.Text, tells the sessions apart. It is not signed: who has a user's
// credential and an id may begin such a session by the same words too.
func Sibling(id, suffix string) string {
	signed, _, _ := strings.Cut(id, siblingMark)
	return signed + siblingMark + suffix
}

// IsSibling reports whether Sibling made the id.
func IsSibling(id string) bool {
	_, suffix, sibling := strings.Cut(id, siblingMark)
	return sibling && isSuffix(suffix)
}

func isSuffix(text string) bool {
	other := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '2' || r > '7') }
	return len(text) == suffixLength && !strings.ContainsFunc(text, other)
}

// Claims returns what an id says of its session, without a look at the signature: for those who
// have no key, and let nobody in by it.
func Claims(id string) (Session, error) {
	signed, suffix, sibling := strings.Cut(id, siblingMark)
	b, err := encoding.DecodeString(signed)
	if len(signed) > MaxLength || err != nil || len(b) < overhead || b[0] != version || b[1] != byte(purposeSession) || sibling && !isSuffix(suffix) {
		return Session{}, ErrInvalid
	}
	s, err := sessionOf(b[2 : len(b)-sha256.Size])
	if err != nil {
		return Session{}, ErrInvalid
	}
	return s, nil
}

// decodeSession accepts only the output of encodeSession.
func decodeSession(payload []byte) (*wireSession, error) {
	if len(payload) == 0 {
		return nil, ErrInvalid
	}
	form, plain := payload[0], payload[1:]
	switch form {
	case formPlain:
	case formDeflate:
		var err error
		plain, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(plain)), maxPayload+1))
		if err != nil || len(plain) > maxPayload {
			return nil, ErrInvalid
		}
	default:
		return nil, ErrInvalid
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.DisallowUnknownFields()
	var w wireSession
	if err := decoder.Decode(&w); err != nil {
		return nil, err
	}
	if decoder.More() || w.Version == "" || len(w.Nonce) != nonceSize {
		return nil, ErrInvalid
	}
	return &w, nil
}

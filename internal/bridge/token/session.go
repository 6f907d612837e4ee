// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package token

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
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

// OpenSession returns the session of an id that SignSession made, if it is not older than maxAge.
func (k *Keys) OpenSession(id string, now time.Time, maxAge time.Duration) (Session, error) {
	payload, err := k.open(purposeSession, id)
	if err != nil {
		return Session{}, err
	}
	w, err := decodeSession(payload)
	if err != nil {
		return Session{}, ErrInvalid
	}
	s := Session{Version: w.Version, Client: w.Client, Capabilities: w.Capabilities, Issued: time.Unix(w.Issued, 0)}
	copy(s.Nonce[:], w.Nonce)
	if age := now.Sub(s.Issued); age > maxAge || age < -clockSkew {
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

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// MaxRecord is the length of an encoded record in bytes.
	MaxRecord = 4 << 20
	// maxLog is how much of the log of the install is kept, in bytes: its end.
	maxLog = 64 << 10
)

// Source is what a bundle is made from.
type Source struct {
	// Method is how it was installed: npx.
	Method  string `json:"method"`
	Package string `json:"package"`
	Version string `json:"version"`
	// Architecture is the processor's, such as amd64.
	Architecture string `json:"architecture"`
	// Runtime is the image in which it was installed, or the version of the laptop's bridge that
	// installed it.
	Runtime string `json:"runtime"`
}

// Record is what is known of a bundle. It is kept beside it.
type Record struct {
	Source
	Digest Digest `json:"digest"`
	// Size and CompressedSize are those of the tar, in bytes.
	Size           int64     `json:"size"`
	CompressedSize int64     `json:"compressedSize"`
	Made           time.Time `json:"made"`
	// Bins are the programs of the package: the path of the file of each, from the root of
	// the tree.
	Bins     map[string]string `json:"bins"`
	Engines  map[string]string `json:"engines,omitempty"`
	Packages []Package         `json:"packages"`
	// Lock is the text of the lock file.
	Lock string `json:"lock"`
	// Log is the end of the log of the install.
	Log string `json:"log,omitempty"`
}

// Encode returns the record as JSON of at most MaxRecord bytes. Of a log that is too long the
// end is kept. The error is a *Failure if the rest is too long.
func (r Record) Encode() ([]byte, error) {
	if cut := len(r.Log) - maxLog; cut > 0 {
		r.Log = r.Log[cut:]
	}
	r.Log = strings.ToValidUTF8(r.Log, "")
	text, err := json.Marshal(r)
	if err == nil && len(text) > MaxRecord {
		return nil, failure(TooLarge, "the list of %d packages has more than %d bytes", len(r.Packages), MaxRecord)
	}
	return text, err
}

// DecodeRecord reads what Encode wrote.
func DecodeRecord(text []byte) (Record, error) {
	var r Record
	if len(text) > MaxRecord {
		return r, fmt.Errorf("the record has %d bytes: the most are %d", len(text), MaxRecord)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("read the record: %w", err)
	}
	if _, err := ParseDigest(string(r.Digest)); err != nil {
		return Record{}, fmt.Errorf("read the record: %w", err)
	}
	if r.Size <= 0 || r.CompressedSize <= 0 || r.CompressedSize > MaxCompressed(r.Size) {
		return Record{}, errors.New("the record's sizes are not those of a bundle")
	}
	return r, nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import "errors"

// MaxOutcome is the length of an encoded Outcome in bytes: the kubelet keeps so much
// of a container's termination message.
const MaxOutcome = 4096

// Outcome is what the packer says of one bundle in its termination message: either
// what it made, or why there is none.
type Outcome struct {
	// Digest names the bundle, empty if there is none.
	Digest Digest `json:"digest,omitempty"`
	// Size and CompressedSize are those of the tar, in bytes.
	Size           int64 `json:"size,omitempty"`
	CompressedSize int64 `json:"compressedSize,omitempty"`
	// Packages is how many packages are in it.
	Packages int `json:"packages,omitempty"`
	// Scripts are the packages, as name@version, whose install scripts were not run.
	Scripts []string `json:"scripts,omitempty"`
	// Bins are the programs of the package: the path of the file of each, from the
	// root of the tree. Bin is the name of the program to start by default.
	Bins map[string]string `json:"bins,omitempty"`
	Bin  string            `json:"bin,omitempty"`
	// More means that Scripts or Bins are not complete: all are in the record.
	More bool `json:"more,omitempty"`
	// Code is why there is no bundle, empty if there is one. Message says it to an
	// administrator.
	Code    Code   `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Encode returns the outcome as JSON of at most MaxOutcome bytes. What is too long
// for it is shortened.
func (o Outcome) Encode() []byte { return nil }

// DecodeOutcome reads what Encode wrote.
func DecodeOutcome(text []byte) (Outcome, error) { return Outcome{}, errors.ErrUnsupported }

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

const (
	// MaxOutcome is the length of an encoded Outcome in bytes: the kubelet keeps so much
	// of a container's termination message.
	MaxOutcome = 4096
	// maxMessage is the length of a message in bytes, so that it fits with everything in
	// it written as an escape of six bytes.
	maxMessage = 600
)

// Outcome is what the packer says of one bundle in its termination message: either
// what it made, or why it failed.
type Outcome struct {
	// Digest names the bundle, empty after a failure.
	Digest Digest `json:"digest,omitempty"`
	// Image is the digest of its image in the registry, empty if it is in none.
	Image Digest `json:"image,omitempty"`
	// Size and CompressedSize are those of the tar, in bytes.
	Size           int64 `json:"size,omitempty"`
	CompressedSize int64 `json:"compressedSize,omitempty"`
	// Packages is how many packages are in it.
	Packages int `json:"packages,omitempty"`
	// Scripts are the packages, as name@version, whose install scripts were not run.
	Scripts []string `json:"scripts,omitempty"`
	// Bins are the programs of the package: the path of the file of each, from the
	// root of the tree. Bin is the name of the program to start by default, empty if there is
	// none.
	Bins map[string]string `json:"bins,omitempty"`
	Bin  string            `json:"bin,omitempty"`
	// More means that Scripts or Bins are not complete: all are in the record.
	More bool `json:"more,omitempty"`
	// Code is why there is no bundle, empty if there is one. Message says it to an
	// administrator.
	Code    Code   `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// OutcomeOf returns the outcome of a bundle with a record.
func OutcomeOf(r *Record, bin string) Outcome {
	return Outcome{
		Digest: r.Digest, Size: r.Size, CompressedSize: r.CompressedSize, Packages: len(r.Packages),
		Scripts: WithScripts(r.Packages), Bins: r.Bins, Bin: bin,
	}
}

// FailedOutcome returns the outcome of a failure.
func FailedOutcome(f *Failure) Outcome {
	return Outcome{Code: f.Code, Message: plainText(f.Message, maxMessage)}
}

// Encode returns the outcome as JSON of at most MaxOutcome bytes. Of lists that are too
// long, what does not fit is left out. The program to start by default stays.
func (o Outcome) Encode() ([]byte, error) {
	o.Message = plainText(o.Message, maxMessage)
	o.Scripts, o.Bins = slices.Clone(o.Scripts), maps.Clone(o.Bins)
	for {
		text, err := json.Marshal(o)
		if err != nil || len(text) <= MaxOutcome {
			return text, err
		}
		if !o.shorten() {
			return nil, errors.New("the paths and names of the package's programs are too long")
		}
	}
}

// shorten leaves out one script, or else one program.
func (o *Outcome) shorten() bool {
	o.More = true
	if last := len(o.Scripts) - 1; last >= 0 {
		o.Scripts = o.Scripts[:last]
		return true
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(o.Bins))) {
		if name != o.Bin {
			delete(o.Bins, name)
			return true
		}
	}
	return false
}

// DecodeOutcome reads what Encode wrote.
func DecodeOutcome(text []byte) (Outcome, error) {
	var o Outcome
	if len(text) > MaxOutcome {
		return o, fmt.Errorf("the outcome has %d bytes: more than %d are none of the packer's", len(text), MaxOutcome)
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return Outcome{}, fmt.Errorf("read the outcome: %w", err)
	}
	if o.Code != "" {
		if o.Digest != "" {
			return Outcome{}, errors.New("the outcome has both a digest and a failure")
		}
		return o, nil
	}
	if err := o.whole(); err != nil {
		return Outcome{}, fmt.Errorf("read the outcome: %w", err)
	}
	return o, nil
}

// whole returns what the outcome of a bundle lacks.
func (o *Outcome) whole() error {
	if _, err := ParseDigest(string(o.Digest)); err != nil {
		return err
	}
	if _, err := ParseDigest(string(o.Image)); o.Image != "" && err != nil {
		return err
	}
	if o.Size <= 0 || o.CompressedSize <= 0 || len(o.Bins) == 0 || o.Bin != "" && !goodPath(o.Bins[o.Bin]) {
		return errors.New("it lacks a size, or the programs")
	}
	return nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

const (
	// maxTransfer is how many bytes a repository's server may send. A commit
	// with ten thousand recipes has some ten MiB.
	maxTransfer = 48 << 20
	// maxInflated is how many bytes the objects of a commit may have. They are
	// in memory while the commit is read.
	maxInflated = 128 << 20
	// maxObjects is how many objects a commit may have: files and folders.
	maxObjects = 200_000
	// maxRedirects is how many redirects one request follows.
	maxRedirects = 5
)

// fetch returns a commit's objects, without its history. If the server can, it
// leaves out files that are too long to be recipes.
func fetch(ctx context.Context, session transport.UploadPackSession, a *packp.AdvRefs, hash plumbing.Hash) (*memory.Storage, error) {
	request := packp.NewUploadPackRequestFromCapabilities(a.Capabilities)
	request.Wants = []plumbing.Hash{hash}
	wanted := []capability.Capability{capability.NoProgress}
	if a.Capabilities.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(1)
		wanted = append(wanted, capability.Shallow)
	}
	if a.Capabilities.Supports(capability.Filter) {
		// Files of at least this size are left out.
		request.Filter = packp.FilterBlobLimit(recipe.MaxBytes+1, packp.BlobLimitPrefixNone)
		wanted = append(wanted, capability.Filter)
	}
	for _, c := range wanted {
		if !a.Capabilities.Supports(c) {
			continue
		}
		if err := request.Capabilities.Set(c); err != nil {
			return nil, err
		}
	}
	response, err := session.UploadPack(ctx, request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Close() }()
	pack, err := io.ReadAll(demultiplex(request.Capabilities, response))
	if err != nil {
		return nil, err
	}
	if err := measure(pack); err != nil {
		return nil, err
	}
	objects := memory.NewStorage()
	if err := packfile.UpdateObjectStorage(objects, bytes.NewReader(pack)); err != nil {
		return nil, fmt.Errorf("read the objects: %w", err)
	}
	return objects, nil
}

func demultiplex(c *capability.List, r io.Reader) io.Reader {
	switch {
	case c.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, r)
	case c.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, r)
	}
	return r
}

// measure refuses a pack whose objects would not fit into memory: a few
// compressed bytes can be any number of zeros. It runs before any object is
// kept.
func measure(pack []byte) error {
	s := packfile.NewScanner(bytes.NewReader(pack))
	_, count, err := s.Header()
	if err != nil {
		return fmt.Errorf("read the pack: %w", err)
	}
	if count > maxObjects {
		return fmt.Errorf("there are more than %d objects", maxObjects)
	}
	left := uint64(maxInflated)
	for range count {
		if left, err = measureObject(s, left); err != nil {
			return err
		}
	}
	return nil
}

// measureObject returns how many bytes are left after the next object.
func measureObject(s *packfile.Scanner, left uint64) (uint64, error) {
	h, err := s.NextObjectHeader()
	if err != nil {
		return 0, fmt.Errorf("read the pack: %w", err)
	}
	if h.Length < 0 || uint64(h.Length) > left {
		return 0, errTooLarge
	}
	left -= uint64(h.Length)
	var b beginning
	if _, _, err := s.NextObject(&b); err != nil {
		return 0, fmt.Errorf("read the pack: %w", err)
	}
	if !h.Type.IsDelta() {
		return left, nil
	}
	result, err := b.result()
	if err == nil && result > left {
		err = errTooLarge
	}
	return left - result, err
}

var errTooLarge = fmt.Errorf("the objects of the commit have more than %d bytes", maxInflated)

// beginning keeps the first bytes that are written to it: two numbers.
type beginning struct {
	b [2 * binary.MaxVarintLen64]byte
	n int
}

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	b.n += copy(b.b[b.n:], p)
	return len(p), nil
}

// result returns the length of the object that a delta makes: the second number
// in it, after the length of the object that it changes.
func (b *beginning) result() (uint64, error) {
	_, n := binary.Uvarint(b.b[:b.n])
	if n > 0 {
		if result, m := binary.Uvarint(b.b[n:b.n]); m > 0 {
			return result, nil
		}
	}
	return 0, errors.New("the pack has a delta that is none")
}

// newHTTPClient returns a client for one run.
func newHTTPClient(next http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     &bounded{next: next, left: maxTransfer},
		CheckRedirect: checkRedirect,
	}
}

// checkRedirect follows a repository that moved on its host. The token is for
// one host alone, and content of another host is not what was configured.
func checkRedirect(r *http.Request, via []*http.Request) error {
	switch from := via[0].URL; {
	case r.URL.Host != from.Host:
		return errors.New("the server redirects to another host: name that one, if it is to be trusted")
	case r.URL.Scheme != from.Scheme:
		return fmt.Errorf("the server redirects from %s to %.16q", from.Scheme, r.URL.Scheme)
	case len(via) > maxRedirects:
		return fmt.Errorf("the server redirects more than %d times", maxRedirects)
	}
	return nil
}

// bounded limits the bytes of all answers together.
type bounded struct {
	next http.RoundTripper
	left int64
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{ReadCloser: response.Body, left: &b.left}
	}
	return response, err
}

type boundedBody struct {
	io.ReadCloser

	left *int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if *b.left <= 0 {
		return 0, fmt.Errorf("the server sends more than %d bytes", maxTransfer)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), *b.left)])
	*b.left -= int64(n)
	return n, err
}

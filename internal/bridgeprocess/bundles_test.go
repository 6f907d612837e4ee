// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprocess

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// bundleShop has one bundle, and answers once open is closed.
type bundleShop struct {
	content []byte
	open    chan struct{}
	asked   atomic.Int32
	away    int32 // for so many questions
}

func (s *bundleShop) Fetch(ctx context.Context, _ bundle.Digest) (io.ReadCloser, error) {
	if s.asked.Add(1) <= s.away {
		return nil, errors.New("connection refused")
	}
	select {
	case <-s.open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.content == nil {
		return nil, errors.New("the store is away at 10.0.0.1")
	}
	return io.NopCloser(bytes.NewReader(s.content)), nil
}

// madeBundle returns a store with a bundle, and what a configuration says of it.
func madeBundle(t *testing.T) (*bundleShop, bridgeconfig.Bundle) {
	t.Helper()
	tree, packed := t.TempDir(), &bytes.Buffer{}
	must.Succeed(t, os.WriteFile(filepath.Join(tree, "index.js"), []byte("run()"), 0o600))
	result := must.Value(bundle.Pack(tree, packed, bundle.Limits{}))(t)
	s := &bundleShop{content: packed.Bytes(), open: make(chan struct{})}
	return s, bridgeconfig.Bundle{Digest: string(result.Digest), Bytes: result.Size, Architecture: runtime.GOARCH}
}

func TestABundleIsFetchedOnceHoweverManyProgramsStartFromIt(t *testing.T) {
	s, b := madeBundle(t)
	f := newBundleFolder(s, t.TempDir(), slog.New(slog.DiscardHandler))
	impatient, leave := context.WithCancel(t.Context())
	leave()
	if err := f.Fetch(impatient, b); err == nil || !strings.Contains(err.Error(), "still being fetched") {
		t.Errorf("who cannot wait: %v", err)
	}
	var starts sync.WaitGroup
	for range 10 {
		starts.Go(func() {
			if err := f.Fetch(t.Context(), b); err != nil {
				t.Error(err)
			}
		})
	}
	close(s.open)
	starts.Wait()
	if got := string(must.Value(os.ReadFile(filepath.Join(f.path, b.Hex(), "index.js")))(t)); got != "run()" {
		t.Errorf("the file has %q", got)
	}
	again := newBundleFolder(s, f.path, slog.New(slog.DiscardHandler)) // The bridge's container was started again.
	if err := again.Fetch(t.Context(), b); err != nil || s.asked.Load() != 1 {
		t.Errorf("the store was asked %d times: %v", s.asked.Load(), err)
	}
}

func TestABundleWithOtherBytesIsNeverThere(t *testing.T) {
	s, b := madeBundle(t)
	close(s.open)
	b.Digest = "sha256:" + strings.Repeat("0", 64)
	f := newBundleFolder(s, t.TempDir(), slog.New(slog.DiscardHandler))
	if err := f.Fetch(t.Context(), b); err == nil || !strings.Contains(err.Error(), "not fetched from the installation's store") {
		t.Errorf("other bytes: %v", err)
	}
	if left := must.Value(os.ReadDir(f.path))(t); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestWhatIsSaidOfABundleThatCannotBeFetchedNamesNoAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := madeBundle(t)
		s.content = nil
		close(s.open)
		f := newBundleFolder(s, t.TempDir(), slog.New(slog.DiscardHandler))
		if err := f.Fetch(t.Context(), b); err == nil || strings.Contains(err.Error(), "10.0.0.1") || s.asked.Load() != bundleAttempts {
			t.Errorf("a store that is away was asked %d times: %v", s.asked.Load(), err)
		}
		b.Architecture = "s390x"
		if err := f.Fetch(t.Context(), b); err == nil || !strings.Contains(err.Error(), "machines of the architecture s390x") {
			t.Errorf("another architecture: %v", err)
		}
	})
}

func TestAStoreThatIsReplacedIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := madeBundle(t)
		close(s.open)
		s.away = 2
		if err := newBundleFolder(s, t.TempDir(), slog.New(slog.DiscardHandler)).Fetch(t.Context(), b); err != nil || s.asked.Load() != 3 {
			t.Errorf("asked %d times: %v", s.asked.Load(), err)
		}
	})
}

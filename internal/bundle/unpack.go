// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"errors"
	"io"
)

// Unpack reads a bundle of that digest, whose tar has size bytes, and puts its tree
// at dir, in place of what is there. Until everything has been compared with the
// digest, the tree is at dir with ".new" at the end, which the next Unpack removes.
func Unpack(ctx context.Context, r io.Reader, dir string, want Digest, size int64) error {
	return errors.ErrUnsupported
}

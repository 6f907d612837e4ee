// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// OpenSigner returns what signs the installation's own recipes, with the key in
// the file. Without a path, or without the file, it is nil and nothing is signed:
// an installation without the key is to serve nevertheless.
func OpenSigner(path string, log *slog.Logger) (*recipe.Signer, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // Nothing is signed.
	}
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		log.Warn("recipes of the seed are not signed", "error", err)
		return nil, nil //nolint:nilnil // Nothing is signed.
	}
	if err != nil {
		return nil, fmt.Errorf("read the key that signs recipes: %w", err)
	}
	s, err := recipe.ReadSigner(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image/png"
	"strings"
)

const (
	// iconPrefix begins metadata.icon: the picture is in the recipe, so that its signature covers
	// it and nobody fetches it.
	iconPrefix = "data:image/png;base64,"
	// MaxIcon is how many bytes an icon may have: one of 64 × 64 pixels has 1 to 8 KiB, and a
	// catalog keeps ten versions of each recipe.
	MaxIcon = 16 << 10
	// The side of an icon in pixels. Pages show it at 36, and at twice as many on fine screens.
	minIconSide, maxIconSide = 32, 256
)

// PNG returns the picture of metadata.icon, nil for none. It is a PNG because the standard
// library reads all of it: an SVG can hold scripts and name other files.
func PNG(m Metadata) ([]byte, error) {
	if m.Icon == "" {
		return nil, nil
	}
	encoded, ok := strings.CutPrefix(m.Icon, iconPrefix)
	if !ok {
		return nil, fmt.Errorf("must be a PNG that begins with %s, and no URL or other type", iconPrefix)
	}
	if len(encoded) > base64.StdEncoding.EncodedLen(MaxIcon) {
		return nil, fmt.Errorf("must have at most %d KiB: make it 64 × 64 pixels", MaxIcon>>10)
	}
	content, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") { // The package skips line ends.
		return nil, errors.New("is not in base64: encode the file, without line ends")
	}
	size, err := png.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("is not a PNG: %w", err)
	}
	if size.Width != size.Height || size.Width < minIconSide || size.Width > maxIconSide {
		return nil, fmt.Errorf("has %d × %d pixels: it must be a square of %d to %d", size.Width, size.Height, minIconSide, maxIconSide)
	}
	if _, err := png.Decode(bytes.NewReader(content)); err != nil {
		return nil, fmt.Errorf("is a damaged PNG: %w", err)
	}
	return content, nil
}

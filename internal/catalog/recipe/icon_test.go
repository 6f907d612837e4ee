// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
)

// drawn returns a PNG of that size, of one colour or of noise, which does not compress.
func drawn(t *testing.T, width, height int, noise bool) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = 0xff
		if noise {
			m.Pix[i] = byte(random.UintN(256))
		}
	}
	m.Set(0, 0, color.Black)
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAnIconIsASmallSquarePNG(t *testing.T) {
	of := func(content []byte) string { return iconPrefix + base64.StdEncoding.EncodeToString(content) }
	whole := drawn(t, 64, 64, false)
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-20] ^= 0xff
	for _, c := range []struct{ name, icon, problem string }{
		{"no icon", "", ""},
		{"a square", of(whole), ""},
		{"a URL of somebody else", "https://example.com/icon.png", "must be a PNG that begins with"},
		{"an SVG, which can hold scripts", "data:image/svg+xml;base64,PHN2Zy8+", "must be a PNG that begins with"},
		{"an SVG that says it is a PNG", of([]byte("<svg xmlns='http://www.w3.org/2000/svg'/>")), "is not a PNG"},
		{"line ends in the base64", iconPrefix + "iVBO\nRw0K", "is not in base64"},
		{"no square", of(drawn(t, 64, 32, false)), "has 64 × 32 pixels: it must be a square of 32 to 256"},
		{"too few pixels", of(drawn(t, 16, 16, false)), "it must be a square"},
		{"too many pixels", of(drawn(t, 512, 512, false)), "it must be a square"},
		{"too many bytes", of(drawn(t, 128, 128, true)), "must have at most 16 KiB"},
		{"a part of a picture", of(whole[:len(whole)/2]), "a damaged PNG"},
		{"damaged", of(damaged), "a damaged PNG"},
	} {
		r, err := PNG(Metadata{Icon: c.icon})
		if c.problem == "" {
			if err != nil || (r == nil) != (c.icon == "") {
				t.Errorf("%s: %d bytes, %v", c.name, len(r), err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %q", c.name, err, c.problem)
		}
		var found []string
		for _, p := range Validate(Recipe{Metadata: Metadata{Icon: c.icon}}) {
			if p.Path == "metadata.icon" {
				found = append(found, p.Message)
			}
		}
		if len(found) != 1 || !strings.Contains(found[0], c.problem) {
			t.Errorf("%s: the recipe's problems are %q", c.name, found)
		}
	}
}

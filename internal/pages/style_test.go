// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// luminance returns the relative luminance of WCAG 2.2 of a colour such as #fff or #1746a2.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	digits := strings.TrimPrefix(colour, "#")
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) != 6 {
		t.Fatalf("%q is no colour: %v", colour, err)
	}
	linear := func(c uint64) float64 {
		v := float64(c&0xff) / 255
		if v <= 0.03928 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	lighter, darker := luminance(t, a), luminance(t, b)
	if lighter < darker {
		lighter, darker = darker, lighter
	}
	return (lighter + 0.05) / (darker + 0.05)
}

func TestColoursHaveContrast(t *testing.T) {
	colours := map[string][2]string{}
	for _, found := range regexp.MustCompile(`--([a-z-]+): light-dark\((#\w+), (#\w+)\)`).FindAllStringSubmatch(Style, -1) {
		colours[found[1]] = [2]string{found[2], found[3]}
	}
	tiles := regexp.MustCompile(`\.hue\d \{ background: light-dark\((#\w+), (#\w+)\)`).FindAllStringSubmatch(Style, -1)
	if len(tiles) != 8 {
		t.Errorf("%d colours of tiles", len(tiles))
	}
	for theme, name := range []string{"light", "dark"} {
		// 4.5 is for text and 3 for edges and the focus: criteria 1.4.3 and 1.4.11 of WCAG 2.2.
		for colour, least := range map[string]float64{"text": 4.5, "muted": 4.5, "accent": 4.5, "ok": 4.5, "warn": 4.5, "bad": 4.5, "rest": 4.5, "edge": 3, "focus": 3} {
			for _, ground := range []string{"ground", "surface", "sunken"} {
				if got := contrast(t, colours[colour][theme], colours[ground][theme]); got < least {
					t.Errorf("%s: %s on %s has a contrast of %.1f", name, colour, ground, got)
				}
			}
		}
		if got := contrast(t, colours["on-accent"][theme], colours["accent"][theme]); got < 4.5 {
			t.Errorf("%s: main buttons have a contrast of %.1f", name, got)
		}
		for i, tile := range tiles {
			if got := contrast(t, tile[1+theme], colours["surface"][theme]); got < 4.5 {
				t.Errorf("%s: the letter of tile %d has a contrast of %.1f", name, i, got)
			}
		}
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// digestPrefix begins a digest.
const digestPrefix = "sha256:"

// Digest returns the SHA-256 of a recipe file.
func Digest(source string) string {
	sum := sha256.Sum256([]byte(source))
	return digestPrefix + hex.EncodeToString(sum[:])
}

// VersionOf returns the version that names a recipe: its own, else the first 12
// digits of its digest.
func VersionOf(r recipe.Recipe, digest string) string {
	if r.RecipeVersion != "" {
		return r.RecipeVersion
	}
	return strings.TrimPrefix(digest, digestPrefix)[:12]
}

// CompareVersions returns whether a is lower than, equal to or higher than b,
// as -1, 0 and 1, by the order of Semantic Versioning 2.0.0. It accepts any
// number of parts, where missing ones are 0, and a leading v.
func CompareVersions(a, b string) int {
	coreA, preA := splitVersion(a)
	coreB, preB := splitVersion(b)
	for i := range max(len(coreA), len(coreB)) {
		if c := comparePart(part(coreA, i), part(coreB, i)); c != 0 {
			return c
		}
	}
	switch {
	case preA == preB:
		return 0
	case preA == "":
		return 1 // A release is higher than its previews.
	case preB == "":
		return -1
	}
	return comparePreview(strings.Split(preA, "."), strings.Split(preB, "."))
}

func comparePreview(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if c := comparePart(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// splitVersion returns the parts of a version and what follows its hyphen. What
// follows a plus sign does not count.
func splitVersion(v string) (core []string, preview string) {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "+")
	v, preview, _ = strings.Cut(v, "-")
	return strings.Split(v, "."), preview
}

func part(parts []string, i int) string {
	if i < len(parts) {
		return parts[i]
	}
	return "0"
}

// comparePart compares numbers as numbers, of any length, and puts them before
// words.
func comparePart(a, b string) int {
	numberA, numberB := isNumber(a), isNumber(b)
	switch {
	case numberA && numberB:
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case numberA:
		return -1
	case numberB:
		return 1
	default:
		return cmp.Compare(a, b)
	}
}

func isNumber(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

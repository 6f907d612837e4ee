// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"hash/fnv"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// Tile is the picture of a server: the icon of its recipe, or else its first letter.
type Tile struct {
	// Path is where the icon is, empty for a letter.
	Path   string
	Letter string
	// Hue is one of the colours of letters.
	Hue uint32
}

// hues is how many colours letters have.
const hues = 8

// tileOf returns the tile of a server. icon is that of its recipe, empty for none.
func tileOf(server, recipe, icon string) Tile {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(server))
	t := Tile{Path: iconPath(recipe, icon), Hue: sum.Sum32() % hues}
	if first, _ := utf8.DecodeRuneInString(server); unicode.IsLetter(first) || unicode.IsDigit(first) {
		t.Letter = strings.ToUpper(string(first))
	}
	return t
}

// iconPath returns where the icon of a recipe is, empty for none. Another icon has another path.
func iconPath(name, icon string) string {
	if icon == "" {
		return ""
	}
	return "/icons/" + name + "/" + hashOf([]byte(icon)) + ".png"
}

// serveIcon answers with the icon of a recipe. It needs no session: only who has the icon knows
// its path, and it is not said which recipes there are.
func (c *core) serveIcon(call httpapi.Call) error {
	name := call.Param("recipe")
	var entry *catalog.Entry
	if c.Recipe != nil {
		entry = c.Recipe(name)
	}
	if entry == nil {
		return errNotFound
	}
	versions := []recipe.Recipe{entry.Recipe}
	for _, v := range entry.Versions {
		versions = append(versions, v.Recipe)
	}
	for _, r := range versions {
		if iconPath(name, r.Metadata.Icon) != call.Request().URL.Path {
			continue
		}
		content, err := recipe.PNG(r.Metadata)
		if err != nil {
			return errNotFound // The catalog accepts none of these.
		}
		h := call.Writer().Header()
		h.Set("Content-Type", "image/png")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		call.Writer().WriteHeader(http.StatusOK)
		_, _ = call.Writer().Write(content)
		return nil
	}
	return errNotFound
}

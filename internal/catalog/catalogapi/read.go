// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// readHandler answers readers of recipes.
type readHandler struct{ *core }

// list answers with recipes.
func (a *readHandler) list(c httpapi.Call) error {
	found, err := a.find(c, listParameters)
	if err != nil {
		return err
	}
	return listed("recipes", found, func(i *search.Item) []byte { return i.Summary }).write(c)
}

// search is list with a required text.
func (a *readHandler) search(c httpapi.Call) error {
	if err := needText(c); err != nil {
		return err
	}
	return a.list(c)
}

func needText(c httpapi.Call) error {
	q, err := listParameters.read(c.Request().URL.RawQuery)
	if err == nil && q.Text == "" {
		return errQuery.Saying("q is missing: the words to search for.")
	}
	return err
}

// find returns the recipes that a request selects.
func (a *readHandler) find(c httpapi.Call, p parameters) (search.Page, error) {
	snapshot, err := a.snapshot()
	if err != nil {
		return search.Page{}, err
	}
	q, err := p.read(c.Request().URL.RawQuery)
	if err != nil {
		return search.Page{}, err
	}
	found, err := snapshot.List(q.Query)
	return found, queryProblem(err)
}

// listed returns the page of a list, whose items are JSON already. Its ETag is
// computed from the ETags of the items, which are shorter.
func listed(member string, found search.Page, of func(*search.Item) []byte) page {
	items := make([][]byte, len(found.Items))
	for i, item := range found.Items {
		items[i] = of(item)
	}
	end := strconv.AppendInt([]byte(`],"total":`), int64(found.Total), 10)
	if found.Next != "" {
		end = append(end, `,"next":"`+found.Next+`"`...)
	}
	return page{joined(`{"`+member+`":[`, items, append(end, '}')), tagOf(member, found)}
}

var comma = []byte{','}

// joined returns the pieces of a list of items that are JSON already.
func joined(begin string, items [][]byte, end []byte) [][]byte {
	pieces := make([][]byte, 0, 2*len(items)+1)
	pieces = append(pieces, []byte(begin))
	for i, item := range items {
		if i > 0 {
			pieces = append(pieces, comma)
		}
		pieces = append(pieces, item)
	}
	return append(pieces, end)
}

// tagOf returns the ETag of a list. It is weak: it means that the same recipes
// are listed, in the form that this version of the program writes.
func tagOf(shape string, found search.Page) string {
	h := fnv.New128a()
	for _, text := range []string{shape, strconv.Itoa(found.Total), found.Next} {
		_, _ = io.WriteString(h, text+"\n")
	}
	for _, item := range found.Items {
		_, _ = io.WriteString(h, item.Entry.Name+" "+item.Entry.Revision+"\n")
	}
	return fmt.Sprintf(`W/"%x"`, h.Sum(nil))
}

// item returns the recipe of the path.
func (a *readHandler) item(c httpapi.Call) (*search.Item, error) {
	snapshot, err := a.snapshot()
	if err != nil {
		return nil, err
	}
	item, ok := snapshot.Get(c.Param("name"))
	if !ok {
		return nil, errNoRecipe
	}
	return item, nil
}

// get answers with a recipe.
func (a *readHandler) get(c httpapi.Call) error {
	item, err := a.item(c)
	if err != nil {
		return err
	}
	return pageOf(item.JSON, item.ETag).write(c)
}

// listedVersion describes a version in a list.
type listedVersion struct {
	Version    string    `json:"version"`
	Digest     string    `json:"digest"`
	AcceptedAt time.Time `json:"acceptedAt"`
	Current    bool      `json:"current,omitempty"`
	Signed     bool      `json:"signed"`
	Withdrawn  bool      `json:"withdrawn,omitempty"`
}

// versions answers with the stored versions of a recipe, the newest first.
func (a *readHandler) versions(c httpapi.Call) error {
	item, err := a.item(c)
	if err != nil {
		return err
	}
	all := make([]listedVersion, len(item.Entry.Versions))
	for i, v := range item.Entry.Versions {
		all[i] = listedVersion{v.Version, v.Digest, v.At.UTC(), i == 0, v.Recipe.Signature != nil, v.Withdrawn}
	}
	b, err := jsondoc.Marshal(struct {
		Name     string          `json:"name"`
		Versions []listedVersion `json:"versions"`
	}{item.Entry.Name, all})
	if err != nil {
		return err
	}
	return pageOf(b, item.ETag).write(c)
}

// plus decodes the plus sign in a path. Target accepts no other escapes.
var plus = strings.NewReplacer("%2B", "+", "%2b", "+")

// versionIn returns the version of the path.
func versionIn(c httpapi.Call) string { return plus.Replace(c.Param("version")) }

// version answers with the recipe file of one version.
func (a *readHandler) version(c httpapi.Call) error {
	item, err := a.item(c)
	if err != nil {
		return err
	}
	version := versionIn(c)
	for _, v := range item.Entry.Versions {
		if v.Version == version {
			if v.Withdrawn {
				return errWithdrawn
			}
			return pageOf([]byte(v.Source), `"`+v.Digest+`"`).write(c)
		}
	}
	return errNoVersion
}

// programOf answers with the package that bridges start for a recipe, and whether it is installed.
// That changes without the recipe, so it is no part of the recipe's answer.
func (a *readHandler) programOf(c httpapi.Call) error {
	item, err := a.item(c)
	if err != nil {
		return err
	}
	var p *catalog.Program
	if a.program != nil {
		p = a.program(item.Entry.Recipe)
	}
	if p == nil {
		return errNoProgram
	}
	b, err := jsondoc.Marshal(p)
	if err != nil {
		return err
	}
	h := fnv.New128a()
	_, _ = h.Write(b)
	return pageOf(b, fmt.Sprintf(`"%x"`, h.Sum(nil))).write(c)
}

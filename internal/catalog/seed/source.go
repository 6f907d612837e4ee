// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// Source is where recipe files come from.
type Source interface {
	// String returns the source's name, without credentials.
	String() string
	// Each calls f with every recipe file, in the order of their names. Files
	// that cannot be read come with their Problem. An error means that the
	// source as a whole cannot be read.
	Each(ctx context.Context, f func(File)) error
}

// File is a recipe file.
type File struct {
	// Path is where the file is in its source.
	Path string
	// Name is the recipe's name, derived from the path.
	Name    string
	Content []byte
	// Problem says why there is no content, and is empty otherwise.
	Problem string
}

// Options are settings that the place of a source does not contain.
type Options struct {
	// TokenFile holds the credentials for an archive: a token, or user:token. It
	// is read for each run, and empty for an archive that is public.
	TokenFile string
	// Transport carries the requests for an archive.
	Transport http.RoundTripper
}

// None means no source.
const None = "none"

// Forms are the places that ParseSource accepts.
const Forms = "dir:/path, archive:https://host/recipes.tar.gz#path@sha256:digest (path and digest may be left out) or none"

// errGit is for a place of a form that is not supported. It does not quote the
// place, which may contain a password.
var errGit = errors.New("git:URL is not supported: write archive:URL with the .tar.gz archive of the branch, tag or commit, " +
	"such as archive:https://github.com/OWNER/REPOSITORY/archive/REF.tar.gz#PATH in place of git:https://github.com/OWNER/REPOSITORY#REF:PATH")

// ParseSource returns the source at a place, which has one of the Forms; nil for
// none.
func ParseSource(place string, o Options) (Source, error) {
	kind, rest, _ := strings.Cut(place, ":")
	switch {
	case place == None:
		return nil, nil //nolint:nilnil // None is a choice, and no error.
	case kind == "dir" && path.IsAbs(rest):
		return directory(path.Clean(rest)), nil
	case kind == "archive":
		return parseArchive(rest, o)
	case kind == "git":
		return nil, errGit
	}
	return nil, fmt.Errorf("%q is no source of recipes: it must be %s", place, Forms)
}

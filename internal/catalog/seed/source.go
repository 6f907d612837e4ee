// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
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
	// TokenFile holds the credentials for a git repository: a token, or
	// user:token. It is read for each run, and may be empty for a public
	// repository.
	TokenFile string
	// Transport carries the requests to a git repository.
	Transport http.RoundTripper
}

// None means no source.
const None = "none"

// Forms are the places that ParseSource accepts.
const Forms = "dir:/path, git:https://host/repository#ref:path (ref and path may be left out) or none"

// ParseSource returns the source at a place, which has one of the Forms; nil for
// none.
func ParseSource(place string, o Options) (Source, error) {
	kind, rest, _ := strings.Cut(place, ":")
	switch {
	case place == None:
		return nil, nil //nolint:nilnil // None is a choice, and no error.
	case kind == "dir" && path.IsAbs(rest):
		return directory(path.Clean(rest)), nil
	case kind == "git":
		return parseRepository(rest, o)
	}
	return nil, fmt.Errorf("%q is no source of recipes: it must be %s", place, Forms)
}

func parseRepository(text string, o Options) (Source, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The errors of url.Parse quote the text, which may contain a password.
		return nil, errors.New("the URL of the recipes' repository cannot be read: the form is " + Forms)
	}
	switch {
	case u.User != nil:
		return nil, errors.New("the URL of the recipes' repository must have no user and no password: put them in a file")
	case u.Scheme != "https" || u.Host == "" || u.RawQuery != "":
		return nil, fmt.Errorf("the recipes' repository must have an https URL without a query: the form is %s", Forms)
	}
	ref, dir, _ := strings.Cut(u.Fragment, ":")
	if dir = path.Clean(strings.Trim(dir, "/")); !fs.ValidPath(dir) {
		return nil, fmt.Errorf("the path %.100q leads out of the recipes' repository", dir)
	}
	u.Fragment, u.RawFragment = "", ""
	return &repository{url: u.String(), ref: ref, dir: dir, options: o}, nil
}

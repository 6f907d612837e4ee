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
	"os"
	"path"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
)

const (
	// archiveTimeout is how long fetching an archive may take. A server may have
	// to pack it first.
	archiveTimeout = 2 * time.Minute
	// maxRedirects is how many redirects are followed. GitHub needs one.
	maxRedirects = 5
	// maxErrorText is how many characters of an error are kept: it may repeat
	// what the server wrote.
	maxErrorText = 300
)

// archive is a folder of a .tar.gz archive that a server has over HTTPS. It is
// read into memory; nothing is written to a disk.
type archive struct {
	// shown is the URL without its query, which may have credentials.
	url, shown string
	// dir is the folder inside the archive's top folder, "." for that one.
	dir string
	// digest is what the archive must have, and empty if any is accepted.
	digest  digest.Digest
	options Options
}

func parseArchive(text string, o Options) (Source, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The errors of url.Parse quote the text, which may contain a password.
		return nil, errors.New("the URL of the recipes' archive cannot be read: the form is " + Forms)
	}
	switch {
	case u.User != nil:
		return nil, errors.New("the URL of the recipes' archive must have no user and no password: put them in a file")
	case u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the recipes' archive must have an https URL: the form is %s", Forms)
	}
	a := &archive{options: o}
	dir, sum, pinned := strings.Cut(u.Fragment, "@")
	if a.dir = path.Clean(strings.Trim(dir, "/")); !fs.ValidPath(a.dir) {
		return nil, fmt.Errorf("the path %.100q leads out of the recipes' archive", dir)
	}
	if a.digest = digest.Digest(sum); pinned && (a.digest.Validate() != nil || a.digest.Algorithm() != digest.SHA256) {
		return nil, fmt.Errorf("the digest %.100q must be sha256: and 64 hexadecimal digits: the form is %s", sum, Forms)
	}
	u.Fragment, u.RawFragment = "", ""
	a.url = u.String()
	if u.RawQuery != "" {
		u.RawQuery = "..."
	}
	a.shown = u.String()
	return a, nil
}

// String implements Source.
func (a *archive) String() string {
	s := "archive:" + a.shown
	if a.dir != "." || a.digest != "" {
		s += "#"
	}
	if a.dir != "." {
		s += a.dir
	}
	if a.digest != "" {
		s += "@" + a.digest.String()
	}
	return s
}

// Each implements Source.
func (a *archive) Each(ctx context.Context, f func(File)) error {
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	files, err := a.fetch(ctx)
	if err != nil {
		return plain(ctx, err)
	}
	return each(ctx, files, f)
}

func (a *archive) fetch(ctx context.Context) (archiveTree, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	if err := a.authorize(request); err != nil {
		return nil, err
	}
	// The archive is compressed itself. The transport must not unpack it.
	request.Header.Set("Accept-Encoding", "identity")
	client := http.Client{Transport: a.options.Transport, CheckRedirect: checkRedirect}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
		return a.unpack(response.Body)
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("the server answers %d: it needs a token, or the token does not open the archive", response.StatusCode)
	case http.StatusNotFound:
		return nil, errors.New("the server answers 404: there is no such archive, or it needs a token")
	}
	return nil, fmt.Errorf("the server answers %d", response.StatusCode)
}

// authorize adds the token, if there is one: as a bearer token, or with its user
// by basic authentication.
func (a *archive) authorize(r *http.Request) error {
	if a.options.TokenFile == "" {
		return nil
	}
	b, err := os.ReadFile(a.options.TokenFile)
	if err != nil {
		return fmt.Errorf("read the token of the recipes' archive: %w", err)
	}
	user, token, named := strings.Cut(strings.TrimSpace(string(b)), ":")
	switch {
	case named && token != "":
		r.SetBasicAuth(user, token)
	case !named && user != "":
		r.Header.Set("Authorization", "Bearer "+user)
	default:
		return fmt.Errorf("the token of the recipes' archive, %s, is empty", a.options.TokenFile)
	}
	return nil
}

// checkRedirect follows redirects over HTTPS, since servers have their archives
// elsewhere. The token is for the configured host alone: not for a subdomain, to
// which net/http would send it, and not after another host was asked. Neither is
// the URL of the last request, which may have a token in its query.
func checkRedirect(r *http.Request, via []*http.Request) error {
	switch {
	case r.URL.Scheme != "https":
		return fmt.Errorf("the server redirects from https to %.16q", r.URL.Scheme)
	case len(via) > maxRedirects:
		return fmt.Errorf("the server redirects more than %d times", maxRedirects)
	}
	last := via[len(via)-1]
	if r.URL.Host != last.URL.Host || last.Header.Get("Authorization") == "" {
		r.Header.Del("Authorization")
	}
	r.Header.Del("Referer")
	return nil
}

// plain shortens errors, and removes URLs from them: that of a redirect may have
// a token in its query.
func plain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%.*s", maxErrorText, err.Error())
}

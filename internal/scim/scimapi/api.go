// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scimapi serves SCIM 2.0 to the directories of the installation. It is a shell; the
// ingress serves its routes, and package scim decides.
package scimapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/scim"
)

// Store keeps the users and groups of directories. Its errors are problems of package scim,
// after which nothing was changed, or others, after which that is not known.
type Store interface {
	IsUserID(id string) bool

	User(ctx context.Context, d *scim.Directory, id string) (scim.User, error)
	Users(ctx context.Context, d *scim.Directory, f scim.Filter) ([]scim.User, error)
	CreateUser(ctx context.Context, d *scim.Directory, u scim.User) (scim.User, error)
	ChangeUser(ctx context.Context, d *scim.Directory, id string, change func(scim.User) (scim.User, error)) (before, after scim.User, err error)
	DeleteUser(ctx context.Context, d *scim.Directory, id string, check func(scim.User) error) error

	Group(ctx context.Context, d *scim.Directory, id string) (scim.Group, error)
	Groups(ctx context.Context, d *scim.Directory, f scim.Filter) ([]scim.Group, error)
	CreateGroup(ctx context.Context, d *scim.Directory, g scim.Group) (scim.Group, error)
	ChangeGroup(ctx context.Context, d *scim.Directory, id string, change func(scim.Group) (scim.Group, error)) (before, after scim.Group, err error)
	DeleteGroup(ctx context.Context, d *scim.Directory, id string, check func(scim.Group) error) error
}

// Options are what the routes stand on. None may be nil.
type Options struct {
	Store       Store
	Directories *scim.Directories
	Metrics     *Metrics
	Log         *slog.Logger
	// URL is the installation's, without a slash at its end.
	URL string
}

const (
	// MaxBody is how long a body may be, in bytes: a group of 10,000 members with their names.
	MaxBody = 4 << 20
	// perSecond is how many requests a directory may send in a second on average. Microsoft
	// Entra asks for at least 25.
	perSecond = 50
	// maxPath holds the longest id, that of a schema, and maxQuery a filter in percent
	// encoding and a list of all attributes.
	maxPath  = 256
	maxQuery = 8192
)

var tooMany = httpapi.New(http.StatusTooManyRequests, "too_many_requests", "There were too many requests of this directory.").After(time.Second)

type api struct {
	store       Store
	directories *scim.Directories
	writer      scim.Writer
	log         *slog.Logger
	metrics     *Metrics
}

// maxAnswer is the memory for an answer while it is built, in bytes: twice the largest group.
const maxAnswer = 1 << 20

// Feature returns SCIM as a feature of the surface.
func Feature(o Options) httpapi.Feature {
	a := &api{store: o.Store, directories: o.Directories, writer: scim.Writer{URL: o.URL}, log: o.Log, metrics: o.Metrics}
	f := httpapi.Feature{
		Name: "scim", Target: target, MaxPath: maxPath, MaxQuery: maxQuery,
		HolderRate: perSecond, TooManyOfHolder: tooMany, EncodeProblem: scim.EncodeProblem,
	}
	add := func(method, path string, handle func(*exchange) error) {
		r := httpapi.Route{Method: method, Path: scim.Base + path, Access: httpapi.Keyed, NoHead: true, MaxAnswer: maxAnswer, Handle: a.admit(handle)}
		if method != http.MethodGet && method != http.MethodDelete {
			r.MaxBody, r.MediaType = MaxBody, scim.ContentType
		}
		f.Routes = append(f.Routes, r)
	}
	for path, handle := range discovery {
		add(http.MethodGet, path, discover(handle))
	}
	for _, slash := range []string{"", "/"} { // Some directories end the path of a list with a slash.
		add(http.MethodGet, "/Users"+slash, listUsers)
		add(http.MethodPost, "/Users"+slash, createUser)
		add(http.MethodGet, "/Groups"+slash, listGroups)
		add(http.MethodPost, "/Groups"+slash, createGroup)
	}
	add(http.MethodPost, "/Users/.search", searchUsers)
	add(http.MethodPost, "/Groups/.search", searchGroups)
	add(http.MethodPost, "/Bulk", notServed)
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		add(method, "/Me", notServed)
	}
	add(http.MethodGet, "/Users/:id", getUser)
	add(http.MethodPut, "/Users/:id", changeUser(scim.PutUser))
	add(http.MethodPatch, "/Users/:id", changeUser(scim.PatchUser))
	add(http.MethodDelete, "/Users/:id", deleteUser)
	add(http.MethodGet, "/Groups/:id", getGroup)
	add(http.MethodPut, "/Groups/:id", changeGroup(scim.PutGroup))
	add(http.MethodPatch, "/Groups/:id", changeGroup(scim.PatchGroup))
	add(http.MethodDelete, "/Groups/:id", deleteGroup)
	return f
}

// The forms of paths and queries. All paths below the base are the feature's, so that its
// errors are SCIM's; none needs decoding. A query passes if no two readers could split it
// differently; the quotes, spaces and brackets of filters are encoded.
var (
	pathForm  = regexp.MustCompile(`^` + scim.Base + `((/[A-Za-z0-9][A-Za-z0-9:._-]*)+|/(Users|Groups)/(\.search)?)$`)
	queryForm = regexp.MustCompile(`^` + parameter + `(&` + parameter + `)*$`)
)

const parameter = `[A-Za-z][A-Za-z]*=([A-Za-z0-9_.:~+!*'()@/,$\[\]-]|%[0-9A-Fa-f]{2})*`

func target(path string) (query *regexp.Regexp, ok bool) {
	return queryForm, pathForm.MatchString(path)
}

// exchange is a request of a directory.
type exchange struct {
	*api

	call      httpapi.Call
	directory *scim.Directory
	keyID     string
	query     scim.Query
}

// admit serves requests with the token of a directory.
func (a *api) admit(handle func(*exchange) error) func(httpapi.Call) error {
	return func(c httpapi.Call) error {
		d, keyID := a.directories.Of(c.Key())
		if d == nil {
			return c.Refuse(keyID)
		}
		if err := c.LimitRate(d.Name); err != nil {
			return err
		}
		q, err := scim.ParseQuery(c.Request().URL.RawQuery)
		if err != nil {
			return err
		}
		return handle(&exchange{api: a, call: c, directory: d, keyID: keyID, query: q})
	}
}

// search answers what a list answers, to the query in the body.
func (x *exchange) search(list func(*exchange) error) error {
	body, err := x.call.Body()
	if err != nil {
		return err
	}
	if x.query, err = scim.ParseSearch(body); err != nil {
		return err
	}
	return list(x)
}

func notServed(*exchange) error { return scim.ErrNotServed }

// act returns the context of a change: it is not given up when the directory is gone.
func (x *exchange) act() (context.Context, context.CancelFunc) {
	return httpapi.ActContext(x.call.Request().Context())
}

// audit notes what was done. A directory that is tried out does nothing yet.
func (x *exchange) audit(name, id string, unsure bool) error {
	if x.directory.DryRun {
		name += ".preview"
	}
	return x.call.Audit(httpapi.Act{Name: name, Target: id, Directory: x.directory.Name, KeyID: x.keyID, Issuer: x.directory.Issuer, Unsure: unsure})
}

// failed returns what the directory may know of the error of a change. One that may have
// been made is noted.
func (x *exchange) failed(name, id string, err error) error {
	if _, ok := errors.AsType[*httpapi.Problem](err); ok {
		return err
	}
	return errors.Join(busy(err), x.audit(name, id, true))
}

// busy returns the problem of a store that did not answer.
func busy(err error) error {
	if _, ok := errors.AsType[*httpapi.Problem](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("%w: %w", scim.ErrBusy.After(time.Second), err)
}

// checkVersion refuses a change of another version than the directory has read.
func (x *exchange) checkVersion(version string) error {
	if fields := x.call.Request().Header["If-Match"]; len(fields) > 0 && !scim.Matches(fields, version) {
		return scim.ErrVersion
	}
	return nil
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/programs"
)

const (
	// recordReaders is how many records are read at a time: one takes several times MaxRecord
	// while it is decoded and written again.
	recordReaders = 2
	// recordTimeout bounds the question for a record, which the store reads from its volume.
	recordTimeout = 5 * time.Second
	// refreshEvery is how long the catalog may say something else of a package than the API server.
	refreshEvery = 30 * time.Second
)

// ProgramOptions are what the programs are known from. None may be nil, but all are in an installation
// that does not install programs.
type ProgramOptions struct {
	// List returns the ProgramBundles of the installation as the API server has them, and Delete
	// deletes the one with that name and UID. Its error is programs.ErrGone if it does not exist.
	List   func(context.Context) ([]v1alpha1.ProgramBundle, error)
	Delete func(ctx context.Context, name, uid string) error
	// Record returns what the store knows of a bundle. Its error is programs.ErrGone if the store
	// does not have it.
	Record func(context.Context, bundle.Digest) (bundle.Record, error)
	// Bridges are the HostedBridges as they are known.
	Bridges func(context.Context) ([]*effective.Bridge, error)
}

// Programs are the programs of the installation, as administrators see them, and have one
// installed again. The routes below /admin/programs and the console's pages call them alike, and
// the audit trail has each of their acts.
type Programs struct {
	o       ProgramOptions
	reading chan struct{} // Full while as many records are read as may be.
	// installed is what Installed says, nil while it is not known.
	installed atomic.Pointer[programs.Installed]
}

// NewPrograms returns the programs of the installation.
func NewPrograms(o ProgramOptions) *Programs {
	return &Programs{o: o, reading: make(chan struct{}, recordReaders)}
}

// Installed returns what the catalog says of a package. It is nil in an installation that does not
// install programs, and while what is installed is not known.
func (p *Programs) Installed(of v1alpha1.Install) *catalog.Program {
	known := p.installed.Load()
	if known == nil {
		return nil
	}
	return known.ProgramOf(of)
}

// Run keeps what is installed known until ctx ends. While the API server does not answer, what it
// said last stands.
func (p *Programs) Run(ctx context.Context) error {
	for {
		p.Refresh(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(refreshEvery):
		}
	}
}

// Refresh has what is installed known as it is now.
func (p *Programs) Refresh(ctx context.Context) {
	if all, err := p.bundles(ctx); err == nil {
		p.installed.Store(new(programs.InstalledOf(all)))
	}
}

// Feature returns the routes of programs.
func (p *Programs) Feature() httpapi.Feature {
	const one = "/admin/programs/:program"
	readers := []oauth.Role{oauth.RoleAuditor}
	f := httpapi.Feature{Name: "programs", Params: map[string]httpapi.Param{"program": {Form: programs.NamePattern, MaxLength: programs.MaxName}}, MaxPath: maxPath, MaxQuery: maxQuery}
	if p.o.List != nil {
		f.Run = p.Run
	}
	f.Routes = []httpapi.Route{
		{Method: http.MethodGet, Path: "/admin/programs", Query: query, Roles: readers, MaxAnswer: listAnswer, Handle: p.list},
		{Method: http.MethodGet, Path: one, Roles: readers, MaxAnswer: programs.MaxFile, Handle: p.get},
		{Method: http.MethodGet, Path: one + "/changes", Query: query, Roles: readers, MaxAnswer: programs.MaxFile, Handle: p.compare},
		{Method: http.MethodGet, Path: one + "/lock", Roles: readers, MaxAnswer: programs.MaxFile, Handle: p.serve(p.Lock)},
		{Method: http.MethodGet, Path: one + "/spdx", Roles: readers, MaxAnswer: programs.MaxFile, Handle: p.serve(p.SPDX)},
		{Method: http.MethodPost, Path: one + "/reinstall", Handle: p.reinstall},
	}
	for i := range f.Routes {
		f.Routes[i].Access, f.Routes[i].AnyQuery, f.Routes[i].NoHead = httpapi.Admin, true, true
	}
	return f
}

// bundles returns the ProgramBundles.
func (p *Programs) bundles(ctx context.Context) ([]v1alpha1.ProgramBundle, error) {
	if p.o.List == nil {
		return nil, problems.ProgramsDisabled
	}
	all, err := p.o.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", problems.InventoryUnknown, err)
	}
	return all, nil
}

// findProgram returns the ProgramBundle of a name.
func findProgram(all []v1alpha1.ProgramBundle, name string) (*v1alpha1.ProgramBundle, error) {
	at := slices.IndexFunc(all, func(b v1alpha1.ProgramBundle) bool { return b.Name == name })
	if at < 0 {
		return nil, problems.ProgramNone
	}
	return &all[at], nil
}

// record calls use with what the store knows of a ProgramBundle's bundle. A few are in memory at a
// time.
func (p *Programs) record(ctx context.Context, b *v1alpha1.ProgramBundle, use func(*bundle.Record) error) error {
	digest, err := bundle.ParseDigest(b.Status.Digest)
	if err != nil {
		return problems.ProgramEmpty
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	select {
	case p.reading <- struct{}{}:
		defer func() { <-p.reading }()
	case <-ctx.Done():
		return problems.Busy
	}
	r, err := p.o.Record(ctx, digest)
	switch {
	case errors.Is(err, programs.ErrGone):
		return fmt.Errorf("%w: %w", problems.ProgramLost, err)
	case err != nil:
		return fmt.Errorf("%w: %w", problems.StoreAway, err)
	case r.Digest != digest:
		return fmt.Errorf("%w: the record is of another bundle", problems.StoreAway)
	}
	return use(&r)
}

// List returns the programs that a query asks for.
func (p *Programs) List(c httpapi.Call, query string) (programs.Page, error) {
	q, err := programs.ParseQuery(query)
	if err != nil {
		return programs.Page{}, problems.ProgramsQuery.Saying(err.Error())
	}
	all, err := p.bundles(c.Request().Context())
	if err != nil {
		return programs.Page{}, err
	}
	return programs.List(all, q), c.Audit(httpapi.Act{Name: "programs.list"})
}

// Program returns what is known of a program. What it contains is missing where the store does
// not say.
func (p *Programs) Program(c httpapi.Call, name string) (programs.Detail, error) {
	ctx := c.Request().Context()
	all, err := p.bundles(ctx)
	if err != nil {
		return programs.Detail{}, err
	}
	b, err := findProgram(all, name)
	if err != nil {
		return programs.Detail{}, err
	}
	bridges, err := p.o.Bridges(ctx)
	if err != nil {
		return programs.Detail{}, fmt.Errorf("%w: %w", problems.InventoryUnknown, err)
	}
	d := programs.DetailOf(b, all, bridges)
	err = p.record(ctx, b, func(r *bundle.Record) error {
		d.Contents = programs.ContentsOf(r)
		return nil
	})
	if err != nil {
		problem, known := errors.AsType[*httpapi.Problem](err)
		if !known {
			return programs.Detail{}, err
		}
		d.Missing = problem.Detail
	}
	return d, c.Audit(httpapi.Act{Name: "programs.get", Target: name})
}

// Compare returns what differs between a program and another one of its package.
func (p *Programs) Compare(c httpapi.Call, from, to string) (programs.Changes, error) {
	ctx := c.Request().Context()
	all, err := p.bundles(ctx)
	if err != nil {
		return programs.Changes{}, err
	}
	before, err := findProgram(all, from)
	if err != nil {
		return programs.Changes{}, err
	}
	after, err := findProgram(all, to)
	if err != nil {
		return programs.Changes{}, err
	}
	if before.Spec.Package != after.Spec.Package {
		return programs.Changes{}, problems.ProgramsQuery.Saying("from: it must be the name of another ProgramBundle of the same package")
	}
	var packages [2][]bundle.Package
	for i, b := range []*v1alpha1.ProgramBundle{before, after} {
		err := p.record(ctx, b, func(r *bundle.Record) error {
			packages[i] = r.Packages
			return nil
		})
		if err != nil {
			return programs.Changes{}, err
		}
	}
	changes := programs.Compare(packages[0], packages[1])
	changes.From, changes.To = programs.Of(before), programs.Of(after)
	return changes, c.Audit(httpapi.Act{Name: "programs.compare", Target: to})
}

// Lock returns the lock file of a program, as npm or uv wrote it.
func (p *Programs) Lock(c httpapi.Call, name string) (programs.File, error) {
	return p.file(c, name, programs.LockOf)
}

// SPDX returns the list of a program's packages as a document of SPDX.
func (p *Programs) SPDX(c httpapi.Call, name string) (programs.File, error) {
	return p.file(c, name, programs.SPDXOf)
}

func (p *Programs) file(c httpapi.Call, name string, of func(string, *bundle.Record) (programs.File, error)) (f programs.File, err error) {
	ctx := c.Request().Context()
	all, err := p.bundles(ctx)
	if err != nil {
		return f, err
	}
	b, err := findProgram(all, name)
	if err != nil {
		return f, err
	}
	err = p.record(ctx, b, func(r *bundle.Record) error {
		f, err = of(name, r)
		return err
	})
	switch {
	case errors.Is(err, programs.ErrTooLarge):
		return f, problems.ProgramTooLarge
	case err != nil:
		return f, err
	}
	return f, c.Audit(httpapi.Act{Name: "programs.download", Target: name})
}

// Reinstall deletes a ProgramBundle, so that the operator makes it again with the dependencies of
// today. uid is that of the one which the administrator read, empty for any.
func (p *Programs) Reinstall(c httpapi.Call, name, uid string) error {
	ctx, cancel := httpapi.ActContext(c.Request().Context())
	defer cancel()
	all, err := p.bundles(ctx)
	if err != nil {
		return err
	}
	b, err := findProgram(all, name)
	switch {
	case err != nil:
		return err
	case uid != "" && uid != string(b.UID):
		return problems.ProgramChanged
	}
	act := httpapi.Act{Name: "programs.reinstall", Target: name}
	err = p.o.Delete(ctx, name, string(b.UID))
	switch {
	case errors.Is(err, programs.ErrGone):
		return fmt.Errorf("%w: %w", problems.ProgramChanged, err)
	case err != nil:
		act.Unsure = true
		return errors.Join(fmt.Errorf("%w: %w", problems.KeysAway, err), c.Audit(act))
	}
	return c.Audit(act)
}

func (p *Programs) list(c httpapi.Call) error {
	u := c.Request().URL
	if u.ForceQuery {
		return problems.ProgramsQuery
	}
	page, err := p.List(c, u.RawQuery)
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, page)
}

func (p *Programs) get(c httpapi.Call) error {
	d, err := p.Program(c, c.Param("program"))
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, d)
}

func (p *Programs) compare(c httpapi.Call) error {
	given, err := url.ParseQuery(c.Request().URL.RawQuery)
	if from := given["from"]; err != nil || len(given) != 1 || len(from) != 1 {
		return problems.ProgramsQuery.Saying("give from alone: the name of another ProgramBundle of the same package")
	}
	changes, err := p.Compare(c, given.Get("from"), c.Param("program"))
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, changes)
}

func (p *Programs) serve(file func(httpapi.Call, string) (programs.File, error)) func(httpapi.Call) error {
	return func(c httpapi.Call) error {
		f, err := file(c, c.Param("program"))
		if err != nil {
			return err
		}
		f.Write(c.Writer())
		return nil
	}
}

// reinstall answers 202: the operator makes the ProgramBundle later.
func (p *Programs) reinstall(c httpapi.Call) error {
	name := c.Param("program")
	if err := p.Reinstall(c, name, ""); err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusAccepted, struct {
		Name string `json:"name"`
	}{name})
}

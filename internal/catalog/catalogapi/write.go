// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// publication is a publisher's write.
type publication struct {
	httpapi.Call

	api       *core
	publisher catalog.Publisher
	keyID     string
	snapshot  *search.Snapshot
	// dryRun means that the write is only tried: it is checked here and by the
	// API server, and nothing is stored.
	dryRun bool
}

// publishing returns a handler for requests with a publisher's key.
func (a *core) publishing(write func(publication) error) func(httpapi.Call) error {
	return func(c httpapi.Call) error {
		snapshot, err := a.snapshot()
		if err != nil {
			return err
		}
		id, keyID, ok := a.store.PublisherByKey(c.Key())
		if !ok {
			return c.Refuse(keyID)
		}
		publisher, ok := a.store.Publisher(id)
		if !ok {
			return c.Refuse(keyID) // Deleted a moment ago.
		}
		if err := c.LimitRate(id); err != nil {
			return err
		}
		a.store.NoteKeyUse(id, keyID, c.Now())
		p := publication{Call: c, api: a, publisher: publisher, keyID: keyID, snapshot: snapshot}
		if p.dryRun, err = dryRun(c); err != nil {
			return err
		}
		return write(p)
	}
}

// draft checks the recipe of the body against the current one.
func (p publication) draft(body []byte, name string, previous *catalog.Version) (catalog.Draft, []string, error) {
	d, warnings, found := p.check(body, name, previous)
	if len(found) > 0 {
		return d, nil, refusal(found, warnings)
	}
	return d, warnings, nil
}

func (p publication) check(body []byte, name string, previous *catalog.Version) (catalog.Draft, []string, []catalog.Problem) {
	doc, found := validate.Parse(body, validate.Checks{
		Name: name, Publisher: p.publisher.ID, PublicKeys: catalog.PublicKeys(p.publisher.PublicKeys),
		Now: p.Now(), Previous: previous,
	})
	d := catalog.Draft{Name: doc.Recipe.ID, Owner: p.publisher.ID, Recipe: doc.Recipe, Source: doc.Signed()}
	return d, slices.Concat(doc.Warnings, recipe.Warnings(doc.Recipe, p.Now())), found
}

// first checks a recipe that is to be new. A name that is not free is one more
// problem of a recipe with others, so that its author learns of all at once. The
// publisher's own recipe of that name is what a PUT would be checked against.
func (p publication) first(body []byte) (catalog.Draft, []string, error) {
	d, warnings, found := p.check(body, "", nil)
	e, there := p.snapshot.Entry(d.Name)
	if !there || e.Vacant() || e.Owner == p.publisher.ID && !stands(e, there) {
		if len(found) > 0 {
			return d, nil, refusal(found, warnings)
		}
		return d, warnings, nil
	}
	taken := errExists.Saying("The name belongs to somebody else. Choose another id.")
	if e.Owner == p.publisher.ID {
		taken = errExists.Saying("You have published a recipe of this name. To replace it, send it by PUT to /recipes/" + e.Name + " with If-Match.")
		d, warnings, found = p.check(body, "", before(e))
	}
	if len(found) == 0 {
		return d, nil, taken
	}
	found = append(found, catalog.Problem{Field: "id", Code: catalog.CodeTaken, Message: taken.Detail})
	return d, nil, refusal(found, warnings)
}

// refusal returns the answer for a recipe with problems. It names the warnings that
// an accepted recipe would get too, except where a problem says the same.
func refusal(found []catalog.Problem, warnings []string) error {
	listed := slices.Clone(found)
	for _, warning := range warnings {
		words := strings.Fields(warning)
		if !slices.ContainsFunc(found, func(p catalog.Problem) bool { return slices.Contains(words, p.Field) }) {
			listed = append(listed, catalog.Problem{Code: catalog.CodeWarning, Message: warning})
		}
	}
	return errInvalid.With(listed)
}

// before returns the version that the next version of an entry follows.
func before(e catalog.Entry) *catalog.Version {
	if len(e.Versions) == 0 {
		return nil
	}
	return &e.Versions[0]
}

// own returns the recipe of the path, which must be the publisher's.
func (p publication) own() (catalog.Entry, error) {
	name := p.Param("name")
	e, ok := p.snapshot.Entry(name)
	if !stands(e, ok) {
		// Its owner may have published it through another replica just now, or
		// an administrator restored it.
		ctx, cancel := context.WithTimeout(p.Request().Context(), p.api.replicaLag)
		defer cancel()
		e, ok = p.api.await(ctx, name, stands)
	}
	switch {
	case !ok || e.Vacant():
		return e, errNoRecipe
	case e.Owner != p.publisher.ID:
		return e, errNotOwner
	case e.Deleted != nil:
		return e, errNoRecipe.Saying("The recipe was deleted. The name is still yours: publish under it by POST.")
	case takenBack(e):
		return e, errTakenBack
	}
	return e, nil
}

// ownAt is own, with the revision that If-Match names, empty without one.
func (p publication) ownAt() (e catalog.Entry, revision string, err error) {
	if revision, err = ifMatch(p.Request()); err != nil {
		return e, "", err
	}
	e, err = p.own()
	return e, revision, err
}

// stands reports whether there is a recipe that its owner may change.
func stands(e catalog.Entry, there bool) bool { return there && e.Deleted == nil && !takenBack(e) }

// takenBack reports whether an administrator removed the recipe of an owner.
func takenBack(e catalog.Entry) bool {
	return e.Owner != "" && e.Recipe.ID == "" && e.Pending == nil && e.Deleted == nil
}

// create publishes a recipe under a name that is free, or that the publisher
// kept after deleting a recipe.
func (p publication) create() error {
	body, err := p.Body()
	if err != nil {
		return err
	}
	d, warnings, err := p.first(body)
	if err != nil {
		return err
	}
	if err := p.room(d.Name); err != nil {
		return err
	}
	ctx, cancel := httpapi.ActContext(p.Request().Context())
	defer cancel()
	written, err := p.api.store.CreateRecipe(ctx, catalog.Replacement{
		Name: d.Name, Owner: p.publisher.ID, DryRun: p.dryRun,
		Draft: func(live catalog.Entry) (_ catalog.Draft, err error) {
			d, warnings, err = p.draft(body, d.Name, before(live))
			return d, err
		},
	})
	if err := p.told("recipes.create", d.Name, err); err != nil {
		return err
	}
	if !p.dryRun {
		p.Writer().Header().Set("Location", "/recipes/"+d.Name)
		written = p.api.settled(ctx, written, served(d))
		return p.report(http.StatusCreated, written, d, warnings)
	}
	return p.report(http.StatusOK, written, d, warnings)
}

// update replaces a recipe of the publisher's.
func (p publication) update() error {
	e, revision, err := p.ownAt()
	if err != nil {
		return err
	}
	if revision == "" {
		return errIfMatchMissing
	}
	body, err := p.Body()
	if err != nil {
		return err
	}
	return p.replace("recipes.update", e.Name, revision, func(live catalog.Entry) (catalog.Draft, []string, error) {
		d, warnings, err := p.draft(body, live.Name, before(live))
		d.Deprecated = live.Deprecated
		return d, warnings, err
	})
}

// replace writes the result of draft for the current entry, and answers. This
// replica's own state may be older.
func (p publication) replace(named, name, revision string, draft func(catalog.Entry) (catalog.Draft, []string, error)) error {
	ctx, cancel := httpapi.ActContext(p.Request().Context())
	defer cancel()
	var d catalog.Draft
	var warnings []string
	written, err := p.api.store.UpdateRecipe(ctx, catalog.Replacement{
		Name: name, Owner: p.publisher.ID, IfMatch: revision, DryRun: p.dryRun,
		Draft: func(live catalog.Entry) (_ catalog.Draft, err error) {
			d, warnings, err = draft(live)
			return d, err
		},
	})
	if err := p.told(named, name, err); err != nil {
		return err
	}
	if !p.dryRun {
		written = p.api.settled(ctx, written, served(d))
	}
	return p.report(http.StatusOK, written, d, warnings)
}

// remove takes a recipe of the publisher's out of the catalog. The name stays
// the publisher's.
func (p publication) remove() error {
	e, revision, err := p.ownAt()
	if err != nil {
		return err
	}
	if revision == "" {
		revision = catalog.AnyRevision
	}
	ctx, cancel := httpapi.ActContext(p.Request().Context())
	defer cancel()
	err = p.api.store.RetireRecipe(ctx, e.Name, p.publisher.ID, revision, p.dryRun)
	if err := p.told("recipes.delete", e.Name, err); err != nil {
		return err
	}
	if !p.dryRun {
		p.api.await(ctx, e.Name, func(now catalog.Entry, there bool) bool { return !there || now.Deleted != nil })
	}
	return done(p.Call)
}

// told records a write in the audit trail, and returns an error if it must not
// be answered as done. A dry run is not recorded.
func (p publication) told(name, on string, err error) error {
	return tell(p.Call, httpapi.Act{Name: name, Target: on, Publisher: p.publisher.ID, KeyID: p.keyID}, err, p.dryRun, refused)
}

// tell records an act in the audit trail, unless it was only tried or certainly
// not done, and returns the error to answer with.
func tell(c httpapi.Call, a httpapi.Act, err error, tried bool, refused func(error) (bool, error)) error {
	if err == nil {
		if tried {
			return nil
		}
		return c.Audit(a)
	}
	certain, answer := refused(err)
	if certain || tried {
		return answer
	}
	a.Unsure = true
	if err := c.Audit(a); err != nil {
		return err
	}
	return answer
}

// The states of a recipe that was written.
const (
	stateServed  = "served"
	stateWaiting = "waiting"
	stateRefused = "refused"
)

// written is the answer to a write.
type written struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Revision string `json:"revision"`
	// State is served, waiting for its check, or refused for a Reason.
	State  string `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
	// DryRun means that nothing was written.
	DryRun     bool                 `json:"dryRun,omitempty"`
	Deprecated *catalog.Deprecation `json:"deprecated,omitempty"`
	Warnings   []string             `json:"warnings,omitempty"`
}

// report answers a write.
func (p publication) report(status int, e catalog.Entry, d catalog.Draft, warnings []string) error {
	w := written{
		Name: d.Name, Version: catalog.VersionOf(d.Recipe, catalog.Digest(catalog.FileOf(d.Recipe, d.Source))), Revision: e.Revision,
		DryRun: p.dryRun, Deprecated: d.Deprecated, Warnings: warnings,
	}
	if !p.dryRun {
		w.State, w.Reason = stateOf(e, d)
		tagged(p.Call, e.Revision)
	}
	return httpapi.AnswerJSON(p.Call, status, w)
}

// stateOf returns the state of a draft.
func stateOf(e catalog.Entry, d catalog.Draft) (state, reason string) {
	switch {
	case served(d)(e, true):
		return stateServed, ""
	case e.Refused != "":
		return stateRefused, e.Refused
	default:
		return stateWaiting, ""
	}
}

// served reports whether an entry serves the draft.
func served(d catalog.Draft) func(catalog.Entry, bool) bool {
	return func(e catalog.Entry, there bool) bool {
		return there && e.Accepted && e.Pending == nil && e.Owner == d.Owner &&
			catalog.Same(e.Recipe, d.Recipe) && sameDeprecation(e.Deprecated, d.Deprecated)
	}
}

// sameDeprecation compares as the API stores it, in whole seconds.
func sameDeprecation(a, b *catalog.Deprecation) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Reason == b.Reason && a.ReplacedBy == b.ReplacedBy && a.Since.Truncate(time.Second).Equal(b.Since.Truncate(time.Second))
}

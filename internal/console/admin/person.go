// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

// personPage is all about one person.
type personPage struct {
	frame
	terminal

	User v1alpha1.UserID
	Lead string
	// Detail is nil for a person whose bridge is deleted.
	Detail *overview.Detail
	// Report is nil where the access cannot be shown.
	Report        *access.Report
	Keys          []keys.Info
	KeysTrouble   string
	AccessTrouble string
	// Profiles are those that have a page.
	Profiles map[string]bool
	// Acts are what an administrator may do about the access.
	Acts []link
	// Asleep is whether an administrator may start the bridge.
	Asleep bool
	// Usage are the person's calls of the last 24 hours, nil in an installation that counts
	// none. It is not known if UsageTrouble is set.
	Usage        *overview.CallFigures
	UsageTrouble string
	Now          time.Time
}

// terminal is what an administrator runs in a terminal: Commands change what a manifest decides,
// and Events shows the events of the bridge.
type terminal struct {
	Commands []command
	Events   string
}

// link is a link to a page that asks before an act.
type link struct {
	// Word is the beginning of the label, without the person whose page it is on. The label has
	// what is seen, word for word: Label in Name of the WCAG.
	URL, Label, Word string
	Danger           bool
}

// person is the page of one person.
func (p *peoplePages) person(v *visit) error {
	user := v.user()
	page := &personPage{frame: frame{Title: string(user), Path: pathPeople}, User: user, Now: v.Now()}
	detail, err := p.People.User(v, user)
	switch {
	case err == nil:
		page.Detail, page.Commands, page.Events = &detail, commandsFor(&detail, p.Namespace), eventsCommand(&detail)
	case !isNotFound(err):
		page.Trouble = p.troubleOf(v, "The bridge", err)
	}
	report, reportErr := p.Access.Access(v, user)
	switch {
	case reportErr == nil:
		page.Report, page.Acts = &report, actsFor(user, report)
	case isNotFound(reportErr) && isNotFound(err):
		return console.ErrNotFound
	default:
		page.AccessTrouble = p.troubleOf(v, "The access", reportErr)
	}
	if page.Detail != nil {
		page.Profiles = p.profilesOf(v)
		page.Icons = p.icons()
		held, err := p.Keys.Of(v, user).List()
		if err != nil {
			page.KeysTrouble = p.troubleOf(v, "The keys", err)
		}
		page.Keys = held.Keys
		used, err := p.Trail.Analytics(v, url.Values{"userId": {string(user)}, "top": {"5"}}.Encode())
		if err != nil {
			page.UsageTrouble = p.troubleOf(v, "The calls", err)
		}
		page.Usage = used.CallFigures
	}
	if isUnderWay(detail) {
		page.Changing = updateEvery
	}
	page.Lead, page.Asleep = leadOf(page), detail.Phase == v1alpha1.PhaseAsleep && detail.Access == v1alpha1.AccessAllowed
	return p.show(v, "person", http.StatusOK, page)
}

// isUnderWay reports whether a bridge or one of its servers is starting.
func isUnderWay(d overview.Detail) bool {
	return d.Phase == v1alpha1.PhasePending || d.Phase == v1alpha1.PhaseWaking ||
		d.Phase == v1alpha1.PhaseRunning && slices.ContainsFunc(d.States, func(s v1alpha1.ServerState) bool { return s.State == v1alpha1.ServerConnecting })
}

// profilesOf returns which profiles have a page. None has one that cannot be read now.
func (p *peoplePages) profilesOf(v *visit) map[string]bool {
	found, err := p.core.Profiles.List(v.Request().Context())
	if err != nil && !errors.Is(err, ErrMayNotRead) {
		p.troubleOf(v, "The profiles", err)
	}
	names := map[string]bool{}
	for _, one := range found {
		names[one.Name] = true
	}
	return names
}

// leadOf returns the answer to how a person is.
func leadOf(p *personPage) string {
	d := p.Detail
	switch {
	case d == nil && p.Trouble != "":
		return "What is known of the access is below."
	case d == nil:
		return "The bridge is deleted. What is left of the access is below."
	}
	return d.Summary()
}

func isNotFound(err error) bool {
	p, ok := errors.AsType[*httpapi.Problem](err)
	return ok && p.Status == http.StatusNotFound
}

// act is a change of a person's access.
type act struct {
	// name ends the path, and done is what is said then.
	name, done string
	to         v1alpha1.Access
	// title and label have a place for the user.
	title, label string
	danger       bool
	// typed is whether the user id has to be typed.
	typed bool
}

var acts = []act{
	{name: "suspend", done: "suspended", to: v1alpha1.AccessSuspended, title: "Suspend %s?", label: "Suspend %s", danger: true},
	{name: "resume", done: "resumed", to: v1alpha1.AccessAllowed, title: "Allow %s again?", label: "Allow %s again"},
	{name: "offboard", done: "offboarded", to: v1alpha1.AccessOffboarded, title: "Offboard %s?", label: "Offboard %s", danger: true, typed: true},
}

// actsFor returns the acts that would change something.
func actsFor(user v1alpha1.UserID, r access.Report) []link {
	var links []link
	for _, a := range acts {
		if a.to != r.Access && (a.to != v1alpha1.AccessSuspended || r.Access != v1alpha1.AccessOffboarded) {
			word, _, _ := strings.Cut(a.label, " %s")
			links = append(links, link{pathPeople + "/" + string(user) + "/" + a.name, fmt.Sprintf(a.label, user), word, a.danger})
		}
	}
	return links
}

// confirmPage asks before an act.
type confirmPage struct {
	frame

	Text  string
	Steps []string
	// Report is what is known of the person now, nil for an act on a key.
	Report *access.Report
	Action string
	// Label is what the button does, and Back where an administrator goes who does not
	// want it.
	Label, Back string
	Danger      bool
	// Version is what the page showed, which the form repeats; empty for an act that needs none.
	Version string
	// Typed is the user id that has to be typed, empty for none, and Error what is wrong
	// with what was typed.
	Typed, Entered, Error string
}

// confirm returns the handler of the page that asks before an act, with what would follow.
func (p *peoplePages) confirm(a act) handler {
	return func(v *visit) error { return p.ask(v, a, http.StatusOK, "") }
}

// ask asks before an act. wrong says what is wrong with what was typed.
func (p *peoplePages) ask(v *visit, a act, status int, wrong string) error {
	user := v.user()
	report, err := p.Access.SetAccess(v, user, a.to, true)
	if err != nil {
		return err
	}
	person := pathPeople + "/" + string(user)
	page := &confirmPage{
		frame: frame{Title: fmt.Sprintf(a.title, user), Path: pathPeople}, Steps: report.Steps, Report: &report,
		Action: person + "/" + a.name, Label: fmt.Sprintf(a.label, user), Back: person, Danger: a.danger, Error: wrong, Entered: v.form.Get("user"),
	}
	if a.typed {
		page.Typed = string(user)
	}
	return p.show(v, "confirm", status, page)
}

// do returns the handler of an act.
func (p *peoplePages) do(a act) handler {
	return func(v *visit) error {
		user := v.user()
		if a.typed && v.form.Get("user") != string(user) {
			return p.ask(v, a, http.StatusUnprocessableEntity, "Type "+string(user)+" to confirm.")
		}
		if _, err := p.Access.SetAccess(v, user, a.to, false); err != nil {
			return err
		}
		return v.done(pathPeople+"/"+string(user), a.done)
	}
}

// wake starts a bridge that sleeps. Nothing is lost by it, so that nothing is asked before.
func (p *peoplePages) wake(v *visit) error {
	answer, err := p.People.Wake(v, v.user())
	if err != nil {
		return err
	}
	said := "awake"
	if answer.Waking {
		said = "woken"
	}
	return v.done(pathPeople+"/"+string(v.user()), said)
}

// confirmRevoke asks before a key is revoked.
func (p *peoplePages) confirmRevoke(v *visit) error {
	user, id := v.user(), v.Param("keyId")
	held, err := p.Keys.Of(v, user).List()
	if err != nil {
		return err
	}
	key, ok := held.Find(id)
	if !ok {
		return console.ErrNotFound
	}
	person := pathPeople + "/" + string(user)
	return p.show(v, "confirm", http.StatusOK, &confirmPage{
		frame: frame{Title: "Revoke " + string(user) + "'s key?", Path: pathPeople}, Text: console.RevokeText(key, v.Now()),
		Action: person + "/keys/" + id + "/revoke", Label: "Revoke key", Back: person, Danger: true,
	})
}

// revoke revokes a key.
func (p *peoplePages) revoke(v *visit) error {
	if err := p.Keys.Of(v, v.user()).Revoke(v.Param("keyId")); err != nil {
		return err
	}
	return v.done(pathPeople+"/"+string(v.user()), "revoked")
}

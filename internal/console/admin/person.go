// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

// personPage is all about one person.
type personPage struct {
	frame

	User v1alpha1.UserID
	Lead string
	// Detail is nil for a person whose bridge is deleted.
	Detail *overview.Detail
	// Report is nil where the access cannot be shown.
	Report        *access.Report
	Keys          []userkey.Info
	KeysTrouble   string
	AccessTrouble string
	// Acts are what an administrator may do about the access.
	Acts []link
	// Commands change what a manifest decides, and Events shows the events of the bridge.
	Commands []command
	Events   string
	// Asleep is whether an administrator may start the bridge.
	Asleep bool
	// Usage are the person's calls of the last 24 hours, nil in an installation that counts
	// none. It is not known if UsageTrouble is set.
	Usage        *overview.CallFigures
	UsageTrouble string
	Now          time.Time
}

// link is a link to a page that asks before an act.
type link struct {
	URL, Label string
	Danger     bool
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
		keys, err := p.Access.Keys(v, user)
		if err != nil {
			page.KeysTrouble = p.troubleOf(v, "The keys", err)
		}
		page.Keys = keys.Keys
		used, err := p.Trail.Analytics(v, url.Values{"userId": {string(user)}, "top": {"5"}}.Encode())
		if err != nil {
			page.UsageTrouble = p.troubleOf(v, "The calls", err)
		}
		page.Usage = used.CallFigures
	}
	page.Lead, page.Asleep = leadOf(page), detail.Phase == v1alpha1.PhaseAsleep && detail.Access == v1alpha1.AccessAllowed
	return p.show(v, "person", http.StatusOK, page)
}

// leadOf returns the answer to how a person is.
func leadOf(p *personPage) string {
	d := p.Detail
	switch {
	case d == nil && p.Trouble != "":
		return "What is known of the access is below."
	case d == nil:
		return "The bridge is deleted. What is left of the access is below."
	case d.Access != v1alpha1.AccessAllowed:
		return "This person's keys and logins are refused."
	case d.Phase == v1alpha1.PhaseFailed:
		return "The bridge does not run. The conditions say why."
	case d.Unhealthy > 0:
		return fmt.Sprintf("%d of %s cannot be used.", d.Unhealthy, counted(d.Servers, "server", "servers"))
	case d.Phase == v1alpha1.PhaseAsleep:
		return "The bridge is asleep, and wakes at the next call."
	case d.Servers == 0:
		return "The bridge has no servers."
	}
	return counted(d.Servers, "server", "servers") + ", " + counted(d.Tools, "tool", "tools") + ". Nothing is reported to be wrong."
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
			links = append(links, link{pathPeople + "/" + string(user) + "/" + a.name, fmt.Sprintf(a.label, user), a.danger})
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
	keys, err := p.Access.Keys(v, user)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(keys.Keys, func(k userkey.Info) bool { return k.ID == id })
	if at < 0 {
		return console.ErrNotFound
	}
	name := keys.Keys[at].Name
	if name == "" {
		name = id
	}
	person := pathPeople + "/" + string(user)
	return p.show(v, "confirm", http.StatusOK, &confirmPage{
		frame: frame{Title: "Revoke " + string(user) + "'s key?", Path: pathPeople}, Text: name + ": apps that use it lose access now.",
		Action: person + "/keys/" + id + "/revoke", Label: "Revoke key", Back: person, Danger: true,
	})
}

// revoke revokes a key.
func (p *peoplePages) revoke(v *visit) error {
	if err := p.Access.RevokeKey(v, v.user(), v.Param("keyId")); err != nil {
		return err
	}
	return v.done(pathPeople+"/"+string(v.user()), "revoked")
}

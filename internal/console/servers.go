// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// choiceClear is the choice that removes a choice.
const choiceClear = "Clear"

// catalogPage lists what the person's profiles offer.
type catalogPage struct {
	frame

	Query         string
	Have, Offered []row
	// Found is whether anything matches, and More whether anything is offered that the person
	// does not have.
	Found, More bool
	// Full is how many servers the person has if the tier allows no more, else 0.
	Full int
	// Ask is a link by which a person asks for servers, empty if the installation names no address.
	Ask template.URL
	// Administered is whether administrators have a console.
	Administered bool
}

// catalog is the page on which a person chooses servers.
func (h *serverPages) catalog(v *visit) error {
	servers, err := h.Servers.Servers(v.Request().Context(), v.bridge)
	if err != nil {
		return err
	}
	p := &catalogPage{frame: frame{Title: "Catalog", Path: pathCatalog}, Query: v.query("q"), Ask: h.askLink("that I need"), Administered: h.Administered}
	asked := h.asked(v, servers, p)
	for _, s := range servers.Servers {
		p.More = p.More || !s.Has()
		if !matches(s, p.Query) {
			continue
		}
		r := h.catalogRow(s, servers.Bridge.Status, asked)
		if p.Found = true; s.Has() {
			p.Have = append(p.Have, r)
		} else {
			p.Offered = append(p.Offered, r)
		}
	}
	p.Full, p.Changing = fullOf(servers), updateEvery(p.Have...)
	return h.show(v, "catalog", http.StatusOK, p)
}

// catalogRow returns a server as the catalog has it, with its next step.
func (h *serverPages) catalogRow(s selfservice.Server, bridge health.Status, asked requests.List) row {
	r := h.rowOf(s, bridge)
	if !s.Has() || !waitsForPerson(s) {
		r.Button = switchOf(s)
	}
	if q, found := asked.To(s.Name); found && isOnRequest(s) && q.State == requests.Open {
		r.Look, r.Button = stateAsked, &button{Label: "See the request", URL: requestForm(s.Name)}
	} else if isOnRequest(s) {
		r.Button = h.buttonOf(s)
	}
	return r
}

// waitsForPerson reports whether a server works as soon as the person sets a secret or connects an
// account. The catalog leads there, since that is the next step after such a server is turned on.
func waitsForPerson(s selfservice.Server) bool {
	return s.Fix != nil && (s.Fix.Code == selfservice.FixSetSecret || s.Fix.Code == selfservice.FixConnectAccount)
}

// fullOf returns how many servers a person has if the tier allows no more, else 0.
func fullOf(servers selfservice.Servers) int {
	has := 0
	for _, s := range servers.Servers {
		if s.Has() {
			has++
		}
	}
	if servers.Limit == nil || has < int(*servers.Limit) {
		return 0
	}
	return has
}

func matches(s selfservice.Server, query string) bool {
	query = strings.ToLower(strings.TrimSpace(query))
	return query == "" || strings.Contains(s.Name, query) || strings.Contains(strings.ToLower(s.Recipe), query) || strings.Contains(strings.ToLower(s.Description), query)
}

// switchOf returns the form by which a person turns a server on or off, nil for one that
// they cannot.
func switchOf(s selfservice.Server) *button {
	switch {
	case slices.Contains(s.Actions, selfservice.ActionTurnOn):
		return &button{Label: "Turn on " + s.Name, Choice: v1alpha1.ChoiceOn, Main: true}
	case slices.Contains(s.Actions, selfservice.ActionTurnOff):
		return &button{Label: "Turn off " + s.Name, Choice: v1alpha1.ChoiceOff}
	case slices.Contains(s.Actions, selfservice.ActionClear):
		return &button{Label: "Remove the choice about " + s.Name, Choice: choiceClear}
	}
	return nil
}

// serverPage is all about one server.
type serverPage struct {
	frame

	Server row
	Switch *button
	// Clear is whether the person's choice can be removed.
	Clear      bool
	Secrets    []secretField
	Connection *selfservice.Connection
	// Tools are nil for a server that the person does not have.
	Tools *serverTools
	// Ask is the form by which the person asks for the server, nil if they need not ask.
	Ask *askForm
}

// secretField is a form for one secret.
type secretField struct {
	Name, Server string
	Set          *selfservice.Secret
	// Missing is whether the server waits for it, and Unknown whether it is not known if it
	// is set.
	Missing, Unknown bool
	Error            string
}

// server is the page of one server.
func (h *serverPages) server(v *visit) error { return h.showServer(v, http.StatusOK, entered{}) }

// entered is what is wrong with the value that was entered for a secret, or with the reason
// of a request.
type entered struct{ Secret, Reason, Error string }

// showServer shows the page of a server, with what is wrong with what was entered on it.
func (h *serverPages) showServer(v *visit, status int, wrong entered) error {
	ctx, name := v.Request().Context(), v.Param("server")
	if name == "" {
		name = v.form.Get("server")
	}
	servers, err := h.Servers.Servers(ctx, v.bridge)
	if err != nil {
		return err
	}
	s, ok := servers.Find(name)
	if !ok {
		return errNotFound
	}
	p := &serverPage{frame: frame{Title: s.Name, Path: pathHome}, Server: h.rowOf(s, servers.Bridge.Status), Switch: switchOf(s)}
	p.Changing = updateEvery(p.Server)
	p.Clear = s.Choice != nil && (p.Switch == nil || p.Switch.Choice != choiceClear)
	if v.query("done") == doneSecret {
		p.sayWhetherItWorks()
	}
	h.addSecrets(v, p)
	h.addConnection(v, p)
	h.addRequest(v, s, p, wrong)
	p.Tools = h.toolsOf(v, s)
	for i := range p.Secrets {
		if f := &p.Secrets[i]; f.Name == wrong.Secret {
			f.Error = wrong.Error
		}
	}
	return h.show(v, "server", status, p)
}

// addSecrets adds the forms of a server's secrets.
func (h *serverPages) addSecrets(v *visit, p *serverPage) {
	secrets, err := h.Secrets.Secrets(v.Request().Context(), v.bridge)
	if err != nil {
		p.Trouble = h.troubleOf(v, "Which secrets are set", err)
	}
	for _, name := range p.Server.Secrets {
		f := fieldOf(name, secrets.Secrets)
		f.Server, f.Missing = p.Server.Name, p.Server.Fix != nil && slices.Contains(p.Server.Fix.Secrets, name)
		f.Unknown = err != nil
		p.Secrets = append(p.Secrets, f)
	}
}

// addConnection adds the account of a server. Its tokens are no secret that a person types.
func (h *serverPages) addConnection(v *visit, p *serverPage) {
	connections, err := h.Secrets.Connections(v.Request().Context(), v.bridge)
	if err != nil {
		p.Trouble = h.troubleOf(v, "The account of this server", err)
		return
	}
	found, ok := connections.ConnectionTo(p.Server.Name)
	if !ok {
		return
	}
	p.Connection = &found
	p.Secrets = slices.DeleteFunc(p.Secrets, func(f secretField) bool { return f.Name == found.Secret && found.ConnectURL != "" })
}

func fieldOf(name string, of []selfservice.Secret) secretField {
	f := secretField{Name: name}
	if at := slices.IndexFunc(of, func(s selfservice.Secret) bool { return s.Name == name }); at >= 0 {
		f.Set = &of[at]
	}
	return f
}

// choose sets or removes the choice about a server.
func (h *serverPages) choose(v *visit) error {
	ctx, name, use := v.Request().Context(), v.Param("server"), v.form.Get("use")
	servers, err := h.Servers.Servers(ctx, v.bridge)
	if err != nil {
		return err
	}
	s, ok := servers.Find(name)
	if !ok {
		return errNotFound
	}
	done := map[string]string{v1alpha1.ChoiceOn: "on", v1alpha1.ChoiceOff: "off", choiceClear: "cleared"}[use]
	switch {
	case done == "":
		return errForm
	case use == choiceClear:
		_, err = h.Servers.ClearChoice(ctx, v, v.bridge, name)
	default:
		choice := selfservice.Choice{Use: use}
		if s.Choice != nil {
			choice.Deny = s.Choice.Deny
		}
		_, err = h.Servers.Choose(ctx, v, v.bridge, name, choice)
	}
	if err != nil {
		return err
	}
	h.awaitChange(v, name)
	if back := nextPage(v.form.Get("back")); back == pathCatalog {
		return v.done(back, done)
	}
	return v.done(pathServers+"/"+name, done)
}

// confirmPage asks before what cannot be undone.
type confirmPage struct {
	frame

	Text   string
	Action string
	// Label is what the button does, and Back where a person goes who does not want it.
	Label, Back string
}

// confirmDisconnect asks before an account is disconnected.
func (h *serverPages) confirmDisconnect(v *visit) error {
	name := v.Param("server")
	connections, err := h.Secrets.Connections(v.Request().Context(), v.bridge)
	if err != nil {
		return err
	}
	found, ok := connections.ConnectionTo(name)
	if !ok || !found.Connected {
		return errNotFound
	}
	return h.show(v, "confirm", http.StatusOK, &confirmPage{
		frame: frame{Title: "Disconnect the account of " + name + "?", Path: pathHome},
		Text:  name + " stops working now, until you connect an account again.", Action: pathServers + "/" + name + "/disconnect",
		Label: "Disconnect account", Back: pathServers + "/" + name,
	})
}

// disconnect removes the tokens of a server's account.
func (h *serverPages) disconnect(v *visit) error {
	name := v.Param("server")
	if err := h.Secrets.Disconnect(v.Request().Context(), v, v.bridge, name); err != nil {
		return err
	}
	return v.done(pathServers+"/"+name, "disconnected")
}

// refused returns what is wrong with what a person entered, and false for an error that
// they cannot mend.
func refused(err error) (*httpapi.Problem, bool) {
	p, ok := errors.AsType[*httpapi.Problem](err)
	return p, ok && p.Status >= http.StatusBadRequest && p.Status < http.StatusInternalServerError && p.Status != http.StatusNotFound
}

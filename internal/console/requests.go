// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// isOnRequest reports whether a person needs an administrator's approval for a server.
func isOnRequest(s selfservice.Server) bool {
	return s.Fix != nil && s.Fix.Code == selfservice.FixRequest
}

// requestForm returns where a person asks for a server.
func requestForm(server string) string { return pathServers + "/" + server + "#ask" }

// asked returns what a person has asked for. A page of which no server is on request needs
// no answer.
func (h *serverPages) asked(v *visit, of selfservice.Servers, p *catalogPage) requests.List {
	if !slices.ContainsFunc(of.Servers, isOnRequest) {
		return requests.List{}
	}
	known, err := h.Requests.List(v.Request().Context(), v.bridge)
	if err != nil {
		p.Trouble = h.troubleOf(v, "Which servers you have asked for", err)
	}
	return known
}

// askForm is the form by which a person asks for a server, with what became of the request
// before.
type askForm struct {
	// Request is nil if the person has not asked yet.
	Request *requests.Request
	// Reason is what was entered, and Error what is wrong with it.
	Reason, Error string
}

// IsOpen reports whether the person waits for an answer.
func (f *askForm) IsOpen() bool {
	return f.Request != nil && f.Request.State == requests.Open
}

// addRequest adds the form by which a person asks for a server.
func (h *serverPages) addRequest(v *visit, s selfservice.Server, p *serverPage, wrong entered) {
	if !isOnRequest(s) {
		return
	}
	known, err := h.Requests.List(v.Request().Context(), v.bridge)
	if err != nil {
		p.Trouble = h.troubleOf(v, "Your requests", err)
		return
	}
	p.Ask = &askForm{Reason: wrong.Reason}
	if found, asked := known.To(s.Name); asked {
		p.Ask.Request = &found
	}
	if wrong.Secret == "" {
		p.Ask.Error = wrong.Error
	}
	if p.Ask.IsOpen() {
		p.Server.Look, p.Server.Text = stateAsked, ""
	}
}

// ask asks an administrator for a server.
func (h *serverPages) ask(v *visit) error {
	server, reason := v.Param("server"), v.form.Get("reason")
	_, err := h.Requests.Ask(v.Request().Context(), v, v.bridge, server, reason)
	if p, ok := refused(err); ok {
		return h.showServer(v, p.Status, entered{Reason: reason, Error: p.Detail})
	}
	if err != nil {
		return err
	}
	return v.done(pathServers+"/"+server, "asked")
}

// withdraw takes a request back.
func (h *serverPages) withdraw(v *visit) error {
	server := v.Param("server")
	if err := h.Requests.Withdraw(v.Request().Context(), v, v.bridge, server); err != nil {
		return err
	}
	return v.done(pathServers+"/"+server, "withdrawn")
}

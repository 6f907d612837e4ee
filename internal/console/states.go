// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// state is how a state looks: a word, a shape and a colour.
type state struct{ Class, Icon, Word string }

// The states.
var (
	stateWorks      = state{"ok", "works", "Works"}
	stateAsleep     = state{"rest", "asleep", "Asleep"}
	stateStarting   = state{"start", "starting", "Starting"}
	stateApplying   = state{"start", "starting", "Changing"}
	stateSecret     = state{"warn", "needs", "Needs a secret"}
	stateAccount    = state{"warn", "needs", "Needs your account"}
	stateRoom       = state{"warn", "needs", "No room"}
	stateNoEffect   = state{"warn", "needs", "Choice without effect"}
	stateNotWorking = state{"bad", "broken", "Does not work"}
	stateAdmin      = state{"bad", "broken", "Needs an administrator"}
	stateOff        = state{"off", "off", "Off"}
	stateOnRequest  = state{"off", "off", "On request"}
	stateAsked      = state{"start", "starting", "Asked for"}
	stateUnknown    = state{"off", "starting", "Not known yet"}
)

// fixStates are the states of servers that need a person.
var fixStates = map[selfservice.FixCode]state{
	selfservice.FixSetSecret: stateSecret, selfservice.FixConnectAccount: stateAccount, selfservice.FixAskAdmin: stateAdmin,
	selfservice.FixMakeRoom: stateRoom, selfservice.FixRemove: stateNoEffect, selfservice.FixRequest: stateOnRequest,
}

// stateOf returns the state of a server in a bridge of that status.
func stateOf(s selfservice.Server, bridge health.Status) state {
	if s.Fix != nil {
		if found, ok := fixStates[s.Fix.Code]; ok {
			return found
		}
	}
	switch {
	case s.Reason == selfservice.ReasonPending:
		return stateApplying
	case s.State == selfservice.ServerOff:
		return stateOff
	case s.State == health.Unhealthy, bridge == selfservice.Blocked:
		return stateNotWorking
	case s.State == health.Connecting, bridge == selfservice.Starting:
		return stateStarting
	case bridge == selfservice.Asleep:
		return stateAsleep
	case s.State == selfservice.ServerUnknown:
		return stateUnknown
	}
	return stateWorks
}

// underWay are the states that end by themselves.
var underWay = []state{stateApplying, stateStarting, stateUnknown}

// updateEvery returns after how many seconds a page with these servers looks again, 0 if
// nothing of them is under way.
func updateEvery(rows ...row) int {
	if slices.ContainsFunc(rows, func(r row) bool { return slices.Contains(underWay, r.Look) }) {
		return UpdateEvery
	}
	return 0
}

// changePause is between two looks at a change.
const changePause = 200 * time.Millisecond

// awaitChange waits until what the person changed of a server has taken effect, so that the
// next page shows it also in a browser without scripts. before are the states
// that the change ends. It gives up after Patience.
func (c *core) awaitChange(v *visit, server string, before ...state) {
	changing := slices.Concat(before, underWay)
	// Where it takes longer, the page says that it is under way.
	_ = wait.PollUntilContextTimeout(v.Request().Context(), changePause, c.Patience, false, func(ctx context.Context) (bool, error) {
		servers, err := c.Servers.Servers(ctx, v.bridge)
		s, found := servers.Find(server)
		return !found || !slices.Contains(changing, stateOf(s, servers.Bridge.Status)), err
	})
}

// row is a server in a list, with the one button that helps.
type row struct {
	selfservice.Server

	Look state
	// Text is the sentence below the name.
	Text   string
	Button *button
}

// button is a link, or a form with one choice about the server.
type button struct {
	Label, URL string
	// Mail is a link by which a person asks.
	Mail template.URL
	// Choice is what the form sends.
	Choice string
	Main   bool
}

// rowOf returns a server as a list shows it.
func (c *core) rowOf(s selfservice.Server, bridge health.Status) row {
	r := row{Server: s, Look: stateOf(s, bridge), Text: sentence(s.Message)}
	if s.Works() || s.Message == "" && s.Fix == nil {
		r.Text = toolCount(s.Tools)
		if s.Profile != "" {
			r.Text += ", from the profile " + s.Profile
		}
	}
	if s.Fix == nil {
		return r
	}
	if s.Fix.Code != selfservice.FixTurnOn && !strings.Contains(r.Text, s.Fix.Text) {
		r.Text = strings.TrimSpace(r.Text + " " + s.Fix.Text)
	}
	r.Button = c.buttonOf(s)
	return r
}

// buttonOf returns the button that mends a server, nil where there is nothing to press.
func (c *core) buttonOf(s selfservice.Server) *button {
	switch s.Fix.Code {
	case selfservice.FixSetSecret:
		return &button{Label: "Set the secret", URL: pathServers + "/" + s.Name + "#secrets", Main: true}
	case selfservice.FixConnectAccount:
		return &button{Label: "Connect account", URL: s.Fix.URL, Main: true}
	case selfservice.FixTurnOn:
		return &button{Label: "Turn on " + s.Name, Choice: v1alpha1.ChoiceOn}
	case selfservice.FixRequest:
		return &button{Label: "Ask for " + s.Name, URL: requestForm(s.Name), Main: true}
	case selfservice.FixRemove:
		return &button{Label: "Remove the choice", Choice: choiceClear}
	case selfservice.FixMakeRoom:
		return &button{Label: "Choose servers", URL: pathCatalog}
	case selfservice.FixAskAdmin:
		if link := c.askLink(s.Name); link != "" {
			return &button{Label: "Ask an administrator", Mail: link}
		}
	}
	return nil
}

// askLink returns the link by which a person asks about a server, empty if the
// installation names no address.
func (c *core) askLink(server string) template.URL {
	switch u, err := url.Parse(c.Contact); {
	case err == nil && u.Scheme == "https" && u.Host != "":
		return template.URL(u.String()) //nolint:gosec // The installation's own value, of https.
	case strings.Count(c.Contact, "@") == 1 && !strings.ContainsAny(c.Contact, " <>,?&"):
		return template.URL("mailto:" + url.PathEscape(c.Contact) + "?subject=" + url.PathEscape(c.Name+": server "+server)) //nolint:gosec // As above, escaped.
	}
	return ""
}

// asksForSecret reports whether a server waits for a secret of the person, or for another one.
func asksForSecret(s selfservice.Server) bool {
	return s.Fix != nil && s.Fix.Code == selfservice.FixSetSecret
}

func toolCount(n int) string {
	if n == 1 {
		return "1 tool"
	}
	return fmt.Sprintf("%d tools", n)
}

// doneSecret is the done of a secret that was set.
const doneSecret = "secret-set"

// sayWhetherItWorks says on the page of a server what became of a secret that was just set for
// it: a confirmation beside a server that refuses the secret would mislead.
func (p *serverPage) sayWhetherItWorks() {
	c := p.Server.Credentials
	if c == nil {
		return
	}
	switch c.State {
	case selfservice.CredentialsWork:
		p.Said = "Secret saved. The server works with it."
	case selfservice.CredentialsRefused:
		p.Trouble = "Secret saved, but the server has not accepted it yet. Check again in some seconds. If the server still refuses it, get another one and replace it."
	case selfservice.CredentialsNotSet:
		p.Trouble = "Secret saved. The server waits for another secret, or has not connected again yet."
	default:
		p.Said = "Secret saved. " + c.Check
	}
}

// doneTexts say what was done.
var doneTexts = map[string]string{
	doneSecret:       "Secret saved. Servers that use it connect again within seconds.",
	"secret-deleted": "Secret deleted.",
	"on":             "The server is being turned on.",
	"off":            "The server is being turned off.",
	"cleared":        "Your choice was removed. The profile decides.",
	"made":           "Key made. If you did not copy it, revoke it and make another.",
	"revoked":        "Key revoked. Apps that used it have lost access.",
	"disconnected":   "Account disconnected. Its tokens were deleted here; the other service may list the access until you remove it there.",
	"asked":          "An administrator has your request.",
	"withdrawn":      "The request is withdrawn.",
	"awake":          "The bridge is awake.",
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
)

// FixCode is what makes a server work, for programs. Codes never change their meaning, and
// further ones may be added.
type FixCode string

// The codes.
const (
	// FixSetSecret: set the secrets that the fix names, or replace them.
	FixSetSecret FixCode = "set_secret"
	// FixConnectAccount: log in at the page of the fix.
	FixConnectAccount FixCode = "connect_account"
	// FixAskAdmin: only an administrator can change the cause.
	FixAskAdmin FixCode = "ask_admin"
	// FixWait: the cause passes by itself, or nobody here can change it.
	FixWait FixCode = "wait"
	// FixTurnOn: the server is off by the user's choice, or waits for one.
	FixTurnOn FixCode = "turn_on"
	// FixMakeRoom: turn another server off.
	FixMakeRoom FixCode = "make_room"
	// FixRequest: ask an administrator for the server.
	FixRequest FixCode = "request"
	// FixRemove: remove the choice about the server, which has no effect or leads to a
	// server that cannot be used.
	FixRemove FixCode = "remove"
)

// Fix is what makes a server work.
type Fix struct {
	Code FixCode `json:"code"`
	// Text is one sentence for the user.
	Text string `json:"text"`
	// Secrets are the names of the secrets to set.
	Secrets []string `json:"secrets,omitempty"`
	// URL is the page to open: to connect the account, or to get the secrets.
	URL string `json:"url,omitempty"`
}

// patience is how long a server may fail by itself before it is for an administrator: most
// restarts and outages are shorter.
const patience = time.Hour

// fixOf returns what makes a server work, nil if it works.
func fixOf(v View, s Server) *Fix {
	if s.Reason == ReasonPending {
		return &Fix{Code: FixWait, Text: "Wait some seconds."}
	}
	switch s.State {
	case ServerOff:
		return fixOff(v, s)
	case health.Unhealthy:
		return fixUnhealthy(v, s)
	case health.Connecting:
		if fix := fixCredentials(v, s); refuses(s) && fix != nil {
			return fix
		}
		return &Fix{Code: FixWait, Text: "Wait until the bridge has connected to the server."}
	}
	if e, offers := entry(v.Bridge, s.Name); offers && e.Reason == v1alpha1.ReasonChoiceIgnored {
		return &Fix{Code: FixRemove, Text: "Remove the choice, which has no effect: the profile " + e.Profile + " requires the server."}
	}
	return nil
}

func fixOff(v View, s Server) *Fix {
	if e, offers := entry(v.Bridge, s.Name); offers && v.Recipe.Excludes(e) {
		return &Fix{Code: FixRemove, Text: "Remove the choice, because this installation cannot run the server."}
	}
	switch s.Reason {
	case ReasonOff:
		return &Fix{Code: FixTurnOn, Text: "Turn the server on."}
	case ReasonNotApproved:
		return &Fix{Code: FixRequest, Text: "Ask for the server."}
	case ReasonOfferChanged:
		return &Fix{Code: FixRequest, Text: "Ask for the server again."}
	case ReasonNoRoom:
		if s.Use == "" {
			return &Fix{Code: FixAskAdmin, Text: "Turn another server off, or ask an administrator for a larger tier."}
		}
		return &Fix{Code: FixMakeRoom, Text: "Turn another server off, or ask an administrator for a larger tier."}
	case ReasonChoiceIgnored:
		return &Fix{Code: FixRemove, Text: "Remove the choice, or ask an administrator for the server."}
	}
	return nil // A server of the HostedBridge has the name; nothing is missing.
}

// askAdmin has the reasons that only an administrator can change, with what to ask for.
var askAdmin = map[string]string{
	health.ReasonToolsChanged:    "Ask an administrator to audit the server's tools again.",
	health.ReasonAddressRefused:  "Ask an administrator to allow the server's address.",
	health.ReasonNameNotResolved: "Ask an administrator to correct the server's address.",
	health.ReasonPackageNotFound: "Ask an administrator to correct the name or the version of the server's package.",
	health.ReasonProgramEnded:    "See what the server's program wrote last, on its page. If that names nothing that you can change, such as a secret, ask an administrator.",
	"not_found":                  "Ask an administrator for another recipe, because the catalog does not have this one.",
	"not_accepted":               "Ask an administrator for another recipe, because the catalog does not serve this one.",
	"version_unknown":            "Ask an administrator for another version of the recipe.",
	"local_only":                 "Run the server on your own machine, because its author does not allow to host it.",
	reasonNotHostable:            "Ask an administrator, because this installation cannot run the server.",
	"secret_not_granted":         "Ask an administrator to grant the server the secrets of its recipe.",
}

// unusableRecipes are the reasons after which a server that the user chose is best removed.
var unusableRecipes = []string{"not_found", "not_accepted", "version_unknown", "local_only", reasonNotHostable}

func fixUnhealthy(v View, s Server) *Fix {
	if fix := fixCredentials(v, s); fix != nil {
		return fix
	}
	switch {
	case slices.Contains(unusableRecipes, s.Reason) && useOf(s.Choice) == v1alpha1.ChoiceOn:
		return &Fix{Code: FixRemove, Text: "Remove the server, or ask an administrator, because its recipe cannot be used."}
	case askAdmin[s.Reason] != "":
		return &Fix{Code: FixAskAdmin, Text: askAdmin[s.Reason]}
	case s.Since != nil && v.Now.Sub(*s.Since) > patience:
		return &Fix{Code: FixAskAdmin, Text: fmt.Sprintf("Ask an administrator, because the server has not worked since %s.", s.Since.UTC().Format("2 January 15:04 MST"))}
	}
	return &Fix{Code: FixWait, Text: "Wait: the bridge tries the server again every minute."}
}

// refuses reports whether a server refuses its secrets or login, also at the first try: to wait does
// not change that. One refusal of a server that works is no reason to replace them.
func refuses(s Server) bool {
	return s.State != health.Healthy && (s.Reason == health.ReasonCredentialsRefused || s.Reason == health.ReasonLoginRequired)
}

// fixCredentials returns what mends a server that lacks a secret or a login, or whose server
// refuses them; nil for any other.
func fixCredentials(v View, s Server) *Fix {
	refused := s.Reason == health.ReasonCredentialsRefused
	page, missing := v.page(s), v.missing(s)
	if s.Reason == health.ReasonSecretMissing && len(missing) == 0 {
		missing = s.Secrets // The status lags behind the bridge.
	}
	switch {
	case page != "" && (refused || s.Reason == health.ReasonLoginRequired):
		return &Fix{Code: FixConnectAccount, Text: "Connect your account.", URL: page}
	case len(missing) > 0:
		return &Fix{Code: FixSetSecret, Text: "Set " + strings.Join(missing, ", ") + ".", Secrets: missing}
	case (refused || s.Reason == health.ReasonLoginRequired) && len(s.Secrets) > 0:
		return &Fix{Code: FixSetSecret, Text: "Replace " + strings.Join(s.Secrets, ", ") + ".", Secrets: s.Secrets}
	case refused:
		return &Fix{Code: FixAskAdmin, Text: "Ask an administrator to give the server credentials."}
	}
	return nil
}

// page returns where the account of the server is connected, empty if it has none.
func (v View) page(s Server) string {
	if r := v.Report.Servers[s.Name]; r.ConnectURL != "" {
		return r.ConnectURL
	}
	if v.ConnectPage == nil || loginOf(v.Bridge, s.Name) == nil {
		return ""
	}
	return v.ConnectPage(s.Name)
}

// offMessage explains a server that the bridge does not have.
func offMessage(v View, s Server) string {
	switch s.Reason {
	case ReasonOff:
		if useOf(s.Choice) == v1alpha1.ChoiceOff {
			return "You turned this server off."
		}
		return "The profile " + s.Profile + " offers this server."
	case ReasonNotApproved:
		return "The profile " + s.Profile + " offers this server on request."
	case ReasonOfferChanged:
		return "The profile " + s.Profile + " offers another server under this name than the one that was approved: " + OfferOf(v.Bridge, s.Name) + "."
	case ReasonShadowed:
		return "The HostedBridge has a server of this name of its own."
	case ReasonNoRoom:
		if v.ServerLimit != nil {
			return fmt.Sprintf("The tier %s allows %d servers, and there is no room for this one.", v.Bridge.Spec.Tier, *v.ServerLimit)
		}
		return "The tier has no room for this server."
	}
	return ""
}

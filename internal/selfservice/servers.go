// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// The states of a server of which the bridge reports nothing.
const (
	// ServerOff: a profile offers the server, and the bridge does not have it.
	ServerOff health.Status = "off"
	// ServerUnknown: the bridge has the server, and has not reported it yet.
	ServerUnknown health.Status = "unknown"
)

// The reasons of a server that come from profiles, beside those of /health.
const (
	ReasonOff           = "off"
	ReasonShadowed      = "shadowed"
	ReasonNoRoom        = "no_room"
	ReasonChoiceIgnored = "choice_ignored"
	// ReasonNotApproved: a profile offers the server on request, and no request of the user
	// is approved.
	ReasonNotApproved = "not_approved"
	// ReasonOfferChanged: what was approved is not what the profile offers now.
	ReasonOfferChanged = "offer_changed"
	reasonOutOfService = "out_of_service"
	reasonNotHostable  = "not_hostable"
	// ReasonPending: the operator has not acted on the choice yet.
	ReasonPending = "pending"
)

// Servers are the servers of a bridge, and those that its profiles offer.
type Servers struct {
	Bridge  Bridge   `json:"bridge"`
	Servers []Server `json:"servers"`
	// Limit is how many servers the tier allows, null for any number.
	Limit *int32 `json:"limit"`
}

// Server is a server of a bridge, or one that a profile offers.
type Server struct {
	Name string `json:"name"`
	// Description says what the server is for: its own text, or else that of its recipe in
	// the catalog. It is empty if there is neither.
	Description string `json:"description,omitempty"`
	// Author is who makes the server, as its recipe says. It is empty if that is not known.
	Author string `json:"author,omitempty"`
	// Icon is the picture of its recipe, empty for none. Pages show it; the API does not have it.
	Icon string `json:"-"`
	// Recipe is the name of the server's recipe, empty if it has none.
	Recipe string `json:"recipe,omitempty"`
	// Program is the package of npm that the server is started from, nil for none.
	Program *catalog.Program `json:"program,omitempty"`
	// Profile is the BridgeProfile that gives or offers the server, and Use how. They are
	// empty for a server of the HostedBridge itself.
	Profile string             `json:"profile,omitempty"`
	Use     v1alpha1.ServerUse `json:"use,omitempty"`
	// State is healthy, unhealthy or connecting as in the answer of /health, off or
	// unknown.
	State health.Status `json:"state"`
	// Reason classifies Message, for programs: a reason of /health, of status.recipes or
	// of this package, in lower case with underscores.
	Reason  string     `json:"reason,omitempty"`
	Message string     `json:"message,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	Tools   int        `json:"tools"`
	// LastLines are what a program that failed wrote last, as in the answer of /health.
	LastLines []string `json:"lastLines,omitempty"`
	// KnownTools are some of the tools of a server that is offered, as its recipe has them.
	KnownTools []string `json:"knownTools,omitempty"`
	// ToolNames says which names clients see of its tools, or would see, in one sentence.
	ToolNames string `json:"toolNames,omitempty"`
	// Secrets are the names of the secrets that the server may use, or would use if it were
	// turned on.
	Secrets []string `json:"secrets"`
	// Credentials say where the user gets the secrets and whether these work, nil for a server
	// of which the user sets none.
	Credentials *Credentials `json:"credentials,omitempty"`
	// Fix is what makes the server work, nil if it works.
	Fix *Fix `json:"fix,omitempty"`
	// Choice is the user's choice about the server, nil without one.
	Choice *Choice `json:"choice,omitempty"`
	// Actions are what the user may do: turn_on, turn_off, clear, which removes the choice,
	// and ask, which asks an administrator for the server.
	Actions []Action `json:"actions"`
}

// Has reports whether the bridge has the server.
func (s Server) Has() bool { return s.State != ServerOff }

// Works reports whether nothing is to be done about the server.
func (s Server) Works() bool { return s.State == health.Healthy && s.Fix == nil }

// Find returns the server of that name.
func (s Servers) Find(name string) (Server, bool) {
	at := slices.IndexFunc(s.Servers, func(o Server) bool { return o.Name == name })
	if at < 0 {
		return Server{}, false
	}
	return s.Servers[at], true
}

// ServersOf returns the servers of a bridge in the order of its spec, and then the others
// that its profiles offer, and those that are only chosen.
func ServersOf(v View) Servers {
	out := Servers{Bridge: BridgeOf(v), Servers: []Server{}, Limit: v.ServerLimit}
	grants := route.GrantsOf(v.Bridge)
	add := func(s Server) {
		if _, known := out.Find(s.Name); known {
			return
		}
		s.Choice, s.Actions = ChoiceOf(v.Bridge.HostedBridge, s.Name), []Action{}
		s.Secrets = grants.Of(s.Name)
		out.Servers = append(out.Servers, complete(v, s))
	}
	for _, s := range v.Bridge.Spec.Servers {
		add(v.reported(s.Server))
	}
	for _, e := range offered(v.Bridge) {
		// A server that cannot run here is no offer. Users see it only to remove their choice.
		if !v.Recipe.Excludes(e) || ChoiceOf(v.Bridge.HostedBridge, e.Name) != nil {
			add(v.withheld(e))
		}
	}
	if e := v.Bridge.Status.Effective; e != nil {
		for _, name := range e.LeftOut {
			add(Server{Name: name, State: ServerOff, Reason: ReasonNoRoom})
		}
	}
	for _, i := range bridgestate.IgnoredChoices(v.Bridge) {
		if i.Server != "" {
			add(Server{Name: i.Server, State: ServerOff, Reason: ReasonChoiceIgnored, Message: sentence(i.Why)})
		}
	}
	return out
}

// offered returns what the bridge's profiles say of servers.
func offered(b *effective.Bridge) []v1alpha1.EffectiveServer {
	if b.Status.Effective == nil {
		return nil
	}
	return b.Status.Effective.Servers
}

// given returns the entry of the profile that gives a server which the bridge has.
func given(b *effective.Bridge, server string) (v1alpha1.EffectiveServer, bool) {
	for _, e := range offered(b) {
		if e.Name == server {
			return e, effective.Gives(e)
		}
	}
	return v1alpha1.EffectiveServer{}, false
}

// reported returns a server that the bridge has, with what its report says of it.
func (v View) reported(of v1alpha1.Server) Server {
	s := Server{Name: of.Name, Description: of.Description, State: ServerUnknown, Message: "The bridge has not reported the server yet."}
	if of.Recipe != nil {
		s.Recipe = of.Recipe.Name
	}
	if p := of.Transport.Stdio; v.Program != nil && p != nil && p.Image == "" && p.Install != nil {
		s.Program = v.Program(recipe.Recipe{}, p.Install)
	}
	if by, ok := given(v.Bridge, of.Name); ok {
		s.Profile, s.Use = by.Profile, by.Use
	}
	if r, ok := v.Report.Servers[of.Name]; ok {
		s.State, s.Reason, s.Message, s.Since, s.Tools, s.LastLines = r.Status, r.Reason, r.Error, r.Since, r.Tools, r.LastLines
	}
	return s
}

// withheld returns a server that a profile offers and that the bridge does not have.
func (v View) withheld(e v1alpha1.EffectiveServer) Server {
	s := Server{Name: e.Name, Recipe: e.Recipe, Profile: e.Profile, Use: e.Use, State: ServerOff, Reason: ReasonPending}
	switch e.Reason {
	case v1alpha1.ReasonServerOff:
		s.Reason = ReasonOff
	case v1alpha1.ReasonServerShadowed:
		s.Reason = ReasonShadowed
	case v1alpha1.ReasonServerNoRoom:
		s.Reason = ReasonNoRoom
	case v1alpha1.ReasonNotApproved:
		s.Reason = ReasonNotApproved
	case v1alpha1.ReasonOfferChanged:
		s.Reason = ReasonOfferChanged
	}
	return s
}

// complete adds what follows from the rest of a server: whether a choice about it is
// pending, the words, the fix and the actions.
func complete(v View, s Server) Server {
	if s.Recipe != "" {
		s = ofRecipe(v, s)
	}
	s = withChoice(v, s)
	if s.State == health.Unhealthy && s.Reason == "" {
		s.Reason = reasonOutOfService // As in the status.
	}
	if s.Reason == reasonNotHostable {
		s.Message = "This installation cannot run the server." // The cause is for administrators.
	}
	s.Message = cmp.Or(s.Message, offMessage(v, s))
	s.ToolNames, s.Credentials = toolNames(v, s), credentialsOf(v, s)
	s.Fix = fixOf(v, s)
	if s.Fix != nil && s.Fix.Code == FixSetSecret && s.Credentials != nil {
		s.Fix.URL = s.Credentials.URL
	}
	return s
}

// withChoice adds what a user may do about a server, and whether their choice is pending.
func withChoice(v View, s Server) Server {
	e, offers := entry(v.Bridge, s.Name)
	if !offers {
		if s.Choice != nil {
			s.Actions = []Action{ActionClear}
		}
		return s
	}
	s.Actions = actionsOf(e, s.Choice)
	if v.Recipe.Excludes(e) {
		s.Actions = slices.DeleteFunc(s.Actions, func(a Action) bool { return a == ActionTurnOn || a == ActionAsk })
	}
	if isPending(e, s.Choice) {
		s.Reason, s.Message = ReasonPending, "The choice is being applied."
		if s.State != ServerOff {
			s.State = health.Connecting
		}
	}
	return s
}

func entry(b *effective.Bridge, server string) (v1alpha1.EffectiveServer, bool) {
	for _, e := range offered(b) {
		if e.Name == server {
			return e, true
		}
	}
	return v1alpha1.EffectiveServer{}, false
}

// missing returns the secrets that the server needs and that are not set.
func (v View) missing(s Server) []string {
	if v.Bridge.Status.Secrets == nil {
		return nil
	}
	var names []string
	for _, name := range s.Secrets {
		if slices.Contains(v.Bridge.Status.Secrets.Missing, name) {
			names = append(names, name)
		}
	}
	return names
}

// sentence returns a clause as a sentence.
func sentence(clause string) string {
	if clause == "" {
		return ""
	}
	return strings.ToUpper(clause[:1]) + clause[1:] + "."
}

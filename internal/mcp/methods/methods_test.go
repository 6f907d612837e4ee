// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package methods

import (
	"strings"
	"testing"
)

func TestRowsContradictNothing(t *testing.T) {
	t.Parallel()
	for name, m := range table {
		request, fromClient := !m.Notification, m.FromClient()
		rules := map[string]bool{
			"it has a sender and a version":                             m.From != 0 && m.In != 0,
			"a notification's name says so":                             m.Notification == strings.HasPrefix(name, "notifications/"),
			"the table finds it by its name":                            Of(name).Name == name,
			"only requests that are passed on name something":           m.Names == Nothing || request && m.ToServers(),
			"only requests that are passed on are repeated":             m.Repeats == Never || request && m.ToServers(),
			"what may be answered by an earlier answer may repeat":      m.Kept == Never || m.Repeats != Never,
			"only requests of clients let servers ask":                  !m.Asks || request && fromClient,
			"only requests of servers ask clients":                      !m.IsQuestion() || request && m.ToClients() && !fromClient,
			"only notifications of servers say what has changed":        !m.IsChange() || m.ToClients() && m.Notification,
			"only notifications of servers belong to a call":            !m.OfCall || m.ToClients() && m.Notification,
			"methods of sessions are gone with them":                    !m.Session || m.In == Legacy,
			"lists say how their result looks, and how long it is good": !m.IsList() || m.Cacheable && m.List.Key != "" && m.List.Kind != "",
			"the beginning of a connection is an opening":               !m.Introduces || m.Opening && fromClient,
			"a stream is an opening":                                    !m.Stream || m.Opening && fromClient,
			"content comes from servers that may ask":                   m.Content == "" || m.Asks,
		}
		for rule, holds := range rules {
			if !holds {
				t.Errorf("%s: does not hold: %s", name, rule)
			}
		}
		for _, list := range m.Outdates {
			if !Of(list).IsList() {
				t.Errorf("%s outdates %s, which is no list", name, list)
			}
		}
	}
	for _, name := range Lists {
		if !Of(name).IsList() {
			t.Errorf("%s is among the lists and is none", name)
		}
	}
	for _, name := range Changes {
		if !Of(name).IsChange() {
			t.Errorf("%s is among the changes and is none", name)
		}
	}
}

func TestUnknownMethodsAreNobodys(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "tools", "Tools/Call", "example.dev/x", "notifications/example"} {
		m := Of(name)
		if m.FromClient() || m.ToServers() || m.ToClients() || m.Opening || m.In != 0 {
			t.Errorf("%q has the row %+v", name, m)
		}
	}
	if !Of("notifications/example").Notification || Of("example.dev/x").Notification {
		t.Error("names do not tell unknown notifications from unknown requests")
	}
}

func TestAMethodHasOneRow(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a second row for tools/call was added")
		}
	}()
	Add(Method{Name: CallTool})
}

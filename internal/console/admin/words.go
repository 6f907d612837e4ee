// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/pages"
)

// state is how a state looks: a word, a shape and a colour.
type state struct{ Class, Icon, Word string }

// phases are the phases of bridges, in the order in which pages have them.
var phases = []v1alpha1.Phase{
	v1alpha1.PhaseRunning, v1alpha1.PhaseAsleep, v1alpha1.PhaseWaking, v1alpha1.PhasePending, v1alpha1.PhaseFailed, v1alpha1.PhaseSuspended, v1alpha1.PhaseOffboarded,
}

var phaseStates = map[v1alpha1.Phase]state{
	v1alpha1.PhaseRunning:    {"ok", "works", "Running"},
	v1alpha1.PhaseAsleep:     {"rest", "asleep", "Asleep"},
	v1alpha1.PhaseWaking:     {"start", "starting", "Waking"},
	v1alpha1.PhasePending:    {"start", "starting", "Pending"},
	v1alpha1.PhaseFailed:     {"bad", "broken", "Failed"},
	v1alpha1.PhaseSuspended:  {"warn", "suspended", "Suspended"},
	v1alpha1.PhaseOffboarded: {"off", "off", "Offboarded"},
}

// phaseOf returns the look of a phase. A bridge that the operator has not seen has none.
func phaseOf(p v1alpha1.Phase) state {
	if found, ok := phaseStates[p]; ok {
		return found
	}
	return state{"off", "starting", "Not known yet"}
}

// serverStateOf returns the look of a server's state.
func serverStateOf(s v1alpha1.ServerState) state {
	switch s.State {
	case v1alpha1.ServerHealthy:
		return state{"ok", "works", "Works"}
	case v1alpha1.ServerConnecting:
		return state{"start", "starting", "Connecting"}
	case v1alpha1.ServerUnhealthy:
		return state{"bad", "broken", overview.Words(s.Reason)}
	}
	return state{"off", "starting", "Not known yet"}
}

// troubles are conditions that are true where something is wrong, or under way.
var troubles = []string{
	v1alpha1.ConditionConflicting, v1alpha1.ConditionRecipeDeprecated, v1alpha1.ConditionProgressing,
	v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled,
}

// conditionOf returns the look of a condition.
func conditionOf(c metav1.Condition) state {
	isGood := (c.Status == metav1.ConditionTrue) != slices.Contains(troubles, c.Type)
	switch {
	case c.Status == metav1.ConditionUnknown:
		return state{"off", "starting", overview.ConditionWords(c)}
	case isGood:
		return state{"ok", "works", overview.ConditionWords(c)}
	case c.Type == v1alpha1.ConditionProgressing, c.Type == v1alpha1.ConditionReconciling:
		return state{"start", "starting", overview.ConditionWords(c)}
	}
	return state{"warn", "needs", overview.ConditionWords(c)}
}

// accessOf returns the look of an access.
func accessOf(a v1alpha1.Access) state {
	switch a {
	case v1alpha1.AccessAllowed:
		return state{"ok", "works", "Allowed"}
	case v1alpha1.AccessOffboarded:
		return state{"off", "off", "Offboarded"}
	}
	return state{"warn", "suspended", "Suspended"}
}

// replicasOf returns the look of the replicas of a process.
func replicasOf(r Replicas) state {
	word := fmt.Sprintf("%d of %d ready", r.Ready, r.Wanted)
	switch {
	case r.Ready >= r.Wanted:
		return state{"ok", "works", word}
	case r.Ready > 0:
		return state{"warn", "needs", word}
	}
	return state{"bad", "broken", word}
}

// storeOf returns the look of a store.
func storeOf(s Store) state {
	if s.Err != nil {
		return state{"bad", "broken", "Does not answer"}
	}
	return state{"ok", "works", "Answers"}
}

// backupDue is the age at which a backup is too old, as in the alert HostedBridgeBackupOld.
const backupDue = 36 * time.Hour

// backupsOf returns the look of backups.
func backupsOf(b Backups, now time.Time) state {
	switch {
	case !b.Configured:
		return state{"warn", "needs", "Not configured"}
	case b.Err != nil:
		return state{"warn", "needs", "Not shown"}
	case b.Suspended:
		return state{"warn", "suspended", "Suspended"}
	case b.Last.IsZero() && now.Sub(b.Since) <= backupDue:
		return state{"start", "starting", "None yet"}
	case b.Last.IsZero():
		return state{"bad", "broken", "None"}
	case now.Sub(b.Last) > backupDue:
		return state{"bad", "broken", "Too old"}
	}
	return state{"ok", "works", "Current"}
}

// providerOf returns the look of an identity provider, by what it did last.
func providerOf(p flow.ProviderHealth) state {
	switch {
	case p.Failed.After(p.Answered):
		return state{"warn", "needs", "Does not say who people are"}
	case p.NoToken:
		return state{"warn", "needs", "Gives no refresh token"}
	case p.Answered.IsZero():
		return state{"off", "starting", "Not asked yet"}
	}
	return state{"ok", "works", "Answers"}
}

// actorOf returns who made an entry.
func actorOf(p audit.Principal) string {
	text := map[audit.Kind]string{
		audit.KindUserKey: "key", audit.KindAdminKey: "the admin key", audit.KindPublisherKey: "publisher's key",
		audit.KindOAuth: "login", audit.KindInstallation: "the installation",
	}[p.Kind]
	if text == "" {
		text = string(p.Kind)
	}
	if p.Role != "" {
		text = p.Role + ", by " + text
	}
	return pages.Visible(text, pages.NameLength)
}

// deedOf returns what an entry is about: a tool with its server, or an act by the name that
// the trail has.
func deedOf(e audit.Entry) string {
	if e.Method == methods.CallTool {
		return strings.TrimSpace(e.Server + " " + e.Tool)
	}
	return strings.TrimSpace(e.Method + " " + e.Action)
}

// endedOf says how calls ended. The percentage is of the calls that ran: refused ones did not.
func endedOf(f overview.Figures) string {
	denied := f.ByStatus[audit.Denied]
	ran := f.Total - f.RateLimited - denied
	text := calls(f.Total)
	if f.Total == 0 {
		return text
	}
	text += ": " + number(ran) + " ran, " + number(f.Errors) + " of these failed"
	if ran > 0 {
		text += " (" + percent(f.ErrorRate) + ")"
	}
	if f.RateLimited > 0 {
		text += ", " + number(f.RateLimited) + " over a quota"
	}
	if denied > 0 {
		text += ", " + number(denied) + " not allowed"
	}
	return text
}

// percent returns a part of one as a percentage.
func percent(part float64) string {
	switch p := part * 100; {
	case p == 0:
		return "0 %"
	case p < 0.1:
		return "< 0.1 %"
	default:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
}

// number returns a number with spaces between its thousands.
func number(n any) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// visible returns a long text of others as it may be shown.
func visible(s string) string { return pages.Visible(s, pages.ResultLength) }

// calls returns a number of calls.
func calls(n any) string { return counted(n, "call", "calls") }

// counted returns a number of things.
func counted(n any, one, many string) string {
	if fmt.Sprint(n) == "1" {
		return "1 " + one
	}
	return number(n) + " " + many
}

// named is a user that a page names, which may have no page any more.
type named struct {
	User  string
	Known bool
}

func personAt(known map[v1alpha1.UserID]bool, user any) named {
	name := fmt.Sprint(user)
	return named{name, known[v1alpha1.UserID(name)]}
}

// doneTexts say what was done.
var doneTexts = map[string]string{
	"suspended":   "The access is suspended. Keys and logins are refused within a second.",
	"resumed":     "The access is allowed again.",
	"offboarded":  "The offboarding has begun. This page says how far it is.",
	"approved":    "The request is approved. The user can turn the server on within seconds.",
	"refused":     "The request is refused. The user reads the reason.",
	"woken":       "The bridge wakes. It takes calls within seconds; this page shows it when it is loaded again.",
	"awake":       "Nothing was done: the bridge is not asleep, or nobody may use it.",
	"reinstalled": "The program is installed again, with the dependencies of today. The list has it within seconds if a bridge uses it.",
	"revoked":     "Key revoked. Apps that used it have lost access.",
}

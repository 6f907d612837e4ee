// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// auditPage is a page of audit entries.
type auditPage struct {
	frame
	overview.AuditPage

	Filter   map[string]string
	Wrong    string
	Filtered bool
	Statuses []audit.Status
	// Views is whether the page has what administrators looked at.
	Views   bool
	NextURL string
	// First is whether no later page was left.
	First bool
	// Replica is whether the entries are of one replica alone.
	Replica bool
	// Known are the users that have a page: others have left.
	Known map[v1alpha1.UserID]bool
}

// auditFilters are the fields by which entries are searched.
var auditFilters = []string{"userId", "server", "tool", "status", "from", "to"}

// auditRows is how many entries a page has.
const auditRows = "50"

// audit is the page of audit entries, the newest first.
func (t *trailPages) audit(v *visit) error {
	filters := v.filters()
	page := &auditPage{frame: frame{Title: "Audit", Path: pathAudit}, Filter: map[string]string{}, Statuses: audit.Statuses(), First: !filters.Has("cursor")}
	for _, name := range auditFilters {
		page.Filter[name] = filters.Get(name)
		page.Filtered = page.Filtered || page.Filter[name] != ""
	}
	if !filters.Has("limit") {
		filters.Set("limit", auditRows)
	}
	// Otherwise the page would be full of looks at itself.
	if page.Views = filters.Get("views") == "true"; !filters.Has("views") {
		filters.Set("views", "false")
	}
	status := http.StatusOK
	found, err := t.Trail.AuditEntries(v, filters.Encode())
	switch page.Wrong = refusal(err); {
	case page.Wrong != "":
		status = http.StatusUnprocessableEntity
	case err != nil:
		page.Trouble = t.troubleOf(v, "Audit entries", err)
	}
	page.AuditPage, page.Replica = found, found.Scope == selfservice.ScopeReplica
	if found.Next != "" {
		filters.Set("cursor", found.Next)
		page.NextURL = pathAudit + "?" + filters.Encode()
	}
	var users []v1alpha1.UserID
	for _, e := range found.Entries {
		users = append(users, v1alpha1.UserID(e.UserID))
	}
	page.Known = t.People.Known(v.Request().Context(), users)
	return t.show(v, "audit", status, page)
}

// usagePage is how the installation was used.
type usagePage struct {
	frame
	overview.Analytics

	Ranges   []span
	From, To string
	// User is the person whose calls are meant, empty for all.
	User    string
	Wrong   string
	Charts  []chart
	Replica bool
	// Indexed is whether calls are counted at all.
	Indexed bool
	// Known are the users that have a page: others have left.
	Known map[v1alpha1.UserID]bool
}

// span is a range of time that ends now.
type span struct {
	Name, Label string
	// Current is whether it is shown.
	Current bool
	length  time.Duration
	step    string
}

// spans are the ranges.
var spans = []span{
	{Name: "day", Label: "24 hours", length: 24 * time.Hour, step: "hour"},
	{Name: "week", Label: "7 days", length: 7 * 24 * time.Hour, step: "hour"},
	{Name: "month", Label: "30 days", length: 30 * 24 * time.Hour, step: "day"},
}

// usage is the page of how the installation was used.
func (t *trailPages) usage(v *visit) error {
	filters := v.filters()
	page := &usagePage{frame: frame{Title: "Usage", Path: pathUsage}, From: filters.Get("from"), To: filters.Get("to"), User: filters.Get("userId"), Ranges: slices.Clone(spans)}
	if page.From == "" && page.To == "" {
		filters = rangeOf(filters, page.Ranges, v.Now())
	}
	delete(filters, "range")
	status := http.StatusOK
	found, err := t.Trail.Analytics(v, filters.Encode())
	switch page.Wrong = refusal(err); {
	case page.Wrong != "":
		status = http.StatusUnprocessableEntity
	case err != nil:
		page.Trouble = t.troubleOf(v, "What was called", err)
	}
	page.Analytics = found
	if page.Indexed = found.CallFigures != nil; page.Indexed {
		page.Replica = found.Scope == selfservice.ScopeReplica
		page.Charts = chartsOf(found)
		var users []v1alpha1.UserID
		for _, u := range found.Users {
			users = append(users, v1alpha1.UserID(u.UserID))
		}
		page.Known = t.People.Known(v.Request().Context(), users)
	}
	return t.show(v, "usage", status, page)
}

// rangeOf returns the filters with the times of the range that was asked for, the first one
// if none was.
func rangeOf(filters url.Values, ranges []span, now time.Time) url.Values {
	at := max(0, slices.IndexFunc(ranges, func(s span) bool { return s.Name == filters.Get("range") }))
	s := &ranges[at]
	s.Current = true
	to := now.UTC().Truncate(time.Hour).Add(time.Hour)
	filters.Set("from", to.Add(-s.length).Format(time.RFC3339))
	filters.Set("to", to.Format(time.RFC3339))
	filters.Set("step", s.step)
	return filters
}

// Health is what one replica of the ingress knows of the installation.
type Health struct {
	Version string
	// Confirmed is when the API server last vouched for what the replica knows.
	Confirmed time.Time
	// KeyVersions are how many bridges have secrets under which version of the master key,
	// nil while that is not known.
	KeyVersions map[int32]int
	// Certificate is when the replica's own certificate ends, zero if it has none.
	Certificate time.Time
	// Replicas are those of the installation's processes. They are not known if
	// ReplicasErr is set.
	Replicas    []Replicas
	ReplicasErr error
	// Index is the kind of the audit index.
	Index string
	// Logins is where logins are kept, without a kind where people log in nowhere here, and
	// Quotas where calls are counted.
	Logins, Quotas Store
	// Providers are where people log in.
	Providers []flow.ProviderHealth
	// CatalogKnown is whether the catalog was read.
	CatalogKnown bool
	Backups      Backups
}

// Backups are what is known of scheduled backups, if they are configured. It is not known
// now if Err is set.
type Backups struct {
	Configured bool
	Schedule   string
	Suspended  bool
	// Since is when they were configured, and Last when the last one succeeded, zero if none has.
	Since, Last time.Time
	Err         error
}

// Replicas are how many replicas of a process are ready, of those that are wanted.
type Replicas struct {
	Process       string
	Ready, Wanted int32
}

// Store is where something is kept. It does not answer if Err is set.
type Store struct {
	Kind string
	Err  error
}

// healthPage is what is known of the installation.
type healthPage struct {
	frame
	Health

	Keys []keyVersion
	// Bridges is how many bridges have secrets, and Left how many of them under a version
	// that is not the last.
	Bridges, Left int
	KeysKnown     bool
	// Rotation is the command that says how far a rotation is.
	Rotation string
	// ReplicasTrouble is why the replicas are not known.
	ReplicasTrouble string
	// BackupsTrouble is why the state of backups is not known.
	BackupsTrouble string
	// Lag is what the audit index lacks, as far as it is known.
	Lag time.Duration
	// IndexTrouble is why nothing is known of the index.
	IndexTrouble string
	// Stale is whether the API server is away.
	Stale bool
	Now   time.Time
}

// keyVersion is how many bridges have a version of the master key.
type keyVersion struct {
	Version int32
	Bridges int
	// Old is whether a later version is in use, so that a rotation goes on.
	Old bool
}

// staleAfter is how long the API server may be silent before a page says so. The watches
// are confirmed every few seconds.
const staleAfter = time.Minute

// health is the page of the installation.
func (t *trailPages) health(v *visit) error {
	known := t.Health(v.Request().Context())
	page := &healthPage{frame: frame{Title: "Health", Path: pathHealth}, Health: known, Now: v.Now()}
	page.Stale = v.Now().Sub(known.Confirmed) > staleAfter
	versions := slices.SortedFunc(maps.Keys(known.KeyVersions), func(a, b int32) int { return cmp.Compare(b, a) })
	for i, version := range versions {
		n := known.KeyVersions[version]
		page.Keys = append(page.Keys, keyVersion{version, n, i > 0})
		if page.Bridges += n; i > 0 {
			page.Left += n
		}
	}
	page.KeysKnown = known.KeyVersions != nil
	page.Rotation = "kubectl exec -n " + shell(t.Namespace) + " deploy/hosted-bridge-keybroker -- /keybroker rotate --dry-run"
	if known.ReplicasErr != nil {
		page.ReplicasTrouble = t.troubleOf(v, "The replicas", known.ReplicasErr)
	}
	if known.Backups.Err != nil {
		page.BackupsTrouble = t.troubleOf(v, "The state of backups", known.Backups.Err)
	}
	for what, store := range map[string]Store{"The store of logins": known.Logins, "The store of quotas": known.Quotas} {
		if store.Err != nil {
			t.troubleOf(v, what, store.Err)
		}
	}
	found, err := t.Trail.AuditEntries(v, "limit=1")
	if err != nil {
		page.IndexTrouble = t.troubleOf(v, "The index", err)
	}
	page.Lag = time.Duration(found.LagSeconds * float64(time.Second)).Round(time.Second)
	return t.show(v, "health", http.StatusOK, page)
}

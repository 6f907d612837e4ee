// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// homePage says who cannot use something, by cause.
type homePage struct {
	frame

	Lead   string
	Causes []cause
	// More is how many causes are not shown.
	More   int
	Phases []phaseCount
	// Asked is how many requests of users wait for an answer. Quiet is whether nothing is known
	// to wait for an administrator.
	Asked int
	Quiet bool
	Now   time.Time
}

// cause is a problem, with the people who have it.
type cause struct {
	overview.Problem

	// URL is the list of the people who have it.
	URL string
}

// phaseCount is how many people's bridges are in a phase.
type phaseCount struct {
	Phase v1alpha1.Phase
	Count int
	URL   string
}

// maxCauses is how many causes the first page has: those that touch most people.
const maxCauses = 20

// home is the first page.
func (p *peoplePages) home(v *visit) error {
	found, err := p.People.Problems(v)
	if err != nil {
		return err
	}
	page := &homePage{frame: frame{Path: pathHome, Icons: p.icons()}, Now: v.Now()}
	page.Title, page.Lead = headline(found)
	for _, problem := range found.Problems[:min(len(found.Problems), maxCauses)] {
		filter := url.Values{"reason": {problem.Reason}}
		if problem.Server != "" {
			filter.Set("server", problem.Server)
		}
		page.Causes = append(page.Causes, cause{problem, pathPeople + "?" + filter.Encode()})
	}
	page.More = len(found.Problems) - len(page.Causes)
	page.Phases = phaseCounts(found.Phases)
	asked, err := p.Requests.All(v.Request().Context(), v, requests.Open)
	if err != nil {
		page.Trouble = p.troubleOf(v, "Whether users wait for an answer", err)
	} else {
		page.Asked = len(asked)
	}
	page.Quiet = err == nil && page.Asked == 0 && len(page.Causes) == 0
	return p.show(v, "home", http.StatusOK, page)
}

// headline returns what the first page says at its top.
func headline(p overview.Problems) (title, lead string) {
	switch {
	case p.Total == 0:
		return "Nobody has a bridge yet", "People get one by a HostedBridge, an invitation, or their first login."
	case p.Users == 0:
		return "Everybody's servers work", counted(p.Total, "person has", "people have") + " a bridge here."
	case p.Users == 1:
		title = "1 of " + counted(p.Total, "person", "people") + " cannot use something"
	default:
		title = fmt.Sprintf("%s of %s people cannot use something", number(p.Users), number(p.Total))
	}
	return title, "Causes below, those that touch most people first. People who are suspended or have left are not counted."
}

// phaseCounts returns how many people's bridges are in which phase, without empty ones.
func phaseCounts(of map[v1alpha1.Phase]int) []phaseCount {
	var counts []phaseCount
	for _, phase := range phases {
		if n := of[phase]; n > 0 {
			counts = append(counts, phaseCount{phase, n, pathPeople + "?phase=" + string(phase)})
		}
	}
	if n := of[""]; n > 0 {
		counts = append(counts, phaseCount{"", n, ""})
	}
	return counts
}

// listPage lists people.
type listPage struct {
	frame
	overview.Page

	// Filter is what was asked for, and Wrong what is wrong with it.
	Filter map[string]string
	Wrong  string
	// Filtered is whether anything was asked for.
	Filtered bool
	All      []v1alpha1.Phase
	NextURL  string
	Now      time.Time
}

// peopleFilters are the fields by which people are searched.
var peopleFilters = []string{"search", "phase", "profile", "group", "tier", "reason", "server"}

// list is the page of the people of the installation.
func (p *peoplePages) list(v *visit) error {
	filters := v.filters()
	page := &listPage{frame: frame{Title: "People", Path: pathPeople}, Filter: map[string]string{}, All: phases, Now: v.Now()}
	for _, name := range peopleFilters {
		page.Filter[name] = filters.Get(name)
		page.Filtered = page.Filtered || page.Filter[name] != ""
	}
	status := http.StatusOK
	found, err := p.People.Users(v, filters.Encode())
	switch page.Wrong = refusal(err); {
	case page.Wrong != "":
		status = http.StatusUnprocessableEntity
	case err != nil:
		return err
	}
	page.Page = found
	if found.Next != "" {
		filters.Set("cursor", string(found.Next))
		page.NextURL = pathPeople + "?" + filters.Encode()
	}
	return p.show(v, "people", status, page)
}

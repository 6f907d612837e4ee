// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/profile/manifest"
)

const (
	// tryTimeout bounds a preview. 10,000 bridges take some seconds, most of them at the API
	// server.
	tryTimeout = 20 * time.Second
	// namedPeople is how many people a line of the result names, peoplePage how many a page of
	// one line has, and maxEffects how many lines there are.
	namedPeople, peoplePage, maxEffects = 10, 200, 100
)

// tryPage is the form on which a profile is tried, with what it would change.
type tryPage struct {
	frame

	// Text is the manifest, and Problems what is wrong with it.
	Text     string
	Problems []manifest.Problem
	// Result is nil until something was computed.
	Result *tryResult
	// Closed is whether the ingress may not read profiles, and Diff the command for then.
	Closed bool
	Diff   string
	Now    time.Time
}

// tryResult is what a profile would change.
type tryResult struct {
	profile.Preview

	At   time.Time
	Name string
	// Lines are the changes, the first of them that are most. More are not shown.
	Lines []effectLine
	More  int
	// One is whether the result is all people of one line.
	One bool
	// Apply is the command that applies what was tried.
	Apply string
}

// effectLine is a change, with those whom it touches.
type effectLine struct {
	Text string
	// People are some of them, and Others how many there are beside these.
	People []v1alpha1.UserID
	Others int
	// See, Before and After are what the buttons send that show all people of the line, or the
	// page before and after this one; empty for no button.
	See, Before, After string
	// Page counts from 1.
	Page, Pages int
}

// firstProfile is what the form has where no profile is tried yet.
const firstProfile = `apiVersion: hostedbridge.dev/v1alpha1
kind: BridgeProfile
metadata:
  name: example
  namespace: %s
spec:
  who:
    namespaces: [tenants]
    everyone: true
  servers:
  - name: context7
    use: Optional
    recipe:
      name: context7
`

// form is the page on which a new profile is tried.
func (r *profilePages) form(v *visit) error {
	return r.show(v, "tryprofile", http.StatusOK, &tryPage{frame: frame{Title: "Try a new profile", Path: pathProfiles}, Text: fmt.Sprintf(firstProfile, r.Namespace)})
}

// try shows what the profile of the form would change. It writes nothing.
func (r *profilePages) try(v *visit) error {
	text := strings.ReplaceAll(v.form.Get("profile"), "\r\n", "\n")
	page := &tryPage{frame: frame{Title: "Try a profile", Path: pathProfiles}, Text: text, Diff: diffCommand("FILE", r.Namespace), Now: v.Now()}
	given, problems := manifest.Parse([]byte(text), r.Namespace)
	if page.Problems = problems; len(problems) > 0 {
		return r.show(v, "tryprofile", http.StatusUnprocessableEntity, page)
	}
	page.Title = "Try " + given.Name
	ctx, cancel := context.WithTimeout(v.Request().Context(), tryTimeout)
	defer cancel()
	why, err := r.Profiles.Refuses(ctx, &given.Spec)
	if err == nil && why != "" {
		page.Problems = []manifest.Problem{problemOf(why)}
		return r.show(v, "tryprofile", http.StatusUnprocessableEntity, page)
	}
	see := v.form.Get("see")
	var found profile.Preview
	var at time.Time
	if err == nil {
		found, at, err = r.Profiles.Preview(ctx, given, see == "")
	}
	switch {
	case errors.Is(err, ErrMayNotRead):
		page.Closed = true
		return r.show(v, "tryprofile", http.StatusOK, page)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", errTryLate, err)
	case err != nil:
		return fmt.Errorf("%w: %w", errProfiles, err)
	}
	if err := v.Audit(httpapi.Act{Name: "profiles.preview", Target: given.Name}); err != nil {
		return err
	}
	page.Result = &tryResult{Preview: found, At: at, Name: given.Name, Apply: applyCommand(text, r.Namespace)}
	page.Result.fill(see)
	return r.show(v, "tryprofile", http.StatusOK, page)
}

// errTryLate is that a preview took too long.
var errTryLate = httpapi.New(http.StatusServiceUnavailable, "busy", "What the profile would change was not known within 20 seconds. Another administrator may be trying a profile. Try again, or use operator profiles diff.")

// problemOf returns the problem of a refusal, whose message begins with its field.
func problemOf(refusal string) manifest.Problem {
	field, text, found := strings.Cut(refusal, ": ")
	if !found || !strings.HasPrefix(field, "spec.") {
		return manifest.Problem{Text: refusal + "."}
	}
	return manifest.Problem{Field: field, Text: strings.ToUpper(text[:1]) + text[1:] + "."}
}

// fill fills in the lines: all changes, or the people of the one that see names.
func (t *tryResult) fill(see string) {
	page, name, _ := strings.Cut(see, " ")
	if n, err := strconv.Atoi(page); err == nil {
		at := slices.IndexFunc(t.Effects, func(e profile.Effect) bool { return e.Change.String() == name })
		if at >= 0 {
			t.One, t.Lines = true, []effectLine{peopleOf(t.Effects[at], n)}
			return
		}
	}
	t.More = max(0, len(t.Effects)-maxEffects)
	for _, e := range t.Effects[:len(t.Effects)-t.More] {
		line := effectLine{Text: effectText(e), People: e.Users[:min(len(e.Users), namedPeople)]}
		if line.Others = len(e.Users) - len(line.People); line.Others > 0 {
			line.See = "1 " + e.Change.String()
		}
		t.Lines = append(t.Lines, line)
	}
}

// peopleOf returns a page of the people of one change, the first one if there is no such page.
func peopleOf(e profile.Effect, page int) effectLine {
	pages := (len(e.Users) + peoplePage - 1) / peoplePage
	if page < 1 || page > pages {
		page = 1
	}
	first := (page - 1) * peoplePage
	line := effectLine{Text: effectText(e), People: e.Users[first:min(len(e.Users), first+peoplePage)], Page: page, Pages: pages}
	if page > 1 {
		line.Before = fmt.Sprintf("%d %s", page-1, e.Change)
	}
	if page < pages {
		line.After = fmt.Sprintf("%d %s", page+1, e.Change)
	}
	return line
}

// effectText says what would change for how many people.
func effectText(e profile.Effect) string {
	people := counted(len(e.Users), "person", "people")
	switch e.Kind {
	case profile.ServerLost:
		return people + " would lose " + e.Name
	case profile.ServerGained:
		return people + " would get " + e.Name
	case profile.ServerChanged:
		return people + " would have another " + e.Name
	case profile.ChoiceEnded:
		about := strings.TrimSuffix(strings.TrimPrefix(e.Name, "servers["), "]")
		return people + "'s own choice of " + about + " would end"
	default:
		return people + " would have " + e.Name + " " + e.To + " in place of " + e.From
	}
}

// applyCommand returns the command that applies a manifest as it is.
func applyCommand(text, namespace string) string {
	end := "EOF"
	for strings.Contains("\n"+text+"\n", "\n"+end+"\n") {
		end += "F"
	}
	return "kubectl apply --namespace " + shell(namespace) + " -f - <<'" + end + "'\n" + strings.TrimSuffix(text, "\n") + "\n" + end
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/pages"
	"github.com/hostedbridge/hostedbridge/internal/programs"
)

// Programs are the programs that are installed once for all users. Queries are those of the API's
// routes.
type Programs interface {
	List(c httpapi.Call, query string) (programs.Page, error)
	Program(c httpapi.Call, name string) (programs.Detail, error)
	// Compare returns what differs between two programs of one package.
	Compare(c httpapi.Call, from, to string) (programs.Changes, error)
	Lock(c httpapi.Call, name string) (programs.File, error)
	SPDX(c httpapi.Call, name string) (programs.File, error)
	// Reinstall has a program made again, if uid is still that of its ProgramBundle.
	Reinstall(c httpapi.Call, name, uid string) error
}

// The paths of one program.
const (
	pathProgram   = pathPrograms + "/:program"
	pathChanges   = pathProgram + "/changes"
	pathLock      = pathProgram + "/lock"
	pathSPDX      = pathProgram + "/spdx"
	pathReinstall = pathProgram + "/reinstall"
)

// programsPage lists programs.
type programsPage struct {
	frame
	programs.Page

	Filter   map[string]string
	Wrong    string
	Filtered bool
	NextURL  string
	// Off is why there are none at all.
	Off string
	Now time.Time
}

// list is the page of the programs.
func (g *programPages) list(v *visit) error {
	filters := v.filters()
	delete(filters, "done")
	page := &programsPage{frame: frame{Title: "Programs", Path: pathPrograms}, Filter: map[string]string{}, Now: v.Now()}
	for _, name := range []string{"search", "state"} {
		page.Filter[name] = filters.Get(name)
		page.Filtered = page.Filtered || page.Filter[name] != ""
	}
	status := http.StatusOK
	found, err := g.Programs.List(v, filters.Encode())
	page.Wrong, page.Off = refusal(err), offText(err)
	switch {
	case page.Wrong != "":
		status = http.StatusUnprocessableEntity
	case page.Off == "" && err != nil:
		return err
	}
	page.Page = found
	page.Changing = everyWhile(found.Programs...)
	if found.Next != "" {
		filters.Set("cursor", found.Next)
		page.NextURL = pathPrograms + "?" + filters.Encode()
	}
	return g.show(v, "programs", status, page)
}

// offText returns why an installation has no programs, empty for any other error.
func offText(err error) string {
	if p, ok := errors.AsType[*httpapi.Problem](err); ok && p.Code == "bundles_disabled" {
		return p.Detail
	}
	return ""
}

// programPage is all about one program.
type programPage struct {
	frame

	Detail programs.Detail
	// WithScripts are the packages that have install scripts.
	WithScripts []bundle.Package
	// Describe shows the ProgramBundle in a terminal, and Log the log of an install that failed.
	Describe, Log string
}

// program is the page of one program.
func (g *programPages) program(v *visit) error {
	d, err := g.Programs.Program(v, v.Param("program"))
	if err != nil {
		return err
	}
	at := " --namespace " + g.Namespace + " "
	page := &programPage{
		frame: frame{Title: d.Package + "@" + d.Version, Path: pathPrograms}, Detail: d,
		Describe: "kubectl describe programbundle" + at + d.Name, Log: "kubectl logs" + at + "--all-containers job/" + d.Job,
	}
	page.Changing = everyWhile(d.Program)
	if d.Contents != nil {
		for _, p := range d.Contents.Packages {
			if p.Scripts {
				page.WithScripts = append(page.WithScripts, p)
			}
		}
	}
	return g.show(v, "program", http.StatusOK, page)
}

// everyWhile returns after how many seconds a page looks again of which one of the programs is
// being installed, else 0.
func everyWhile(of ...programs.Program) int {
	if slices.ContainsFunc(of, func(p programs.Program) bool { return !p.Ready() && !p.Failed() }) {
		return updateEvery
	}
	return 0
}

// changesPage is what differs between two programs.
type changesPage struct {
	frame
	programs.Changes
}

// changes is the page of what differs between two programs.
func (g *programPages) changes(v *visit) error {
	c, err := g.Programs.Compare(v, v.query("from"), v.Param("program"))
	if p, ok := errors.AsType[*httpapi.Problem](err); ok && p.Code == "program_lost" {
		return g.show(v, "message", http.StatusOK, &message{frame: frame{Title: "They cannot be compared", Path: pathPrograms}, Text: p.Detail})
	}
	if err != nil {
		return err
	}
	title := "From " + c.From.Version + " to " + c.To.Version
	return g.show(v, "changes", http.StatusOK, &changesPage{frame: frame{Title: title, Path: pathPrograms}, Changes: c})
}

// file returns the handler of a file that is downloaded.
func (g *programPages) file(read func(httpapi.Call, string) (programs.File, error)) handler {
	return func(v *visit) error {
		f, err := read(v, v.Param("program"))
		if err != nil {
			return err
		}
		console.SetHeader(v.Writer().Header())
		f.Write(v.Writer())
		return nil
	}
}

// What follows when a program is made again, and what if no bridge uses it.
var (
	reinstallSteps = []string{
		"The ProgramBundle is deleted, and the operator makes it again within seconds.",
		"The package is installed with the dependencies that the registry has today. They may differ from those that you see now.",
		"Until then programs of the package are ended, and calls wait. If it cannot be installed now, they do not work until it can.",
	}
	unusedSteps = []string{
		"The ProgramBundle is deleted. The operator makes it again when a bridge has a server of the package.",
		"The package is installed then, with the dependencies that the registry has at that time.",
	}
)

// confirm asks before a program is made again.
func (g *programPages) confirm(v *visit) error { return g.ask(v, http.StatusOK, "") }

// ask asks before a program is made again. wrong says why it was not.
func (g *programPages) ask(v *visit, status int, wrong string) error {
	d, err := g.Programs.Program(v, v.Param("program"))
	if err != nil {
		return err
	}
	program := pathPrograms + "/" + d.Name
	steps := reinstallSteps
	if d.Users == 0 {
		steps = unusedSteps
	}
	return g.show(v, "confirm", status, &confirmPage{
		frame: frame{Title: "Install " + pages.Plain(d.Package+"@"+d.Version) + " again?", Path: pathPrograms, Trouble: wrong},
		Text:  counted(d.Users, "bridge uses", "bridges use") + " it.", Steps: steps,
		Action: program + "/reinstall", Label: "Install it again", Back: program, Danger: true, Version: d.UID,
	})
}

// reinstall has a program made again.
func (g *programPages) reinstall(v *visit) error {
	uid := v.form.Get("version")
	if uid == "" {
		return console.ErrForm
	}
	err := g.Programs.Reinstall(v, v.Param("program"), uid)
	if p, ok := errors.AsType[*httpapi.Problem](err); ok && p.Status == http.StatusConflict {
		return g.ask(v, p.Status, p.Detail)
	}
	if err != nil {
		return err
	}
	return v.done(pathPrograms, "reinstalled")
}

// programOf returns the look of a program's state.
func programOf(p programs.Program) state {
	switch {
	case p.Ready():
		return state{"ok", "works", "Ready"}
	case p.State == v1alpha1.ReasonInstalling:
		return state{"start", "starting", "Installing"}
	}
	return state{"bad", "broken", pages.Plain(overview.Words(p.State))}
}

// size returns a number of bytes, rounded up to whole MiB as kubectl shows it.
func size(bytes int64) string {
	const mebi = 1 << 20
	return resource.NewQuantity((bytes+mebi-1)/mebi*mebi, resource.BinarySI).String()
}

// shortDigest returns the beginning of a digest.
func shortDigest(digest string) string {
	const characters = 12
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(len(hex), characters)]
}

// versions returns the versions of packages of one name.
func versions(of []bundle.Package) string {
	var all []string
	for _, p := range of {
		all = append(all, p.Version)
	}
	return strings.Join(all, ", ")
}

// withScripts reports whether one of the packages has install scripts.
func withScripts(of []bundle.Package) bool { return len(bundle.WithScripts(of)) > 0 }

// packages returns a number of packages.
func packages(n any) string { return counted(n, "package", "packages") }

// ranOrNot says whether install scripts ran.
func ranOrNot(p programs.Program, packages int) string {
	did := "did not run"
	if p.InstallScripts {
		did = "ran when it was installed"
	}
	return fmt.Sprintf("%s install scripts, which %s", counted(packages, "package has", "packages have"), did)
}

// titled are packages on a page.
type titled struct {
	Title    string
	Packages []bundle.Package
}

func titledOf(title string, of []bundle.Package) titled { return titled{title, of} }

// more returns how many of all are not shown.
func more(all, shown int) int { return all - shown }

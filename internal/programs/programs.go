// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package programs says what is known of the programs of an installation: the packages that are
// installed for all users, what each of them contains, who uses it, and what differs between two.
// Its types are the answers of the API under /admin/programs, so that each page says the same.
package programs

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// ErrGone says that a ProgramBundle is not the one that was read: it was deleted, or made again.
var ErrGone = errors.New("there is no such ProgramBundle any more")

const (
	// NamePattern is the form of the names of ProgramBundles in paths.
	NamePattern = `[a-z0-9]([a-z0-9.-]*[a-z0-9])?`
	// MaxName is the length of such a name. The operator gives names of at most 53 characters.
	MaxName = 128
	// DefaultPage is how many programs a list has, and MaxPage how many it may have.
	DefaultPage = 50
	// MaxPage is the largest limit of a list.
	MaxPage = 200
	// MaxPackages is how many packages an answer has: some more than the largest programs that are
	// known, of 615. The SPDX document and the lock file have all of them.
	MaxPackages = 1000
	// MaxBridges is how many of the HostedBridges that use a program are named.
	MaxBridges = 100
)

// Program is a ProgramBundle.
type Program struct {
	// Name is that of the ProgramBundle, and UID tells it from one of the same name that is made
	// later.
	Name    string `json:"name"`
	UID     string `json:"uid"`
	Package string `json:"package"`
	Version string `json:"version"`
	// Architecture is the processor's, such as amd64.
	Architecture string `json:"architecture"`
	// InstallScripts is whether the install scripts of its packages ran.
	InstallScripts bool `json:"installScripts"`
	// State is Ready, Installing, or the reason why it could not be installed, since when, and
	// Message is that of the condition Ready.
	State   string     `json:"state"`
	Message string     `json:"message,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	// RetryTime is when the install is tried again, after so many attempts.
	RetryTime *time.Time `json:"retryTime,omitempty"`
	Attempts  int32      `json:"attempts,omitempty"`
	// Job is that of the attempt which goes on or failed last, which has the log of npm. It is gone
	// an hour after its end.
	Job string `json:"job,omitempty"`
	// Digest, Image, Bytes and Packages are known when it is installed.
	Digest   string `json:"digest,omitempty"`
	Image    string `json:"image,omitempty"`
	Bytes    int64  `json:"bytes,omitempty"`
	Packages int32  `json:"packages,omitempty"`
	// Scripts is how many of the named packages have install scripts: at most 16.
	Scripts int `json:"scripts"`
	// Bridges is how many HostedBridges use it, and UnusedSince since when none does.
	Bridges     int32      `json:"bridges"`
	UnusedSince *time.Time `json:"unusedSince,omitempty"`
	Created     time.Time  `json:"created"`
}

// Of returns what a ProgramBundle says.
func Of(b *v1alpha1.ProgramBundle) Program {
	p := Program{
		Name: b.Name, UID: string(b.UID), Package: b.Spec.Package, Version: b.Spec.Version,
		Architecture: b.Spec.Architecture, InstallScripts: b.Spec.InstallScripts,
		State: v1alpha1.ReasonInstalling, Attempts: b.Status.Attempts, Digest: b.Status.Digest, Image: b.Status.Image, Bytes: b.Status.Bytes,
		Packages: b.Status.Packages, Scripts: len(b.Status.Scripts), Bridges: b.Status.Bridges, Created: b.CreationTimestamp.UTC(),
		RetryTime: timeOf(b.Status.RetryTime), UnusedSince: timeOf(b.Status.UnusedSince),
	}
	if ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		p.State, p.Message, p.Since = ready.Reason, ready.Message, timeOf(&ready.LastTransitionTime)
	}
	if !p.Ready() {
		p.Job = lastJob(b, p.Failed())
	}
	return p
}

// lastJob returns the Job of the attempt that goes on, or of the one that failed last.
func lastJob(b *v1alpha1.ProgramBundle, failed bool) string {
	if failed {
		b = b.DeepCopy()
		b.Status.Attempts--
	}
	return bridgeobjects.InstallJobName(b)
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// Failed reports whether the program could not be installed.
func (p Program) Failed() bool {
	return p.State != v1alpha1.ReasonReady && p.State != v1alpha1.ReasonInstalling
}

// Ready reports whether the program is installed.
func (p Program) Ready() bool { return p.State == v1alpha1.ReasonReady && p.Digest != "" }

// Page is a part of the programs, by name.
type Page struct {
	Programs []Program `json:"programs"`
	// Matched is how many match the query, Failed how many of all could not be installed, and
	// Total how many there are.
	Matched int `json:"matched"`
	Failed  int `json:"failed"`
	Total   int `json:"total"`
	// Next is the cursor of the page after this one, empty on the last one.
	Next string `json:"next,omitempty"`
}

// List returns the programs that a query asks for.
func List(all []v1alpha1.ProgramBundle, q Query) Page {
	page := Page{Programs: []Program{}, Total: len(all)}
	slices.SortFunc(all, func(a, b v1alpha1.ProgramBundle) int { return cmp.Compare(a.Name, b.Name) })
	for i := range all {
		p := Of(&all[i])
		if p.Failed() {
			page.Failed++
		}
		if !q.matches(p) {
			continue
		}
		page.Matched++
		switch {
		case p.Name <= q.After:
		case len(page.Programs) < q.Limit:
			page.Programs = append(page.Programs, p)
		case page.Next == "":
			page.Next = page.Programs[len(page.Programs)-1].Name
		}
	}
	return page
}

// Bridge is a HostedBridge that uses a program.
type Bridge struct {
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	User      v1alpha1.UserID `json:"user"`
}

// Detail is all that is known of a program.
type Detail struct {
	Program

	// Commands are the commands that the package has.
	Commands []v1alpha1.BundledProgram `json:"commands"`
	// UsedBy are the HostedBridges that use it, at most MaxBridges of Users.
	UsedBy []Bridge `json:"usedBy"`
	Users  int      `json:"users"`
	// Contents is nil for a program that is not installed, and where the store does not answer,
	// which Missing says.
	Contents *Contents `json:"contents"`
	Missing  string    `json:"missing,omitempty"`
	// Others are the other ProgramBundles of the package, at most MaxPage.
	Others []Program `json:"others"`
}

// DetailOf returns what is known of a ProgramBundle, but for its contents. Bridges are
// HostedBridges as package watch keeps them.
func DetailOf(b *v1alpha1.ProgramBundle, all []v1alpha1.ProgramBundle, bridges []*effective.Bridge) Detail {
	d := Detail{Program: Of(b), Others: []Program{}, UsedBy: []Bridge{}}
	d.Commands = slices.Concat([]v1alpha1.BundledProgram{}, b.Status.Programs)
	for i := range all {
		if o := &all[i]; o.Spec.Package == b.Spec.Package && o.Name != b.Name && len(d.Others) < MaxPage {
			d.Others = append(d.Others, Of(o))
		}
	}
	slices.SortFunc(d.Others, func(a, b Program) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name))
	})
	for _, h := range bridges {
		if slices.ContainsFunc(h.Spec.Servers, func(s effective.Server) bool { return fetches(s.Server, b.Spec.Install) }) {
			d.UsedBy = append(d.UsedBy, Bridge{h.Namespace, h.Name, h.User()})
		}
	}
	slices.SortFunc(d.UsedBy, func(a, b Bridge) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	d.Users = len(d.UsedBy)
	d.UsedBy = d.UsedBy[:min(d.Users, MaxBridges)]
	return d
}

func fetches(s v1alpha1.Server, of v1alpha1.Install) bool {
	p := PackageOf(s)
	return p != nil && *p == of
}

// PackageOf returns the package that a server fetches, nil for none. The server is as package
// watch keeps it: a package stands in install, however the server names it.
func PackageOf(s v1alpha1.Server) *v1alpha1.Install {
	if s.Transport.Stdio == nil {
		return nil
	}
	return s.Transport.Stdio.Install
}

// Contents is what a program's tree contains.
type Contents struct {
	Made    time.Time         `json:"made"`
	Engines map[string]string `json:"engines,omitempty"`
	// Packages are at most MaxPackages, and More is how many others there are.
	Packages []bundle.Package `json:"packages"`
	More     int              `json:"more,omitempty"`
	// Log is the end of the log of the install.
	Log string `json:"log"`
}

// ContentsOf returns what a record says, within the bounds of an answer.
func ContentsOf(r *bundle.Record) *Contents {
	c := &Contents{Made: r.Made.UTC(), Engines: r.Engines, Log: r.Log}
	c.Packages = slices.Concat([]bundle.Package{}, r.Packages[:min(len(r.Packages), MaxPackages)])
	c.More = len(r.Packages) - len(c.Packages)
	return c
}

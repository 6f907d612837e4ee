// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundling

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

var settings = Settings{Architecture: "amd64", InstallScripts: []string{"built"}}

// packaged returns a server by a command.
func packaged(change ...func(*v1alpha1.Stdio)) v1alpha1.Server {
	s := v1alpha1.Server{Name: "one", Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{
		Install: &v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "@scope/server", Version: "1.2.3"}, Args: []string{"--verbose", "${TOKEN}"},
	}}}
	for _, c := range change {
		c(s.Transport.Stdio)
	}
	return s
}

func TestWhichProgramsAreStartedFromABundle(t *testing.T) {
	command := func(words ...string) func(*v1alpha1.Stdio) {
		return func(s *v1alpha1.Stdio) { s.Command, s.Args = words, nil }
	}
	for name, tt := range map[string]struct {
		change   func(*v1alpha1.Stdio)
		settings Settings
		want     string // package, program and arguments, empty for no bundle
	}{
		"an install":                     {func(*v1alpha1.Stdio) {}, settings, "@scope/server@1.2.3 [] --verbose ${TOKEN}"},
		"a command of npx":               {command("npx", "-y", "other@2.0.0", "serve", "--", "x"), settings, "other@2.0.0 [] serve -- x"},
		"another program of the package": {command("npx", "--yes", "--package=other@2.0.0", "--", "tool", "-a"), settings, "other@2.0.0 [tool] -a"},
		"a package with install scripts": {command("npx", "-y", "built@1.0.0-rc.1+x"), settings, "built@1.0.0-rc.1+x scripts [] "},
		"no exact version":               {command("npx", "-y", "other@2"), settings, ""},
		"no version":                     {command("npx", "-y", "other"), settings, ""},
		"an option that adds a package":  {command("npx", "-y", "--registry=https://r.example.com", "other@2.0.0"), settings, ""},
		"an install of Python": {func(s *v1alpha1.Stdio) {
			*s.Install = v1alpha1.Install{Method: "uvx", Package: "notes", Version: "1!1.0rc1"}
		}, settings, "notes@1!1.0rc1 [] --verbose ${TOKEN}"},
		"a command of uvx":                {command("uvx", "notes@1.2", "serve", "--from", "x"), settings, "notes@1.2 [] serve --from x"},
		"another operator of uvx":         {command("uvx", "notes==1.2.post3"), settings, "notes@1.2.post3 [] "},
		"another program of Python":       {command("uvx", "-q", "--from=notes==1.2", "admin", "-a"), settings, "notes@1.2 [admin] -a"},
		"a package that may be built":     {command("uvx", "Built@1.0.0"), settings, "Built@1.0.0 scripts [] "},
		"no exact version of Python":      {command("uvx", "notes==1.*"), settings, ""},
		"no version of Python":            {command("uvx", "notes"), settings, ""},
		"the latest version of Python":    {command("uvx", "notes@latest"), settings, ""},
		"parts of a package":              {command("uvx", "--from", "notes[cli]==1.2", "notes"), settings, ""},
		"a certain Python":                {command("uvx", "--python", "3.12", "notes@1.2"), settings, ""},
		"Python itself":                   {command("uvx", "python3.12t@3.12", "-c", "x"), settings, ""},
		"a package by its URL":            {command("uvx", "--from", "git+https://example.com/notes@1.2", "notes"), settings, ""},
		"no image for the method":         {command("uvx", "notes@1.2"), Settings{Architecture: "amd64", Lacking: []v1alpha1.InstallMethod{v1alpha1.InstallUVX}}, ""},
		"an image of its own":             {func(s *v1alpha1.Stdio) { s.Image = "example/node:1" }, settings, ""},
		"another command":                 {command("node", "/app/index.js"), settings, ""},
		"an installation without bundles": {func(*v1alpha1.Stdio) {}, Settings{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{packaged(tt.change)}}}
			got := ""
			if bundled, ok := tt.settings.Of(bridgestate.Servers(effective.Of(b))[0]); ok {
				got = PackageOf(bundled.Spec.Install)
				if bundled.Spec.InstallScripts {
					got += " scripts"
				}
				got += " [" + bundled.Program + "] " + strings.Join(bundled.Args, " ")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestAProgramIsStartedFromTheImageThatItsContainerMounts has a pod keep what it mounts as long as it runs.
func TestAProgramIsStartedFromTheImageThatItsContainerMounts(t *testing.T) {
	const repository = "registry.example.com/bundles"
	image, other := repository+"@sha256:"+strings.Repeat("cd", 32), repository+"@sha256:"+strings.Repeat("ef", 32)
	for name, tt := range map[string]struct {
		reference string
		mounted   map[string]string
		refused   map[string]bool
		want      string // what is mounted
		folder    string // from where it is started
	}{
		"no pod":                                            {image, nil, nil, image, ImageFolder},
		"no pod, and no image":                              {"", nil, nil, "", Folder},
		"an image of another registry":                      {"other.example.com/bundles@sha256:" + strings.Repeat("cd", 32), nil, nil, "", Folder},
		"no pod, and an image was refused":                  {image, nil, map[string]bool{image: true}, "", Folder},
		"a pod that mounts it":                              {image, map[string]string{"one": image}, nil, image, ImageFolder},
		"a pod that mounts it, and another node refused it": {image, map[string]string{"one": image}, map[string]bool{image: true}, image, ImageFolder},
		"a pod without it":                                  {image, map[string]string{"one": ""}, nil, "", Folder},
		"a pod with another one":                            {image, map[string]string{"one": other}, nil, other, Folder},
		"a pod that has no container of the server":         {image, map[string]string{"two": ""}, nil, image, ImageFolder},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := bundled(metav1.ConditionTrue, v1alpha1.ReasonReady, "")
			bundle.Status.Reference = tt.reference
			b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{UserID: "alice", Servers: []v1alpha1.Server{packaged(func(s *v1alpha1.Stdio) { s.Args = nil })}}}
			b.UID = "11111111-1111-1111-1111-111111111111"
			bundles := Bundles{Settings: settings, Known: map[string]*v1alpha1.ProgramBundle{NameOf(bundle.Spec): bundle}, Mounted: tt.mounted, Refused: tt.refused}
			bundles.Repository = repository
			if got := bundles.Image(bridgestate.Servers(effective.Of(b))[0]); got != tt.want {
				t.Errorf("it mounts %q, want %q", got, tt.want)
			}
			c := bundles.Start(bridgestate.Configuration(effective.Of(b), bridgeconfig.Egress{}, ""), effective.Of(b))
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			program := c.Servers[0].Program
			if !strings.HasPrefix(program.Command[1], tt.folder+"/") || (program.Bundle == nil) != (tt.folder == ImageFolder) {
				t.Errorf("it is started by %v, and %v is fetched", program.Command, program.Bundle)
			}
		})
	}
}

// TestAPackageOfAnotherRegistryIsAnotherOne has npm and Python's registry with a package of one name.
func TestAPackageOfAnotherRegistryIsAnotherOne(t *testing.T) {
	of := func(command ...string) []string {
		return Packages(effective.Of(&v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{packaged(func(s *v1alpha1.Stdio) { s.Command = command })}}}))
	}
	if npm, python := of("npx", "-y", "notes@1.2.3"), of("uvx", "notes@1.2.3"); len(npm) != 1 || len(python) != 1 || npm[0] == python[0] {
		t.Errorf("%v, %v", npm, python)
	}
}

// TestTheNameOfABundleStaysAsItIs matters to registries, whose tags are these names.
func TestTheNameOfABundleStaysAsItIs(t *testing.T) {
	spec := v1alpha1.ProgramBundleSpec{Install: v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "@s/x", Version: "1.0.0"}, Architecture: "amd64"}
	for want, scripts := range map[string]bool{"x-1-0-0-m4scepmbftkud5ar": false, "x-1-0-0-q7tfksdjg56ykele": true} {
		spec.InstallScripts = scripts
		if name := NameOf(spec); name != want {
			t.Errorf("%s, want %s", name, want)
		}
	}
}

// bundled returns the bundle of packaged(), with a condition Ready.
func bundled(status metav1.ConditionStatus, reason, message string) *v1alpha1.ProgramBundle {
	b := &v1alpha1.ProgramBundle{Spec: v1alpha1.ProgramBundleSpec{
		Install: v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "@scope/server", Version: "1.2.3"}, Architecture: "amd64",
	}}
	b.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message}}
	if status == metav1.ConditionTrue {
		b.Status.Digest, b.Status.Bytes, b.Status.Program = "sha256:"+strings.Repeat("ab", 32), 12, "server"
		b.Status.Programs = []v1alpha1.BundledProgram{{Name: "admin", Path: "node_modules/@scope/server/admin.js"}, {Name: "server", Path: "node_modules/@scope/server/index.js"}}
	}
	return b
}

func TestAProgramIsStartedFromItsBundleWaitsForItOrIsOutOfService(t *testing.T) {
	ready := bundled(metav1.ConditionTrue, v1alpha1.ReasonReady, "")
	several := ready.DeepCopy()
	several.Status.Program = ""
	asks := func(name string) func(*v1alpha1.Stdio) {
		return func(s *v1alpha1.Stdio) {
			s.Command = []string{"npx", "-y", "--package", "@scope/server@1.2.3", "--", name}
		}
	}
	for name, tt := range map[string]struct {
		bundle         *v1alpha1.ProgramBundle
		change         func(*v1alpha1.Stdio)
		command, fault string
		pending        bool
	}{
		"an install that goes on": {bundled(metav1.ConditionFalse, v1alpha1.ReasonInstalling, "by a Job"), nil, "npx", "", true},
		"an install that failed": {bundled(metav1.ConditionFalse, "VersionNotFound", "there is no version 1.2.3"), nil, "npx",
			"package @scope/server@1.2.3 could not be installed: there is no version 1.2.3", false},
		"a bundle":              {ready, nil, "node /hosted-bridge-bundles/" + strings.Repeat("ab", 32) + "/node_modules/@scope/server/index.js --verbose ${TOKEN}", "", false},
		"another program":       {ready, asks("admin"), "node /hosted-bridge-bundles/" + strings.Repeat("ab", 32) + "/node_modules/@scope/server/admin.js --verbose ${TOKEN}", "", false},
		"an unknown program":    {ready, asks("nothing"), "npx", "package @scope/server@1.2.3 has no program nothing; its programs are admin, server", false},
		"no program of its own": {several, nil, "npx", "package @scope/server@1.2.3 has several programs: name one of them in the command, as npx -y --package @scope/server@1.2.3 -- PROGRAM; they are admin, server", false},
	} {
		t.Run(name, func(t *testing.T) {
			server := packaged()
			server.Secrets = []v1alpha1.SecretName{"TOKEN"}
			if tt.change != nil {
				tt.change(server.Transport.Stdio)
			}
			b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{UserID: "alice", Servers: []v1alpha1.Server{
				{Name: "open", Transport: v1alpha1.Transport{URL: "https://open.example.com/mcp"}}, server,
			}}}
			b.UID = "11111111-1111-1111-1111-111111111111"
			bundles := Bundles{Settings: settings, Known: map[string]*v1alpha1.ProgramBundle{}}
			if missing := bundles.Missing(effective.Of(b)); len(missing) != 1 || PackageOf(missing[0].Install) != "@scope/server@1.2.3" {
				t.Fatalf("missing are %v", missing)
			}
			bundles.Known[NameOf(tt.bundle.Spec)] = tt.bundle
			c := bundles.Start(bridgestate.Configuration(effective.Of(b), bridgeconfig.Egress{}, ""), effective.Of(b))
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			got := c.Servers[1]
			if tt.pending != (got.Pending != nil) || got.Fault != tt.fault || bundles.NotInstalled(effective.Of(b))["one"] != tt.fault {
				t.Errorf("pending %v, fault %q, not installed %v", got.Pending, got.Fault, bundles.NotInstalled(effective.Of(b)))
			}
			if command := strings.Join(got.Program.Command, " "); !strings.HasPrefix(command, tt.command) || (got.Program.Bundle != nil) != strings.HasPrefix(command, "node") {
				t.Errorf("the command is %q of bundle %v", command, got.Program.Bundle)
			}
		})
	}
}

// TestAProgramOfPythonIsStartedByTheLauncherOfItsTree has a package whose programs have other names than it.
func TestAProgramOfPythonIsStartedByTheLauncherOfItsTree(t *testing.T) {
	install := v1alpha1.Install{Method: v1alpha1.InstallUVX, Package: "notes", Version: "1.2"}
	bundle := bundled(metav1.ConditionTrue, v1alpha1.ReasonReady, "")
	bundle.Spec.Install, bundle.Status.Program = install, ""
	bundle.Status.Programs = []v1alpha1.BundledProgram{{Name: "admin", Path: "bin/admin"}, {Name: "serve", Path: "bin/serve"}}
	folder := "/hosted-bridge-bundles/" + strings.Repeat("ab", 32)
	for name, tt := range map[string]struct {
		command       []string
		starts, fault string
	}{
		"a program of the package":          {[]string{"uvx", "--from", "notes==1.2", "serve", "-v"}, "python3 -IS " + folder + "/hosted-bridge-launch.py " + folder + "/bin/serve -v", ""},
		"none with the name of the package": {[]string{"uvx", "notes@1.2"}, "uvx notes@1.2", "package notes@1.2 has no program of its own name: name one in the command, as uvx --from notes@1.2 PROGRAM; its programs are admin, serve"},
		"an unknown program":                {[]string{"uvx", "--from", "notes==1.2", "x"}, "uvx --from notes==1.2 x", "package notes@1.2 has no program x; its programs are admin, serve"},
	} {
		t.Run(name, func(t *testing.T) {
			server := packaged(func(s *v1alpha1.Stdio) { s.Command, s.Args = tt.command, nil })
			b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{UserID: "alice", Servers: []v1alpha1.Server{server}}}
			b.UID = "11111111-1111-1111-1111-111111111111"
			bundles := Bundles{Settings: settings, Known: map[string]*v1alpha1.ProgramBundle{NameOf(bundle.Spec): bundle}}
			c := bundles.Start(bridgestate.Configuration(effective.Of(b), bridgeconfig.Egress{}, ""), effective.Of(b))
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			if got := c.Servers[0]; strings.Join(got.Program.Command, " ") != tt.starts || got.Fault != tt.fault {
				t.Errorf("starts %q, fault %q", got.Program.Command, got.Fault)
			}
		})
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

var bundling = Bundling{Architecture: "amd64", Image: "node:1", InstallScripts: []string{"built"}}

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
		bundling Bundling
		want     string // package, program and arguments, empty for no bundle
	}{
		"an install":                      {func(*v1alpha1.Stdio) {}, bundling, "@scope/server@1.2.3 [] --verbose ${TOKEN}"},
		"a command of npx":                {command("npx", "-y", "other@2.0.0", "serve", "--", "x"), bundling, "other@2.0.0 [] serve -- x"},
		"another program of the package":  {command("npx", "--yes", "--package=other@2.0.0", "--", "tool", "-a"), bundling, "other@2.0.0 [tool] -a"},
		"a package with install scripts":  {command("npx", "-y", "built@1.0.0-rc.1+x"), bundling, "built@1.0.0-rc.1+x scripts [] "},
		"no exact version":                {command("npx", "-y", "other@2"), bundling, ""},
		"no version":                      {command("npx", "-y", "other"), bundling, ""},
		"an option that adds a package":   {command("npx", "-y", "--registry=https://r.example.com", "other@2.0.0"), bundling, ""},
		"another method":                  {func(s *v1alpha1.Stdio) { s.Install.Method = v1alpha1.InstallUVX }, bundling, ""},
		"an image of its own":             {func(s *v1alpha1.Stdio) { s.Image = "example/node:1" }, bundling, ""},
		"another command":                 {command("node", "/app/index.js"), bundling, ""},
		"an installation without bundles": {func(*v1alpha1.Stdio) {}, Bundling{}, ""},
		"one without an image of Node.js": {func(*v1alpha1.Stdio) {}, Bundling{Architecture: "amd64"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{packaged(tt.change)}}}
			got := ""
			if bundled, ok := tt.bundling.Of(Servers(b)[0]); ok {
				got = PackageOf(bundled.Spec)
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

func TestANameOfABundleIsOneOfAJobsPodAndOfItsSpecAlone(t *testing.T) {
	seen := map[string]bool{}
	for _, spec := range []v1alpha1.ProgramBundleSpec{
		{Install: v1alpha1.Install{Package: "@scope/server", Version: "1.2.3"}},
		{Install: v1alpha1.Install{Package: "@other/server", Version: "1.2.3"}},
		{Install: v1alpha1.Install{Package: "@scope/server", Version: "1.2.3"}, InstallScripts: true},
		{Install: v1alpha1.Install{Package: "_A..b" + strings.Repeat("-Long", 40), Version: "1.2.3-rc.1+build"}},
		{Install: v1alpha1.Install{Package: "__", Version: "0.0.0"}},
	} {
		name := BundleName(spec)
		if seen[name] || len(name) > 50 || notInName.MatchString(strings.ReplaceAll(name, "-", "a")) || strings.Trim(name, "-") != name {
			t.Errorf("%s is called %q", PackageOf(spec), name)
		}
		seen[name] = true
	}
}

// bundled returns the bundle of packaged(), with a condition Ready.
func bundled(status metav1.ConditionStatus, reason, message string) *v1alpha1.ProgramBundle {
	b := &v1alpha1.ProgramBundle{Spec: v1alpha1.ProgramBundleSpec{
		Install: v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "@scope/server", Version: "1.2.3"}, Architecture: "amd64", Image: "node:1",
	}}
	b.CreationTimestamp = metav1.NewTime(now)
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
			o := observed(func(o *Observed) { o.Bridge.Spec.Servers = []v1alpha1.Server{remote("open"), server} })
			o.Bundles = Bundles{Bundling: bundling, Known: map[string]*v1alpha1.ProgramBundle{}}
			if missing := o.Bundles.Missing(o.Bridge); len(missing) != 1 || PackageOf(missing[0]) != "@scope/server@1.2.3" {
				t.Fatalf("missing are %v", missing)
			}
			o.Bundles.Known[BundleName(tt.bundle.Spec)] = tt.bundle
			c := o.Bundles.Start(Configuration(o.Bridge, mcpserver.Egress{}, ""), o.Bridge)
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			got := c.Servers[1]
			if tt.pending != (got.Pending != nil) || got.Fault != tt.fault {
				t.Errorf("pending %v, fault %q", got.Pending, got.Fault)
			}
			if command := strings.Join(got.Program.Command, " "); !strings.HasPrefix(command, tt.command) || (got.Program.Bundle != nil) != strings.HasPrefix(command, "node") {
				t.Errorf("the command is %q of bundle %v", command, got.Program.Bundle)
			}
			if diff := cmp.Diff(o.unbundled("one"), tt.fault); diff != "" {
				t.Error(diff)
			}
			accepted := condition(t, v1alpha1.ConditionAccepted, o)
			if failed := tt.fault != ""; failed != (accepted.Reason == v1alpha1.ReasonProgramsNotInstalled) || failed != strings.Contains(accepted.Message, "server one: "+tt.fault) {
				t.Errorf("Accepted is %s: %s", accepted.Reason, accepted.Message)
			}
		})
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// installs returns a server that is a package of npm.
func installs(name, pkg, version string) v1alpha1.Server {
	return v1alpha1.Server{Name: name, Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{
		Install: &v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: pkg, Version: version},
	}}}
}

// needRegistry skips a test whose packages cannot be fetched here.
func needRegistry(t testing.TB) {
	t.Helper()
	if os.Getenv("CLUSTER") != "local" {
		t.Skip("the cluster is not the local one, so that nothing is known of what its pods reach") //nolint:forbidigo // A cluster of somebody else.
	}
	if registry, reason := registryFromHere(t); reason != "" {
		t.Skipf("this machine does not reach npm's registry %s, so pods of the local cluster do not either: %s", registry, reason) //nolint:forbidigo // make up says the same.
	}
}

// TestTheFirstCallAfterASleepHasItsPackage calls a program of npm as soon as its bridge is made,
// and after each sleep. A second server, whose package does not exist, is out of service alone.
func TestTheFirstCallAfterASleepHasItsPackage(t *testing.T) {
	t.Parallel()
	needRegistry(t)
	n := newSleeper(t, "bundled", installs("memory", "@modelcontextprotocol/server-memory", "2026.8.31"), installs("missing", "@hosted-bridge-example/none", "1.0.0"))
	c := newHTTPClient(false)
	call := modern("tools/call", "memory_read_graph", `{"name":"memory_read_graph","arguments":{}}`)
	// A package that is installed for the first time may take longer than a call waits.
	wait.UntilWithin(t, wait.Limit, "the package is installed", func() bool {
		a := must.Value(send(t.Context(), c, n.url(), n.key.secret, call))(t)
		waits := strings.Contains(string(a.body), "being installed for the first time")
		if a.status != http.StatusOK || !waits && !strings.Contains(string(a.body), "entities") {
			t.Fatalf("the first call: %d %s", a.status, a.body)
		}
		return !waits
	})
	wait.UntilWithin(t, wait.Limit, "the other package is known to be missing", func() bool {
		b := must.Value(getBridge(t.Context(), n.name))(t)
		for _, condition := range b.Status.Conditions {
			if condition.Type == v1alpha1.ConditionAccepted {
				return condition.Status == metav1.ConditionTrue && condition.Reason == v1alpha1.ReasonProgramsNotInstalled &&
					strings.Contains(condition.Message, "server missing: package @hosted-bridge-example/none@1.0.0 could not be installed: The registry has no package")
			}
		}
		return false
	})
	bundleOf(t, "@modelcontextprotocol/server-memory", "2026.8.31")
	for range 2 {
		fallAsleep(t, n)
		began := time.Now()
		a := must.Value(send(t.Context(), c, n.url(), n.key.secret, call))(t)
		if a.status != http.StatusOK || !strings.Contains(string(a.body), "entities") {
			t.Errorf("the first call after a sleep: %d %s", a.status, a.body)
		}
		t.Logf("the first call after a sleep took %v", time.Since(began).Round(time.Millisecond))
	}
	if images := bridgeobjects.MountedImages(bridgePod(t, n.uid).Spec); !strings.Contains(images["memory"], "@sha256:") {
		t.Errorf("the pod mounts %v", images)
	}
	if listing := mustKubectl(t, "exec", bridgePod(t, n.uid).Name, "-c", "stdio-memory", "--", "node", "-e", programsOfTheContainer); strings.Contains(listing, "npx") || !strings.Contains(listing, "server-memory") {
		t.Errorf("the container runs %s", listing)
	}
}

// programsOfTheContainer prints the command lines of a container's processes.
const programsOfTheContainer = `const fs = require("node:fs");
for (const pid of fs.readdirSync("/proc")) if (/^[0-9]+$/.test(pid)) console.log(fs.readFileSync("/proc/" + pid + "/cmdline", "utf8").replaceAll("\0", " "))`

// bundleOf returns the ProgramBundle of a version of a package, once it is in the registry.
func bundleOf(t testing.TB, pkg, version string) *v1alpha1.ProgramBundle {
	t.Helper()
	var found *v1alpha1.ProgramBundle
	wait.UntilWithin(t, wait.Limit, pkg+" is in the registry", func() bool {
		var all v1alpha1.ProgramBundleList
		must.Succeed(t, installed.client.List(t.Context(), &all, client.InNamespace(systemNamespace)))
		for i := range all.Items {
			if b := &all.Items[i]; b.Spec.Package == pkg && b.Spec.Version == version && b.Status.Reference != "" {
				found = b
			}
		}
		return found != nil
	})
	return found
}

// refuse notes that a node could not mount the image of a bundle at a time, and waits until the
// bridge of a tenant, which sleeps, mounts it when it wakes or does not.
func refuse(t testing.TB, n tenant, b *v1alpha1.ProgramBundle, at time.Time, mounts bool) {
	t.Helper()
	must.Succeed(t, installed.client.Get(t.Context(), client.ObjectKeyFromObject(b), b)) // Others note it too.
	before := b.DeepCopy()
	metav1.SetMetaDataAnnotation(&b.ObjectMeta, v1alpha1.AnnotationImageRefused, at.UTC().Format(time.RFC3339))
	must.Succeed(t, installed.client.Patch(t.Context(), b, client.MergeFrom(before)))
	awaitMount(t, n, func(image string) bool { return (image != "") == mounts })
}

// awaitMount waits until the next pod of a tenant's bridge, which sleeps, mounts the image that it should.
func awaitMount(t testing.TB, n tenant, should func(image string) bool) {
	t.Helper()
	wait.UntilWithin(t, wait.Limit, "the bridge's next pod is as it should be", func() bool {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: installed.namespace, Name: v1alpha1.WorkloadName(n.name)}}
		must.Succeed(t, installed.client.Get(t.Context(), client.ObjectKeyFromObject(d), d))
		for _, image := range bridgeobjects.MountedImages(d.Spec.Template.Spec) {
			return should(image)
		}
		return false
	})
}

// TestAProgramWhoseImageIsGoneIsStartedFromTheStore names an image that the registry does not have.
func TestAProgramWhoseImageIsGoneIsStartedFromTheStore(t *testing.T) {
	t.Parallel()
	needRegistry(t)
	n := newSleeper(t, "gone", installs("s", "@modelcontextprotocol/server-sequential-thinking", "2026.8.31"))
	bundle := bundleOf(t, "@modelcontextprotocol/server-sequential-thinking", "2026.8.31")
	fallAsleep(t, n)
	refuse(t, n, bundle, time.Now().Add(-2*time.Hour), true) // An earlier run of this test is no obstacle.
	uploaded := bundle.Status.Reference
	repository, _, _ := strings.Cut(uploaded, "@")
	bundle.Status.Reference = repository + "@sha256:" + strings.Repeat("0", 64)
	must.Succeed(t, installed.client.Status().Update(t.Context(), bundle))
	awaitMount(t, n, func(image string) bool { return image == bundle.Status.Reference })
	c := newHTTPClient(false)
	call := modern("tools/call", "sequentialthinking", `{"name":"sequentialthinking","arguments":{"thought":"x","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}}`)
	wait.UntilWithin(t, wait.Limit, "its tool answers", func() bool {
		a := must.Value(send(t.Context(), c, n.url(), n.key.secret, call))(t)
		return a.status == http.StatusOK && strings.Contains(string(a.body), "thoughtHistoryLength")
	})
	wait.UntilWithin(t, wait.Limit, "the image is known to be refused", func() bool {
		must.Succeed(t, installed.client.Get(t.Context(), client.ObjectKeyFromObject(bundle), bundle))
		in := meta.FindStatusCondition(bundle.Status.Conditions, v1alpha1.ConditionInRegistry)
		return in != nil && in.Reason == v1alpha1.ReasonRefused
	})
	// The operator removes what it wrote, and the reference is what this test wrote.
	bundle.Status.Reference = ""
	must.Succeed(t, installed.client.Status().Update(t.Context(), bundle))
	wait.UntilWithin(t, wait.Limit, "it is uploaded again", func() bool {
		must.Succeed(t, installed.client.Get(t.Context(), client.ObjectKeyFromObject(bundle), bundle))
		return bundle.Status.Reference == uploaded
	})
	if images := bridgeobjects.MountedImages(bridgePod(t, n.uid).Spec); images["s"] != "" {
		t.Errorf("its pod mounts %s", images["s"])
	}
}

// waker is a kind of server that a bridge wakes for.
type waker struct {
	name    string
	servers []v1alpha1.Server
	// tool is one that needs nothing, with its arguments.
	tool, arguments string
	// image is whether the program's files come from an image, and otherwise from the store.
	image bool
}

// wakers returns the kinds of BenchmarkWake: a small package, and one of 251 packages. An option
// that npx has and a bundle has not keeps a program with npx. The store's have the release before, so
// that their images can be refused for all the time.
func wakers() []waker {
	const small, large = "@modelcontextprotocol/server-everything", "@mastra/mcp-docs-server"
	byNPX := func(pkg, version string) []v1alpha1.Server {
		s := installs("s", pkg, version)
		s.Transport.Stdio.Command = []string{"npx", "--loglevel=error", "-y", pkg + "@" + version}
		return []v1alpha1.Server{s}
	}
	bundled := func(pkg, version string) []v1alpha1.Server { return []v1alpha1.Server{installs("s", pkg, version)} }
	const echo, message, status = "echo", `{"message":"x"}`, "getMastraCourseStatus"
	return []waker{
		{name: "url", tool: tool, arguments: "{}"},
		{name: "image", servers: bundled(small, "2026.8.31"), tool: echo, arguments: message, image: true},
		{name: "store", servers: bundled(small, "2026.8.18"), tool: echo, arguments: message},
		{name: "npx", servers: byNPX(small, "2026.8.31"), tool: echo, arguments: message},
		{name: "large-image", servers: bundled(large, "1.2.27"), tool: status, arguments: "{}", image: true},
		{name: "large-store", servers: bundled(large, "1.2.26"), tool: status, arguments: "{}"},
		{name: "large-npx", servers: byNPX(large, "1.2.27"), tool: status, arguments: "{}"},
	}
}

// BenchmarkWake has bridges asleep, one after the other in each round, and measures the first list of
// tools, which waits for nothing, and then the first call, from the beginning of the list until its
// answer. BUSY=1 keeps one core busy meanwhile.
func BenchmarkWake(b *testing.B) {
	needRegistry(b)
	kinds, c := wakers(), newHTTPClient(false)
	sleepers, listed, took := make([]tenant, len(kinds)), make([][]time.Duration, len(kinds)), make([][]time.Duration, len(kinds))
	answers := func(i int, r request, with string) bool {
		a, err := send(b.Context(), c, sleepers[i].url(), sleepers[i].key.secret, r)
		answered := err == nil && a.status == http.StatusOK && strings.Contains(string(a.body), with) && !strings.Contains(string(a.body), `"isError":true`)
		if !answered {
			b.Logf("%s: %v %d %.300s", kinds[i].name, err, a.status, a.body)
		}
		return answered
	}
	list := func(i int) bool { return answers(i, modern("tools/list", "", `{}`), "inputSchema") }
	call := func(i int) bool {
		k := kinds[i]
		return answers(i, modern("tools/call", k.tool, `{"name":"`+k.tool+`","arguments":`+k.arguments+`}`), `"result":`)
	}
	for i, k := range kinds {
		sleepers[i] = newSleeper(b, "wake-"+k.name, k.servers...)
		store := strings.Contains(k.name, "store")
		if k.image || store {
			install := k.servers[0].Transport.Stdio.Install
			bundle := bundleOf(b, install.Package, install.Version)
			fallAsleep(b, sleepers[i])
			if store {
				// Before the upload, so that it is not uploaded again.
				at := meta.FindStatusCondition(bundle.Status.Conditions, v1alpha1.ConditionInRegistry).LastTransitionTime.Add(-time.Second)
				refuse(b, sleepers[i], bundle, at, false)
			} else {
				awaitMount(b, sleepers[i], func(image string) bool { return image != "" })
			}
		}
		wait.UntilWithin(b, wait.Limit, "its tool answers", func() bool { return call(i) && list(i) })
	}
	if os.Getenv("BUSY") != "" {
		go func() {
			for b.Context().Err() == nil { //revive:disable-line:empty-block // It keeps a core busy.
			}
		}()
	}
	b.ResetTimer()
	for range b.N {
		for i, k := range kinds {
			fallAsleep(b, sleepers[i])
			began := time.Now()
			if !list(i) {
				b.Errorf("%s: the first list was refused", k.name)
			}
			listed[i] = append(listed[i], time.Since(began))
			if !call(i) {
				b.Errorf("%s: the first call was refused", k.name)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	b.ReportMetric(0, "ns/op") // Of all kinds together it says nothing.
	for i, kind := range kinds {
		b.ReportMetric(float64(quantile(listed[i], .95).Milliseconds()), kind.name+"-list-p95-ms")
		b.ReportMetric(float64(quantile(took[i], .5).Milliseconds()), kind.name+"-p50-ms")
		b.ReportMetric(float64(quantile(took[i], .95).Milliseconds()), kind.name+"-p95-ms")
	}
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundling decides from which bundle a program is started: a package that is installed
// once for an installation. A ProgramBundle has the result.
package bundling

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/bundling/bundlename"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// Folder is where the container of a program has the bundles of its pod, each in a
// folder whose name is the hexadecimal part of its digest.
const Folder = "/hosted-bridge-bundles"

// ImageFolder is where the container of a program has the image of its bundle, if it mounts one.
const ImageFolder = "/hosted-bridge-image"

// Settings are how an installation installs packages once for all.
type Settings struct {
	// Architecture is that of the machines on which programs run, as Go names it. Empty means
	// that programs are fetched each time they start.
	Architecture string
	// InstallScripts are the packages whose install scripts run, and those of what they depend on. Of
	// Python they are those that may be built.
	InstallScripts []string
	// Repository is the repository of a registry that has bundles as images, such as
	// registry.example.com/mcp/bundles. Empty means no registry.
	Repository string
	// Lacking are the methods for which the installation has no image.
	Lacking []v1alpha1.InstallMethod
}

// Bundled is a program that is started from a bundle.
type Bundled struct {
	Spec v1alpha1.ProgramBundleSpec
	// Program is the command of the package, empty for the one that it starts by itself.
	Program string
	Args    []string
}

var (
	// exactVersion matches one version of a method's registry. The API has the same rules, but recipes do
	// not pass them.
	exactVersion = map[v1alpha1.InstallMethod]func(string) bool{
		v1alpha1.InstallNPX: recipe.IsExactVersion,
		v1alpha1.InstallUVX: regexp.MustCompile(`^([0-9]+!)?[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?$`).MatchString,
	}
	// pythonPackage matches a package of Python without extras, which the API does not have either.
	pythonPackage = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	// interpreter matches what uvx takes for Python itself, and not for a package.
	interpreter = regexp.MustCompile(`(?i)^(c?python|cp|pypy|pp|graalpy|gp|pyodide)w?[0-9.]*t?$`)
)

// Of returns the bundle from which a server's program is started, and false for a server that
// is no program, has an image of its own, or does not name one exact version of a package.
func (b Settings) Of(server bridgestate.Server) (Bundled, bool) {
	install, f := fetched(server)
	if install.Package == "" || b.Architecture == "" || slices.Contains(b.Lacking, install.Method) {
		return Bundled{}, false
	}
	names := func(name string) bool {
		return recipe.IsNameOf(recipe.Install{Method: string(install.Method), Package: install.Package}, name)
	}
	return Bundled{
		Spec: v1alpha1.ProgramBundleSpec{
			Install: install, Architecture: b.Architecture, InstallScripts: slices.ContainsFunc(b.InstallScripts, names),
		},
		Program: f.Program, Args: f.Args,
	}, true
}

// fetched returns the package that npx or uvx fetches for a server, empty for none.
func fetched(server bridgestate.Server) (v1alpha1.Install, recipe.Fetched) {
	none := v1alpha1.Install{}
	if server.Program == nil || server.Image != "" || len(server.Program.Command) == 0 {
		return none, recipe.Fetched{}
	}
	method := v1alpha1.InstallMethod(server.Program.Command[0])
	if exactVersion[method] == nil {
		return none, recipe.Fetched{}
	}
	f, err := recipe.Fetches(string(method), server.Program.Command[1:])
	if err != nil {
		return none, recipe.Fetched{}
	}
	name, version := f.Version()
	// The image has one Python, with which the package is installed.
	python := method == v1alpha1.InstallUVX && (f.Python || !pythonPackage.MatchString(name) || interpreter.MatchString(name))
	if python || !exactVersion[method](version) {
		return none, recipe.Fetched{}
	}
	return v1alpha1.Install{Method: method, Package: name, Version: version}, f
}

// Package returns the package, in one exact version, that a server fetches, and false for a server
// without one.
func Package(server bridgestate.Server) (v1alpha1.Install, bool) {
	install, _ := fetched(server)
	return install, install.Package != ""
}

// Packages returns the packages that the servers of a bridge fetch, each as KeyOf returns it. It
// does not depend on the installation's settings, so that a cache can be indexed by it.
func Packages(b *effective.Bridge) []string {
	var packages []string
	for _, server := range bridgestate.Servers(b) {
		if install, _ := fetched(server); install.Package != "" {
			packages = append(packages, KeyOf(install))
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// KeyOf returns what Packages has for a package: registries have packages of equal names.
func KeyOf(install v1alpha1.Install) string { return string(install.Method) + " " + PackageOf(install) }

// PackageOf returns a package's name with its version.
func PackageOf(install v1alpha1.Install) string { return install.Package + "@" + install.Version }

// NameOf returns the name of the ProgramBundle of a spec.
func NameOf(spec v1alpha1.ProgramBundleSpec) string {
	return bundlename.Of(bundlename.Made{
		Method: string(spec.Method), Package: spec.Package, Version: spec.Version,
		Architecture: spec.Architecture, InstallScripts: spec.InstallScripts,
	})
}

// Bundles are what is observed of the bundles of a bridge.
type Bundles struct {
	Settings
	// Known are the existing ProgramBundles, by name.
	Known map[string]*v1alpha1.ProgramBundle
	// Mounted are the images that the containers of the bridge's pod mount, empty for none, by the
	// names of their servers. Without a pod it has none.
	Mounted map[string]string
	// Refused are images that a node could not mount lately. No new pod mounts them.
	Refused map[string]bool
}

// Image returns the image of its bundle that a server's container mounts, empty for none. As long as
// there is a pod it mounts what it does: another image would replace the pod. A program that mounts
// none, or the image of another bundle, is started from the store's files.
func (b Bundles) Image(server bridgestate.Server) string {
	bundled, ok := b.Of(server)
	if !ok || b.Repository == "" {
		return ""
	}
	if image, runs := b.Mounted[server.Name]; runs {
		return image
	}
	bundle := b.Known[NameOf(bundled.Spec)]
	if bundle == nil || !strings.HasPrefix(bundle.Status.Reference, b.Repository+"@") || b.Refused[bundle.Status.Reference] {
		return ""
	}
	return bundle.Status.Reference
}

// Missing returns the bundles of a bridge's servers that do not exist.
func (b Bundles) Missing(bridge *effective.Bridge) []v1alpha1.ProgramBundleSpec {
	var missing []v1alpha1.ProgramBundleSpec
	for _, server := range bridgestate.Servers(bridge) {
		if bundled, ok := b.Of(server); ok && b.Known[NameOf(bundled.Spec)] == nil {
			missing = append(missing, bundled.Spec)
		}
	}
	return missing
}

// Start sets in a configuration of a bridge how programs are started from the bundles that are
// known, that they wait for them, or why they cannot be started.
func (b Bundles) Start(c bridgeconfig.Config, bridge *effective.Bridge) bridgeconfig.Config {
	for i, server := range bridgestate.Servers(bridge) {
		bundled, ok := b.Of(server)
		bundle := b.Known[NameOf(bundled.Spec)]
		if !ok || bundle == nil || c.Servers[i].Fault != "" {
			continue
		}
		if fault := notStartable(bundle, bundled); fault != "" {
			c.Servers[i].Fault = fault
			continue
		}
		if bundle.Status.Digest == "" {
			c.Servers[i].Pending = &bridgeconfig.Pending{Reason: "its package is being installed for the first time", Since: bundle.CreationTimestamp.UTC()}
			continue
		}
		program, folder := *c.Servers[i].Program, ImageFolder
		if image := b.Image(server); image == "" || image != bundle.Status.Reference {
			program.Bundle = &bridgeconfig.Bundle{Digest: bundle.Status.Digest, Bytes: bundle.Status.Bytes, Architecture: bundle.Spec.Architecture}
			folder = Folder + "/" + program.Bundle.Hex()
		}
		program.Command = append(starts(bundle.Spec.Method, folder, file(bundle, bundled)), bundled.Args...)
		c.Servers[i].Program = &program
	}
	return c
}

// Launcher is the file of a tree of Python that starts a program of the tree, since a program needs
// to be told where its packages are.
const Launcher = "hosted-bridge-launch.py"

// starts returns the command that starts a file of a bundle that is in the folder.
func starts(method v1alpha1.InstallMethod, folder, file string) []string {
	if method == v1alpha1.InstallUVX {
		// Without the packages of the image, and without the variables of the program, which are for
		// the program itself.
		return []string{"python3", "-IS", folder + "/" + Launcher, folder + "/" + file}
	}
	return []string{"node", folder + "/" + file}
}

// file returns the file that is started, relative to the bundle, empty for none.
func file(bundle *v1alpha1.ProgramBundle, bundled Bundled) string {
	name := cmp.Or(bundled.Program, bundle.Status.Program)
	i := slices.IndexFunc(bundle.Status.Programs, func(p v1alpha1.BundledProgram) bool { return p.Name == name })
	if i < 0 {
		return ""
	}
	return bundle.Status.Programs[i].Path
}

// notStartable returns why a program cannot be started from its bundle, empty if it can, or if it is
// not known yet.
func notStartable(bundle *v1alpha1.ProgramBundle, bundled Bundled) string {
	if bundle == nil {
		return ""
	}
	if bundle.Status.Digest == "" {
		ready := meta.FindStatusCondition(bundle.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason == v1alpha1.ReasonInstalling {
			return ""
		}
		return fmt.Sprintf("package %s could not be installed: %s", PackageOf(bundle.Spec.Install), ready.Message)
	}
	if file(bundle, bundled) != "" {
		return ""
	}
	if bundled.Program == "" && bundle.Spec.Method == v1alpha1.InstallUVX {
		return fmt.Sprintf("package %s has no program of its own name: name one in the command, as uvx --from %s PROGRAM; its programs are %s",
			PackageOf(bundle.Spec.Install), PackageOf(bundle.Spec.Install), programs(bundle))
	}
	if bundled.Program == "" {
		return fmt.Sprintf("package %s has several programs: name one of them in the command, as npx -y --package %s -- PROGRAM; they are %s",
			PackageOf(bundle.Spec.Install), PackageOf(bundle.Spec.Install), programs(bundle))
	}
	return fmt.Sprintf("package %s has no program %.80s; its programs are %s", PackageOf(bundle.Spec.Install), bundled.Program, programs(bundle))
}

func programs(bundle *v1alpha1.ProgramBundle) string {
	names := make([]string, 0, len(bundle.Status.Programs))
	for _, p := range bundle.Status.Programs {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// NotInstalled returns why servers of a bridge cannot be started from their bundles, by their
// names.
func (b Bundles) NotInstalled(bridge *effective.Bridge) map[string]string {
	faults := map[string]string{}
	for _, server := range bridgestate.Servers(bridge) {
		if bundled, ok := b.Of(server); ok {
			if fault := notStartable(b.Known[NameOf(bundled.Spec)], bundled); fault != "" {
				faults[server.Name] = fault
			}
		}
	}
	return faults
}

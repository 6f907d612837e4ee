// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

const (
	tmpPrefix   = "tmp-"
	tmpFolder   = "/tmp"
	filesPrefix = "files-"
	// dataPrefix begins the name of the volume with a server's storage. The
	// admission policy of tenants' pods relies on it.
	dataPrefix  = "data-"
	filesFolder = "/hosted-bridge-files"

	// bundlesName is the volume with the bundles of the pod's programs. The bridge fetches
	// them into it, and programs read it alone.
	bundlesName = "bundles"
	// imagePrefix begins the name of the volume that is the image of a server's bundle.
	imagePrefix = "image-"
	// bridgeBundles is where the bridge's container has it.
	bridgeBundles = "/var/run/hosted-bridge/bundles"

	// imageShim is where the images of Settings.ShimImages have the shim. hack/image
	// puts it there. No server's volume hides it: the API refuses a mountPath in /usr.
	imageShim = "/usr/libexec/hosted-bridge/shim"
	// shimName is the init container that copies the shim of the bridge's image,
	// shimProgram, into the volume of the same name. shimFolder is where servers'
	// containers have that volume.
	shimName    = "shim"
	shimProgram = "/shim"
	shimFolder  = "/hosted-bridge"
	shimFile    = shimFolder + "/shim"
)

var (
	// socketLimit is many times what a socket takes.
	socketLimit = resource.MustParse("1Mi")
	// filesLimit is twice what the bridge hands over of files at most, all of
	// which may hold secrets: they are kept in memory and never on a disk.
	filesLimit = resource.MustParse("8Mi")
	// shimLimit has room for the shim, of some 4 MB.
	shimLimit = resource.MustParse("16Mi")
	// tmpLimit has room for what npx or uvx fetch: some hundred MB for a large
	// server. A pod that exceeds it is evicted.
	tmpLimit = resource.MustParse("1Gi")

	// copierRequests and copierLimits are for copying one file.
	copierRequests = corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("10m"),
		corev1.ResourceMemory: resource.MustParse("16Mi"),
	}
	copierLimits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	// serverRequests are what an idle server of npx uses: npm, which stays
	// beside it, 65 MB or 130 where it has just installed, the server itself 30
	// and the shim 5.
	serverRequests = corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("10m"),
		corev1.ResourceMemory: resource.MustParse("128Mi"),
	}
	// bundledRequests are what an idle program of Node.js uses that is started from a bundle:
	// 20 to 160 MB, half of them less than 60, and the shim 5.
	bundledRequests = corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("10m"),
		corev1.ResourceMemory: resource.MustParse("64Mi"),
	}
	// bundlesLimit has room for the bundles of some servers, the largest of which have 400 MB.
	bundlesLimit = resource.MustParse("4Gi")
	// serverLimits have room for an install, which takes 160 MB for a small
	// server, and for a server that works.
	serverLimits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")}
)

// StdioServer returns the server whose container has that name, and false for
// the pod's other containers.
func StdioServer(container string) (string, bool) {
	return strings.CutPrefix(container, bridgestate.StdioPrefix)
}

// stdioServers returns the servers that are programs and have an image, by name:
// another order of the spec is no other pod.
func stdioServers(b *effective.Bridge, s Settings) []bridgestate.Server {
	lacking := s.Lacking()
	servers := slices.DeleteFunc(bridgestate.Servers(b), func(server bridgestate.Server) bool {
		return server.Program == nil || bridgestate.Lacks(server, lacking) != bridgestate.Finding{}
	})
	slices.SortFunc(servers, func(a, b bridgestate.Server) int { return strings.Compare(a.Name, b.Name) })
	return servers
}

// addStdio adds to the pod what its servers over stdio need, each a container
// of its own. They stand beside the bridge and not before it, as sidecars do: a
// server whose container cannot start must not keep the bridge from starting.
// The bridge connects when a socket is there; and a shim that is told to end
// waits for the bridge to be done with it, so that a drain loses no answer.
//
// Nothing of what they run is here: the bridge hands it over through the
// socket, so that a change of it changes no pod, and no secret is in one.
func addStdio(spec *corev1ac.PodSpecApplyConfiguration, b *effective.Bridge, s Settings) {
	servers := stdioServers(b, s)
	if len(servers) == 0 {
		return
	}
	spec.WithTerminationGracePeriodSeconds(gracePeriodSeconds + stdioGraceSeconds)
	if slices.ContainsFunc(servers, func(server bridgestate.Server) bool { return !s.hasShim(server) }) {
		copyShim(spec, s)
	}
	for _, server := range servers {
		spec.WithVolumes(
			emptyDir(bridgestate.StdioPrefix+server.Name, corev1.StorageMediumMemory, socketLimit),
			emptyDir(tmpPrefix+server.Name, "", tmpLimit),
			emptyDir(filesPrefix+server.Name, corev1.StorageMediumMemory, filesLimit),
		).WithContainers(serverContainer(server, s))
		spec.Containers[0].WithVolumeMounts(
			mount(bridgestate.StdioPrefix+server.Name, bridgestate.StdioFolder+"/"+server.Name).WithReadOnly(true))
		addStorage(spec, b, server)
	}
	addBundles(spec, servers, s)
}

// copyShim adds to the pod what copies the shim for servers whose images do not have it. It
// ends before any other container starts, which the kubelet notices once a second.
func copyShim(spec *corev1ac.PodSpecApplyConfiguration, s Settings) {
	spec.WithVolumes(emptyDir(shimName, "", shimLimit)).
		WithInitContainers(corev1ac.Container().
			WithName(shimName).
			WithImage(s.BridgeImage).
			WithCommand(shimProgram, "install", shimFile).
			WithResources(withDefaults(nil, copierRequests, copierLimits)).
			WithSecurityContext(restricted()).
			WithVolumeMounts(mount(shimName, shimFolder)))
}

// hasShim reports whether the image of a server has the shim.
func (s Settings) hasShim(server bridgestate.Server) bool {
	return slices.Contains(s.ShimImages, serverImage(server, s))
}

// addBundles gives the bridge and the containers of the servers a volume for bundles, if a
// program of the pod is started from one. Which bundle that is changes no pod.
func addBundles(spec *corev1ac.PodSpecApplyConfiguration, servers []bridgestate.Server, s Settings) {
	if !slices.ContainsFunc(servers, s.bundled) {
		return
	}
	spec.WithVolumes(emptyDir(bundlesName, "", bundlesLimit))
	bridge := &spec.Containers[0]
	bridge.WithVolumeMounts(mount(bundlesName, bridgeBundles)).
		WithArgs("--bundles-url="+s.BundlesURL, "--bundles-folder="+bridgeBundles)
	for i, server := range servers {
		if !s.bundled(server) {
			continue
		}
		spec.Containers[i+1].WithVolumeMounts(mount(bundlesName, bundling.Folder).WithReadOnly(true))
		if image := s.Bundles.Image(server); image != "" {
			spec.WithVolumes(corev1ac.Volume().WithName(imagePrefix + server.Name).
				WithImage(corev1ac.ImageVolumeSource().WithReference(image).WithPullPolicy(corev1.PullIfNotPresent)))
			spec.Containers[i+1].WithVolumeMounts(mount(imagePrefix+server.Name, bundling.ImageFolder).WithReadOnly(true))
		}
	}
}

// MountedImages returns the images of bundles that the containers of a pod's servers mount, empty
// for none, by the names of the servers.
func MountedImages(spec corev1.PodSpec) map[string]string {
	images := map[string]string{}
	for _, c := range spec.Containers {
		server, ok := StdioServer(c.Name)
		if !ok {
			continue
		}
		images[server] = ""
		for _, v := range spec.Volumes {
			if v.Name == imagePrefix+server && v.Image != nil {
				images[server] = v.Image.Reference
			}
		}
	}
	return images
}

// bundled reports whether a server's program is started from a bundle.
func (s Settings) bundled(server bridgestate.Server) bool {
	_, ok := s.Bundles.Of(server)
	return ok
}

// addStorage gives the last container of the pod, which is the server's, the
// server's volume. The volume belongs to the group of the pod's processes, since a
// new file system belongs to root.
func addStorage(spec *corev1ac.PodSpecApplyConfiguration, b *effective.Bridge, server bridgestate.Server) {
	if server.Storage == nil {
		return
	}
	spec.SecurityContext.WithFSGroup(user).WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch)
	spec.WithVolumes(corev1ac.Volume().WithName(dataPrefix + server.Name).WithPersistentVolumeClaim(
		corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(v1alpha1.ClaimName(b.Name, server.Name))))
	c := &spec.Containers[len(spec.Containers)-1]
	c.WithVolumeMounts(mount(dataPrefix+server.Name, server.Storage.MountPath))
	c.Command = append(c.Command, "--storage="+server.Storage.MountPath)
}

// claims returns the claims of the servers that have storage. Only one pod of the
// cluster can have each: a pod that replaces another one, such as that of a drained
// node, waits until the other one is gone. A claim without an owner stays without one: files
// that are retained are for people alone to delete, whoever writes as the operator.
func claims(b *effective.Bridge, p bridgestate.Plan, s Settings) []runtime.ApplyConfiguration {
	var list []runtime.ApplyConfiguration
	for _, server := range stdioServers(b, s) {
		if server.Storage == nil {
			continue
		}
		existing := bridgestate.ClaimOf(b, p.Claims, server.Name)
		spec := corev1ac.PersistentVolumeClaimSpec().
			WithAccessModes(corev1.ReadWriteOncePod).
			WithResources(corev1ac.VolumeResourceRequirements().WithRequests(corev1.ResourceList{
				corev1.ResourceStorage: bridgestate.SizeOf(*server.Storage, existing),
			}))
		if server.Storage.Class != "" {
			spec.WithStorageClassName(server.Storage.Class)
		}
		claim := corev1ac.PersistentVolumeClaim(v1alpha1.ClaimName(b.Name, server.Name), b.Namespace).
			WithLabels(labels(b)).
			WithAnnotations(map[string]string{v1alpha1.AnnotationUserID: string(b.User())}).
			WithSpec(spec)
		if server.Storage.Delete && (existing == nil || existing.Owned) {
			claim.WithOwnerReferences(owner(b))
		}
		list = append(list, claim)
	}
	return list
}

// serverContainer has no startup probe: the shim listens at once, and starts
// the program when the bridge connects.
func serverContainer(server bridgestate.Server, s Settings) *corev1ac.ContainerApplyConfiguration {
	requests := serverRequests
	if s.bundled(server) {
		requests = bundledRequests
	}
	c := corev1ac.Container()
	shim := imageShim
	if !s.hasShim(server) {
		shim = shimFile
		c.WithVolumeMounts(mount(shimName, shimFolder).WithReadOnly(true))
	}
	return c.
		WithName(bridgestate.StdioPrefix+server.Name).
		WithImage(serverImage(server, s)).
		WithCommand(shim, "--socket="+bridgestate.StdioFolder+"/"+bridgestate.StdioSocket,
			"--server="+server.Name, "--files="+filesFolder).
		WithCommand(runtimeFlags(server, s)...).
		WithResources(withDefaults(server.Resources, requests, serverLimits)).
		WithSecurityContext(restricted()).
		WithVolumeMounts(
			mount(bridgestate.StdioPrefix+server.Name, bridgestate.StdioFolder),
			mount(tmpPrefix+server.Name, tmpFolder),
			mount(filesPrefix+server.Name, filesFolder),
		)
}

func serverImage(server bridgestate.Server, s Settings) string {
	switch {
	case server.Image != "":
		return server.Image
	case server.Method == v1alpha1.InstallUVX:
		return s.RuntimeImagePython
	default:
		return s.RuntimeImageNode
	}
}

// runtimeFlags are the shim's flags for a program in an image of the installation.
// Who brings an image of their own sets it up as they need it.
func runtimeFlags(server bridgestate.Server, s Settings) (flags []string) {
	if server.Image != "" {
		return nil
	}
	for _, v := range s.RuntimeEnv {
		flags = append(flags, "--env="+v)
	}
	if s.RuntimeAuthorities != "" {
		flags = append(flags, "--authorities="+s.RuntimeAuthorities)
	}
	return flags
}

func emptyDir(name string, medium corev1.StorageMedium, limit resource.Quantity) *corev1ac.VolumeApplyConfiguration {
	source := corev1ac.EmptyDirVolumeSource().WithSizeLimit(limit)
	if medium != "" {
		source.WithMedium(medium)
	}
	return corev1ac.Volume().WithName(name).WithEmptyDir(source)
}

func mount(volume, path string) *corev1ac.VolumeMountApplyConfiguration {
	return corev1ac.VolumeMount().WithName(volume).WithMountPath(path)
}

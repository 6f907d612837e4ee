// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// runtimes are the chart's values that name the images for the methods of
// install.
var runtimes = map[v1alpha1.InstallMethod]string{
	v1alpha1.InstallNPX: "bridge.runtimes.node", v1alpha1.InstallUVX: "bridge.runtimes.python",
}

// Lacks returns why the server cannot have a container: its program has no image
// of its own, and the installation has none for its method, since the method is
// one of lacking. It is zero for a server that can.
func Lacks(server Server, lacking []v1alpha1.InstallMethod) Finding {
	if server.Image != "" || !slices.Contains(lacking, server.Method) {
		return Finding{}
	}
	return Finding{v1alpha1.ReasonRuntimesMissing, fmt.Sprintf(
		"the installation has no image in which %s runs programs; an administrator can set %s in the values of the chart",
		server.Method, runtimes[server.Method])}
}

// InService adds to a configuration of b the faults of the servers for which
// there is no image, so that the bridge tells its clients.
func InService(c bridgeconfig.Config, b *effective.Bridge, lacking []v1alpha1.InstallMethod) bridgeconfig.Config {
	for i, server := range Servers(b) {
		if f := Lacks(server, lacking); f != (Finding{}) {
			c.Servers[i].Fault = f.Message
		}
	}
	return c
}

// lacks returns why the server of that name cannot have a container.
func (o Observed) lacks(name string) Finding {
	for _, server := range Servers(o.Bridge) {
		if server.Name == name {
			return Lacks(server, o.Lacking)
		}
	}
	return Finding{}
}

// lacking says which servers are out of service because there is no image for
// their programs. It begins with a semicolon, and is empty if there are none.
func (o Observed) lacking() string {
	without := slices.DeleteFunc(Servers(o.Bridge), func(s Server) bool { return Lacks(s, o.Lacking) == Finding{} })
	if len(without) == 0 {
		return ""
	}
	return "; out of service without an image: " + enumerate(without, "; ", func(s Server) string {
		said := "server " + s.Name + ": " + Lacks(s, o.Lacking).Message
		if o.Bridge.Spec.Servers[s.Index].Recipe == nil {
			said += fmt.Sprintf(", or transport.stdio.image of the server can name an image that has %s", s.Method)
		}
		return said
	})
}

// notInstalled says which servers are out of service because their package could not be
// installed. It begins with a semicolon, and is empty if there are none.
func (o Observed) notInstalled() string {
	if len(o.NotInstalled) == 0 {
		return ""
	}
	return "; out of service: " + enumerate(slices.Sorted(maps.Keys(o.NotInstalled)), "; ", func(name string) string {
		return "server " + name + ": " + o.NotInstalled[name]
	})
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// Users that the processes run as. The number, not a name, is in the image:
// kubelet proves runAsNonRoot by it.
const (
	nonroot = 65532
	// pauseUser is the user of Kubernetes' own pause image.
	pauseUser = 65535
)

const (
	// repository is the prefix of every image's name.
	repository = "hosted-bridge"
	// movingTag names the last build. Each image also has a tag made of its
	// digest, which names one build for good.
	movingTag = "dev"
)

// spec is what an image is made of.
type spec struct {
	name        string
	module      string // folder of the Go module, from the repository's root.
	pkg         string // package of the binary, as seen from that module.
	user        int
	description string
}

// specs are the images, in the order in which they are built.
var specs = []spec{
	{"operator", ".", "./cmd/operator", nonroot, "Makes a bridge of each HostedBridge object"},
	{"keybroker", ".", "./cmd/keybroker", nonroot, "Issues certificates and seals secrets; the only holder of the master key"},
	{"ingress", ".", "./cmd/ingress", nonroot, "The public surface: lets a request through to the one bridge it is meant for"},
	{"bridge", ".", "./cmd/bridge", nonroot, "One user's MCP bridge"},
	{"everything-server", ".", "github.com/modelcontextprotocol/go-sdk/conformance/everything-server", nonroot, "The MCP Go SDK's conformance server, an upstream for samples and tests"},
	{"guarded-server", ".", "./test/e2e/guarded-server", nonroot, "An MCP server that wants a bearer token, an upstream for samples and tests"},
	{"pause", "hack/image", "./pause", pauseUser, "Holds the namespaces of a pod in a local cluster"},
}

// pick returns the named specs, all of them where
// none is named.
func pick(names []string) ([]spec, error) {
	if len(names) == 0 {
		return specs, nil
	}
	var picked []spec
	for _, name := range names {
		i := slices.IndexFunc(specs, func(s spec) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no image is named %q: the images are %s", name, strings.Join(specNames(), ", "))
		}
		picked = append(picked, specs[i])
	}
	return picked, nil
}

func specNames() []string {
	var names []string
	for _, s := range specs {
		names = append(names, s.name)
	}
	return names
}

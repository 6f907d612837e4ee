// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
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

// programsFolder is where an image of parts has further programs. Kubernetes mounts no
// volume of a server over it: the API refuses a mountPath in /usr.
const programsFolder = "usr/libexec/hosted-bridge"

// spec is what an image is made of: one program of ours, or parts.
type spec struct {
	name   string
	module string // folder of the Go module, from the repository's root.
	pkg    string // package of the binary, as seen from that module.
	// more are packages of further programs, each under its folder's name: at the root of
	// an image of a program, in programsFolder of one of parts.
	more        []string
	user        int
	description string
	// data are folders, from the repository's root. The image of a program carries
	// a copy of them at its own root.
	data []string

	parts []part
	// entrypoint is what an image of parts runs.
	entrypoint []string
	// asked has it be built only where it is named, or all are wanted.
	asked bool
}

// specs are the images, in the order in which they are built.
var specs = []spec{
	{name: "operator", module: ".", pkg: "./cmd/operator", user: nonroot, description: "Makes a bridge of each HostedBridge object", more: []string{"./cmd/kubectl-bridge"}},
	{name: "keybroker", module: ".", pkg: "./cmd/keybroker", user: nonroot, description: "Issues certificates and seals secrets; the only holder of the master key"},
	{name: "ingress", module: ".", pkg: "./cmd/ingress", user: nonroot, description: "The public surface: lets a request through to the one bridge it is meant for", data: []string{"config/recipes"}},
	{name: "bridge", module: ".", pkg: "./cmd/bridgepod", user: nonroot, description: "One user's MCP bridge", more: []string{"./cmd/shim"}},
	{name: "everything-server", module: ".", pkg: "github.com/modelcontextprotocol/go-sdk/conformance/everything-server", user: nonroot, description: "The MCP Go SDK's conformance server, an upstream for samples and tests"},
	{name: "guarded-server", module: ".", pkg: "./test/e2e/guarded-server", user: nonroot, description: "An MCP server that wants a bearer token, an upstream for samples and tests"},
	{name: "pause", module: "hack/image", pkg: "./pause", user: pauseUser, description: "Holds the namespaces of a pod in a local cluster"},
	{name: "npm-servers", user: nonroot, description: "Three of MCP's reference servers, which speak over stdio, for samples and tests", parts: []part{debianBase, nodePart, serversPart}, entrypoint: []string{"node"}},
	{name: "runtime-node", module: ".", more: []string{"./cmd/shim"}, user: nonroot, description: "Node.js with npx, for MCP servers of npm", parts: []part{debianBase, nodePart}, entrypoint: []string{"node"}, asked: true},
	{name: "runtime-python", module: ".", more: []string{"./cmd/shim"}, user: nonroot, description: "Debian's Python, for MCP servers in Python", parts: []part{debianBase, pythonPart}, entrypoint: []string{"python3"}, asked: true},
	{name: "postgres", user: nonroot, description: "Debian's PostgreSQL, which keeps the logins of tests", parts: []part{debianBase, postgresPart}, entrypoint: []string{"postgres"}, asked: true},
}

// The parts. What a server of npm needs besides node is a shell, by which npx
// runs it, and env, by which its first line finds node.
var (
	debianBase = part{
		name: "debian",
		base: true,
		debs: []string{"base-files", "coreutils", "dash", "libc6", "libgcc-s1", "libstdc++6"},
		only: map[string][]string{
			"base-files": {"usr/lib/os-release", "etc/os-release", "etc/debian_version"},
			"coreutils":  {"usr/bin/env"},
			"dash":       {"usr/bin/dash"},
		},
	}
	nodePart = part{
		name:    "node",
		add:     addNode,
		sources: []string{"npm/node/package-lock.json"},
	}
	serversPart = part{
		name:    "npm-servers",
		add:     addServers,
		sources: []string{"npm/servers/package.json", "npm/servers/package-lock.json", "npm/servers/.npmrc"},
	}
	pythonPart = part{
		name: "python",
		debs: []string{
			"libbz2-1.0", "libcom-err2", "libcrypt1", "libdb5.3", "libexpat1", "libffi8", "libgssapi-krb5-2", "libk5crypto3",
			"libkeyutils1", "libkrb5-3", "libkrb5support0", "liblzma5", "libncursesw6", "libnsl2", "libpython3.11-minimal",
			"libpython3.11-stdlib", "libreadline8", "libsqlite3-0", "libssl3", "libtinfo6", "libtirpc3", "libuuid1",
			"media-types", "python3.11", "python3.11-minimal", "tzdata", "zlib1g",
		},
		add: func(_ context.Context, t tree, _, _, _ string) error {
			t["usr/bin/python3"] = entry{link: "python3.11", mode: 0o777}
			t["usr/bin/python"] = entry{link: "python3", mode: 0o777}
			// Debian's OpenSSL looks for CA roots here.
			t["usr/lib/ssl/cert.pem"] = entry{link: "/" + rootsPath, mode: 0o777}
			return nil
		},
	}
	// What makes a database, initdb, is a client of its own server's library.
	postgresPart = part{
		name: "postgres",
		debs: []string{
			"libaudit1", "libcap-ng0", "libcap2", "libcom-err2", "libffi8", "libgcrypt20", "libgmp10", "libgnutls30",
			"libgpg-error0", "libgssapi-krb5-2", "libhogweed6", "libicu72", "libidn2-0", "libk5crypto3", "libkeyutils1",
			"libkrb5-3", "libkrb5support0", "libldap-2.5-0", "liblz4-1", "liblzma5", "libnettle8", "libp11-kit0", "libpam0g",
			"libpq5", "libsasl2-2", "libssl3", "libsystemd0", "libtasn1-6", "libunistring2", "libxml2", "libzstd1",
			"postgresql-15", "tzdata", "zlib1g",
		},
		add: func(_ context.Context, t tree, _, _, _ string) error {
			for _, program := range []string{"initdb", "postgres"} {
				t["usr/bin/"+program] = entry{link: "../lib/postgresql/15/bin/" + program, mode: 0o777}
			}
			return nil
		},
	}
)

// pick returns the named specs. Where none is named it returns those that the
// samples and the tests need, or all.
func pick(names []string, all bool) ([]spec, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(specs), func(s spec) bool { return s.asked && !all }), nil
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

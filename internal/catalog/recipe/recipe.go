// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recipe describes MCP servers so that others can install them. It
// reads recipes of version 2, and lifts those of version 1 and the official
// registry's server.json to version 2. It has their rules, their signatures and
// their conversion to a bridge's configuration. The type is that of package
// recipefile, which the API has too.
//
// The package is pure: times and randomness are arguments.
package recipe

import (
	"slices"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1/recipefile"
)

// The type of a recipe, and those of its parts that are made by themselves.
type (
	// Recipe says what an MCP server is and how to install, reach and use it.
	Recipe = recipefile.Recipe
	// LocalOnly says what of a server must not be hosted.
	LocalOnly = recipefile.RecipeLocalOnly
	// Transport is a way to reach a server.
	Transport = recipefile.RecipeTransport
	// TransportType is the kind of a transport.
	TransportType = recipefile.RecipeTransportType
	// TransportAuth is how a transport logs in.
	TransportAuth = recipefile.RecipeTransportAuth
	// Auth is what a server wants to know of its user.
	Auth = recipefile.RecipeAuth
	// AuthOAuth2 is a login by OAuth.
	AuthOAuth2 = recipefile.RecipeAuthOAuth2
	// Install is how a server gets onto a machine.
	Install = recipefile.RecipeInstall
	// Storage is what a program keeps.
	Storage = recipefile.RecipeStorage
	// Platform is what differs on an operating system.
	Platform = recipefile.RecipePlatform
	// ConfigFile is a file that a program reads.
	ConfigFile = recipefile.RecipeConfigFile
	// Metadata is what helps people to choose.
	Metadata = recipefile.RecipeMetadata
	// ToolExample is one of a server's tools.
	ToolExample = recipefile.RecipeToolExample
	// Skill is what an agent should know to use a server well.
	Skill = recipefile.RecipeSkill
	// Signature is a publisher's signature.
	Signature = recipefile.RecipeSignature
)

// The types of transports.
const (
	Stdio          = recipefile.Stdio
	SSE            = recipefile.SSE
	StreamableHTTP = recipefile.StreamableHTTP
)

// The values of Metadata.Checked.
const (
	// CheckedRead means that the facts were read on pages: nobody called the
	// server.
	CheckedRead = "read"
	// CheckedCalled means that the server was called or started as the recipe
	// says.
	CheckedCalled = "called"
)

// authorizationCode is the grant of a person's login.
const authorizationCode = "authorization_code"

// Discovers reports whether the authorization server is the one that the MCP
// server itself names (RFC 9728): the recipe gives neither of its URLs. Without a
// clientId, the client that logs in registers itself there (RFC 7591).
func Discovers(a TransportAuth) bool {
	return a.Type == "oauth2" && a.GrantType == authorizationCode && a.TokenURL == "" && a.AuthorizationURL == ""
}

// folderOf returns where the program has the volume.
func folderOf(s Storage) string {
	if s.MountPath == "" {
		return "/data"
	}
	return s.MountPath
}

// withPaths returns the variables of a hosted program.
func withPaths(env jsondoc.Ordered[string], s Storage) jsondoc.Ordered[string] {
	env = slices.Clone(env)
	for _, p := range s.Paths {
		env = slices.DeleteFunc(env, func(old jsondoc.Entry[string]) bool { return old.Name == p.Name })
		env = append(env, jsondoc.Entry[string]{Name: p.Name, Value: folderOf(s) + "/" + p.Value})
	}
	return env
}

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundlename names bundles. It links nothing of Kubernetes, so that the laptop's bridge
// names a bundle as an installation does.
package bundlename

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"regexp"
	"strings"
)

const (
	// hashLength is how many characters of base32 of a hash a name has: 80 bits, so that nobody
	// finds a package of their own with the name of another one.
	hashLength = 16
	// readableLength leaves room for a Job's suffix within the 63 characters of a label.
	readableLength = 36
)

// unnameable matches what the name of an object of Kubernetes, and of a Job's pod, does not have.
var unnameable = regexp.MustCompile(`[^a-z0-9]+`)

// repositoryForm is that of the OCI distribution specification, with the registry's host.
var repositoryForm = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`)

// IsRepository reports whether a text names a repository of bundles that are images, with its
// registry's host and without a tag, such as registry.example.com/mcp/bundles.
func IsRepository(text string) bool { return repositoryForm.MatchString(text) }

// Made is from what a bundle is made. The hash of a name is that of its JSON.
type Made struct {
	// Method is npx or uvx.
	Method  string `json:"method"`
	Package string `json:"package"`
	Version string `json:"version"`
	// Architecture is the processor's, as Go names it.
	Architecture string `json:"architecture"`
	// InstallScripts says that install scripts run, or that packages of Python are built.
	InstallScripts bool `json:"installScripts,omitempty"`
}

// Of returns the name of a ProgramBundle, which is also the tag of its image in a registry: the
// package and its version as far as they fit, and a hash of all of it.
func Of(m Made) string {
	encoded, err := json.Marshal(m)
	if err != nil {
		panic(err) // It has texts alone.
	}
	sum := sha256.Sum256(encoded)
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:hashLength])
	readable := unnameable.ReplaceAllString(strings.ToLower(m.Package[strings.LastIndex(m.Package, "/")+1:]+"-"+m.Version), "-")
	return strings.Trim(readable[:min(len(readable), readableLength)], "-") + "-" + hash
}

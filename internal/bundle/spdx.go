// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

const (
	// noAssertion is SPDX's word for what nobody has looked at.
	noAssertion = "NOASSERTION"
	spdxVersion = "SPDX-2.3"
)

// spdxLicense is a text that may be a license expression of SPDX. Others, such as "SEE LICENSE IN
// LICENSE", are none.
var spdxLicense = regexp.MustCompile(`^\(*[A-Za-z0-9.+-]+\)*( (AND|OR|WITH) \(*[A-Za-z0-9.+-]+\)*)*$`)

type spdxDocument struct {
	Version       string             `json:"spdxVersion"`
	DataLicense   string             `json:"dataLicense"`
	ID            string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	Creation      spdxCreation       `json:"creationInfo"`
	Packages      []spdxPackage      `json:"packages"`
	Relationships []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Version       string         `json:"versionInfo,omitempty"`
	Download      string         `json:"downloadLocation"`
	FilesAnalyzed bool           `json:"filesAnalyzed"`
	Concluded     string         `json:"licenseConcluded"`
	Declared      string         `json:"licenseDeclared"`
	Copyright     string         `json:"copyrightText"`
	Checksums     []spdxChecksum `json:"checksums,omitempty"`
	References    []spdxRef      `json:"externalRefs,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// SPDX returns the list of a bundle's packages as a JSON document of SPDX 2.3. Equal records
// give equal documents.
func SPDX(r *Record) ([]byte, error) {
	const bundleID = "SPDXRef-Bundle"
	d := spdxDocument{
		Version: spdxVersion, DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT",
		Name:      r.Package + "@" + r.Version,
		Namespace: "https://hostedbridge.dev/bundles/" + r.Digest.Hex(),
		Creation:  spdxCreation{Created: r.Made.UTC().Format(time.RFC3339), Creators: []string{"Tool: hosted-bridge"}},
		Packages: []spdxPackage{{
			ID: bundleID, Name: r.Package, Version: r.Version, Download: noAssertion,
			Concluded: noAssertion, Declared: noAssertion, Copyright: noAssertion,
			Checksums: []spdxChecksum{{"SHA256", r.Digest.Hex()}},
		}},
		Relationships: []spdxRelationship{{"SPDXRef-DOCUMENT", "DESCRIBES", bundleID}},
	}
	for i, p := range r.Packages {
		id := fmt.Sprintf("SPDXRef-Package-%d", i+1)
		d.Packages = append(d.Packages, spdxOf(id, p, r.Method))
		d.Relationships = append(d.Relationships, spdxRelationship{bundleID, "CONTAINS", id})
	}
	return json.Marshal(d)
}

func spdxOf(id string, p Package, method string) spdxPackage {
	s := spdxPackage{
		ID: id, Name: p.Name, Version: p.Version, Download: noAssertion, Concluded: noAssertion, Declared: noAssertion, Copyright: noAssertion,
		References: []spdxRef{{"PACKAGE-MANAGER", "purl", purl(p, method)}},
	}
	if spdxLicense.MatchString(p.License) {
		s.Declared = p.License
	}
	algorithm, sum, _ := strings.Cut(p.Integrity, "-")
	if b, err := base64.StdEncoding.DecodeString(sum); err == nil && (algorithm == "sha512" || algorithm == "sha256") {
		s.Checksums = []spdxChecksum{{strings.ToUpper(algorithm), hex.EncodeToString(b)}}
	}
	return s
}

// purl returns the package's URL of the kind that vulnerability scanners look up.
func purl(p Package, method string) string {
	if method == "uvx" {
		return "pkg:pypi/" + url.PathEscape(project(p.Name)) + "@" + url.PathEscape(p.Version)
	}
	parts := strings.Split(p.Name, "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(part), "@", "%40")
	}
	return "pkg:npm/" + strings.Join(parts, "/") + "@" + url.PathEscape(p.Version)
}

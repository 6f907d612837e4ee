// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scim reads and writes what a directory sends and asks by SCIM 2.0 (RFC 7643 and
// RFC 7644): users, groups, filters, changes and lists. What directories say beyond what the
// installation stores is accepted and dropped.
//
// The package is pure.
package scim

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Base is the path under which SCIM is served.
const Base = "/scim/v2"

// ContentType is the media type of bodies.
const ContentType = "application/scim+json"

const (
	// MaxMembers is how many members a group may have. Their ids fit into an object of
	// Kubernetes, whose limit is 1.5 MiB.
	MaxMembers = 10_000
	// maxText is how many characters a name may have.
	maxText = 256
	// maxExternalID is how many an externalId may have, as the subject of a login.
	maxExternalID = 255
)

// User is a person in a directory.
type User struct {
	// ID is the installation's name of the person, and ExternalID the directory's, empty for
	// none. Neither changes.
	ID, ExternalID        string
	UserName, DisplayName string
	// Profile is what else is kept of the person, as JSON, empty for nothing.
	Profile string
	Active  bool
	// Version changes with each write.
	Version string
	Created time.Time
}

// Group is a group in a directory.
type Group struct {
	ID, ExternalID, DisplayName string
	// Members are the ids of users, in order and each once.
	Members []string
	Version string
	Created time.Time
}

// isText reports whether a name has 1 to so many characters, and each of them can be seen:
// none that control a terminal, or the direction in which text is read.
func isText(s string, most int) bool {
	if s == "" || len(s) > most*utf8.UTFMax || utf8.RuneCountInString(s) > most || strings.TrimSpace(s) != s {
		return false
	}
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

const (
	coreUser       = "urn:ietf:params:scim:schemas:core:2.0:User"
	coreGroup      = "urn:ietf:params:scim:schemas:core:2.0:Group"
	enterpriseUser = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
	messages       = "urn:ietf:params:scim:api:messages:2.0:"
)

// The attributes that are stored, in lower case: names of attributes have no case.
const (
	attrID          = "id"
	attrExternalID  = "externalid"
	attrUserName    = "username"
	attrDisplayName = "displayname"
	attrActive      = "active"
	attrMembers     = "members"
)

// kind is a type of resources.
type kind struct {
	name, plural, schema string
	// stored are the attributes that are stored, dropped the standard ones that are not, and
	// fixed those that only the installation sets.
	stored, dropped, fixed map[string]bool
}

func setOf(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

var users = &kind{
	name: "User", plural: "Users", schema: coreUser,
	stored: setOf(attrExternalID, attrUserName, attrDisplayName, attrActive),
	dropped: setOf("name", "nickname", "profileurl", "title", "usertype", "preferredlanguage", "locale", "timezone", "password",
		"emails", "phonenumbers", "ims", "photos", "addresses", "entitlements", "roles", "x509certificates"),
	fixed: setOf(attrID, "schemas", "meta", "groups"),
}

var groups = &kind{
	name: "Group", plural: "Groups", schema: coreGroup,
	stored:  setOf(attrExternalID, attrDisplayName, attrMembers),
	dropped: setOf(),
	fixed:   setOf(attrID, "schemas", "meta"),
}

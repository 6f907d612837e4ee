// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is the kind of a principal's credential.
type Kind string

// The kinds of principals.
const (
	// KindUserKey is a user's API key; the principal's ID is the key's.
	KindUserKey Kind = "user_key"
	// KindAdminKey is the installation's admin key.
	KindAdminKey Kind = "admin_key"
	// KindPublisherKey is a publisher's key; the principal's ID is the publisher
	// and the key, with a slash between.
	KindPublisherKey Kind = "publisher_key"
	// KindOAuth is a login; the principal's ID is the text of the person's subject
	// key, which tells nobody who they are, and its issuer that of the token.
	KindOAuth Kind = "oauth"
	// KindSCIMToken is the token of a directory; the principal's ID is the directory and the
	// token, with a slash between, and its issuer that of the directory's people.
	KindSCIMToken Kind = "scim_token"
	// KindInstallation is the installation itself, which does what follows from an act of
	// somebody, such as to end the keys of a person who is offboarded.
	KindInstallation Kind = "installation"
)

// Reporter is the source of a call's outcome.
type Reporter string

// The reporters.
const (
	// Bridge says that the bridge that ran the call told of it.
	Bridge Reporter = "bridge"
	// Ingress says that the entry is made of the request and of what the
	// ingress saw of the answer: the server is not known, and the tool is
	// named as the client named it.
	Ingress Reporter = "ingress"
)

// Prefixes of methods in entries of what is no call. Those of administrators begin with AdminPrefix,
// those of publishers with PublishPrefix, those of logins with LoginPrefix, those of
// directories with SCIMPrefix, and steps of people who lose or get their access with
// AccessPrefix. Acts of the owners of a SharedServer begin with SharedPrefix, and what users do with
// their own bridge beside calls with UserPrefix.
const (
	AdminPrefix   = "admin/"
	PublishPrefix = "publish/"
	LoginPrefix   = "login/"
	SCIMPrefix    = "scim/"
	AccessPrefix  = "access/"
	SharedPrefix  = "shared/"
	UserPrefix    = "user/"
)

// Principal is the caller.
type Principal struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id,omitempty"`
	// Issuer is who vouches for the ID, empty for the installation itself.
	Issuer string `json:"issuer,omitempty"`
	// Role is that of an administrator who logged in.
	Role string `json:"role,omitempty"`
}

// Entry is what the audit trail holds of one tool call, answered or refused,
// or of one act of an administrator, a publisher, a login or a directory. It has no field for an
// argument or a result.
type Entry struct {
	// ID is unique among the entries of an installation.
	ID string `json:"id"`
	// Time is when the entry was made, which for a call is when it ended, to
	// the millisecond.
	Time time.Time `json:"time"`
	// UserID is the user whose bridge was called or changed.
	UserID string `json:"userId,omitempty"`
	// BridgeUID is the UID of that user's HostedBridge: another one may get the user id
	// later. It is empty if there was none.
	BridgeUID string    `json:"bridgeUid,omitempty"`
	Principal Principal `json:"principal"`
	Call
	ReportedBy Reporter `json:"reportedBy"`
	// SessionHash and SourceIPHash are keyed hashes: equal for equal sessions
	// and addresses, and of no use to find them.
	SessionHash  string `json:"sessionHash,omitempty"`
	SourceIPHash string `json:"sourceIpHash,omitempty"`
	// UserAgent is as the client has it, cut to 128 bytes of printable ASCII.
	UserAgent string `json:"userAgent,omitempty"`
	TraceID   string `json:"traceId,omitempty"`
	// RequestID is the one in the access log and in the answer's header.
	RequestID string `json:"requestId,omitempty"`
}

// Bounded returns e as it may stand in the trail, whatever it was made of.
func (e Entry) Bounded() Entry {
	e.Call = e.bounded()
	e.Call.ID = ""
	if len(e.ParamKeys) == 0 {
		e.ParamKeys = nil // As it is when it is read again.
	}
	e.ID, e.UserID, e.BridgeUID, e.TraceID = Name(e.ID), Name(e.UserID), Name(e.BridgeUID), Name(e.TraceID)
	e.Principal.ID, e.Principal.Role = Name(e.Principal.ID), Name(e.Principal.Role)
	e.SessionHash, e.SourceIPHash, e.RequestID = Name(e.SessionHash), Name(e.SourceIPHash), Name(e.RequestID)
	e.Principal.Issuer, e.UserAgent = Printable(e.Principal.Issuer), Printable(e.UserAgent)
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	return e
}

// Printable returns s in printable ASCII, other characters replaced by an
// underscore, and cut to 128 bytes.
func Printable(s string) string {
	if within := s[:min(len(s), maxName)]; isPrintable(within) {
		return within
	}
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '_'
		}
		return c
	}, s[:min(len(s), maxName*utf8.UTFMax)]) // No more of it is needed, and it may be long.
	return s[:min(len(s), maxName)]
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// validate reports what keeps e from being one that Bounded can give.
func (e Entry) validate() error {
	if err := e.Call.validate(); err != nil {
		return err
	}
	for _, s := range [...]struct{ field, value string }{
		{"userId", e.UserID}, {"bridgeUid", e.BridgeUID}, {"principal.id", e.Principal.ID}, {"principal.role", e.Principal.Role},
		{"sessionHash", e.SessionHash}, {"sourceIpHash", e.SourceIPHash}, {"traceId", e.TraceID}, {"requestId", e.RequestID},
	} {
		if !validName(s.value) {
			return fmt.Errorf("%s is not a name", s.field)
		}
	}
	return e.validateRest()
}

func (e Entry) validateRest() error {
	if e.ID == "" || !validName(e.ID) {
		return errors.New("id is not a name")
	}
	if !slices.Contains([]Kind{KindUserKey, KindAdminKey, KindPublisherKey, KindOAuth, KindSCIMToken, KindInstallation}, e.Principal.Kind) {
		return errors.New("principal.kind is unknown")
	}
	if e.ReportedBy != Bridge && e.ReportedBy != Ingress {
		return errors.New("reportedBy is unknown")
	}
	if e.UserAgent != Printable(e.UserAgent) || e.Principal.Issuer != Printable(e.Principal.Issuer) {
		return errors.New("userAgent or principal.issuer is not printable or too long")
	}
	if e.Time.IsZero() {
		return errors.New("time is missing")
	}
	return nil
}

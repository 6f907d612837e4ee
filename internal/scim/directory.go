// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// The attributes of a group by which profiles can name it.
const (
	// ByDisplayName is Okta's: it has no externalId for groups.
	ByDisplayName = "displayName"
	// ByExternalID is for Microsoft Entra, in whose tokens groups are named by their id.
	ByExternalID = "externalId"
)

// Directory is what may call at Base.
type Directory struct {
	// Name is the directory's in the audit trail.
	Name string `yaml:"name"`
	// Issuer is the identity provider of its people.
	Issuer string `yaml:"issuer"`
	// TokenHashes are those of its tokens: two while one replaces the other.
	TokenHashes []string `yaml:"tokenHashes"`
	// GroupValue is ByDisplayName or ByExternalID.
	GroupValue string `yaml:"groupValue"`
	// DryRun records what the directory says, and takes nobody's access away.
	DryRun bool `yaml:"dryRun"`
	// Limits bound what is stored of it.
	Limits Limits `yaml:"limits"`
}

// Limits are how much of a directory is stored at most, so that a token that others know does
// not fill the API server's store. A field that is zero has its default.
type Limits struct {
	// Users are people, deleted ones included. The default is 20,000.
	Users int `yaml:"users"`
	// Groups are 2,000 by default.
	Groups int `yaml:"groups"`
	// Memberships are the members of all groups. The default is 200,000, 20 groups for each of
	// 10,000 people.
	Memberships int `yaml:"memberships"`
}

// DefaultLimits are those of a directory that names none.
var DefaultLimits = Limits{Users: 20_000, Groups: 2_000, Memberships: 200_000}

// maxLimit keeps the objects of a directory below what etcd holds by default, 2 GiB.
const maxLimit = 1_000_000

func (l *Limits) setDefaults() {
	l.Users = cmp.Or(l.Users, DefaultLimits.Users)
	l.Groups = cmp.Or(l.Groups, DefaultLimits.Groups)
	l.Memberships = cmp.Or(l.Memberships, DefaultLimits.Memberships)
}

// maxHashes is how many tokens a directory may have.
const maxHashes = 2

var directoryName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// ParseDirectories reads the file that lists the directories, and returns all that is wrong
// with it.
func ParseDirectories(content []byte) ([]Directory, error) {
	var file struct {
		Directories []Directory `yaml:"directories"`
	}
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		// The decoder's own error may quote a token that stands where its hash belongs.
		return nil, errors.New("it must be YAML with the list directories, each with name, issuer, tokenHashes, groupValue, dryRun and limits")
	}
	r := review{seen: map[string]bool{}}
	for i := range file.Directories {
		if file.Directories[i].GroupValue == "" {
			file.Directories[i].GroupValue = ByDisplayName
		}
		file.Directories[i].Limits.setDefaults()
		r.at = fmt.Sprintf("directories[%d].", i)
		r.directory(&file.Directories[i])
	}
	return file.Directories, errors.Join(r.errs...)
}

// review collects what is wrong with directories.
type review struct {
	at   string
	seen map[string]bool // names, issuers and hashes, which have different forms
	errs []error
}

func (r *review) check(ok bool, format string, args ...any) {
	if !ok {
		r.errs = append(r.errs, fmt.Errorf(r.at+format, args...))
	}
}

// once checks that a value is not that of another directory.
func (r *review) once(value, format string, args ...any) {
	r.check(!r.seen[value], format, args...)
	r.seen[value] = true
}

func (r *review) directory(of *Directory) {
	r.check(directoryName.MatchString(of.Name), "name must be 1 to 32 lower-case letters, digits or hyphens")
	r.once(of.Name, "name is that of another directory")
	_, safe := oauth.SafeURL(of.Issuer)
	r.check(safe, "issuer must be the https URL of an identity provider")
	r.once(of.Issuer, "issuer is that of another directory: one directory decides about the people of an issuer")
	r.check(of.GroupValue == ByDisplayName || of.GroupValue == ByExternalID, "groupValue must be displayName or externalId")
	r.limit("users", of.Limits.Users)
	r.limit("groups", of.Limits.Groups)
	r.limit("memberships", of.Limits.Memberships)
	r.check(len(of.TokenHashes) >= 1 && len(of.TokenHashes) <= maxHashes, "tokenHashes must be 1 or %d hashes", maxHashes)
	for i, text := range of.TokenHashes {
		hash, err := apikey.ParseHash(text)
		r.check(err == nil && !hash.Bound, "tokenHashes[%d] must be sha256: and 64 lower-case hex digits, as ingress scim token prints it", i)
		r.once(text, "tokenHashes[%d] stands twice: a token is that of one directory", i)
	}
}

func (r *review) limit(name string, n int) {
	r.check(n >= 1 && n <= maxLimit, "limits.%s must be 1 to %d", name, maxLimit)
}

// Directories find the directory of a token.
type Directories struct {
	of     []Directory
	owners []int // of the hash at the same index
	hashes []apikey.Hash
}

// NewDirectories returns those that ParseDirectories read.
func NewDirectories(list []Directory) *Directories {
	d := &Directories{of: list}
	for i := range list {
		for _, text := range list[i].TokenHashes {
			if hash, err := apikey.ParseHash(text); err == nil {
				d.hashes, d.owners = append(d.hashes, hash), append(d.owners, i)
			}
		}
	}
	return d
}

// Of returns the directory whose token was presented, nil for none, and the token's id, also
// of one that opens nothing.
func (d *Directories) Of(presented string) (directory *Directory, keyID string) {
	key, err := apikey.Parse(presented)
	if err != nil || key.Kind != apikey.KindDirectory {
		return nil, ""
	}
	i, ok := apikey.Match(presented, d.hashes)
	if !ok {
		return nil, key.ID
	}
	return &d.of[d.owners[i]], key.ID
}

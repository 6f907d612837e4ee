// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// Writer writes resources for clients that call the installation at a URL.
type Writer struct {
	// URL is the installation's, without a slash at its end.
	URL string
}

// meta is of every resource.
type meta struct {
	ResourceType string `json:"resourceType"`
	Created      string `json:"created,omitempty"`
	Location     string `json:"location"`
	Version      string `json:"version,omitempty"`
}

// location returns the URL of a resource.
func (w Writer) location(k *kind, id string) string { return w.URL + Base + "/" + k.plural + "/" + id }

func (w Writer) meta(k *kind, id, version string, created time.Time) *meta {
	return &meta{ResourceType: k.name, Created: created.UTC().Format(time.RFC3339), Location: w.location(k, id), Version: version}
}

// UserLocation returns the URL of a user.
func (w Writer) UserLocation(id string) string { return w.location(users, id) }

// GroupLocation returns the URL of a group.
func (w Writer) GroupLocation(id string) string { return w.location(groups, id) }

// User returns a user as JSON.
func (w Writer) User(u User, s Selection) json.RawMessage {
	var b struct {
		Schemas     []string `json:"schemas"`
		ID          string   `json:"id"`
		ExternalID  string   `json:"externalId,omitempty"`
		UserName    string   `json:"userName,omitempty"`
		DisplayName string   `json:"displayName,omitempty"`
		Active      *bool    `json:"active,omitempty"`
		Meta        *meta    `json:"meta,omitempty"`
	}
	b.Schemas, b.ID = []string{coreUser}, u.ID
	if s.Has(attrExternalID) {
		b.ExternalID = u.ExternalID
	}
	if s.Has(attrUserName) {
		b.UserName = u.UserName
	}
	if s.Has(attrDisplayName) {
		b.DisplayName = u.DisplayName
	}
	if s.Has(attrActive) {
		b.Active = &u.Active
	}
	if s.Has("meta") {
		b.Meta = w.meta(users, u.ID, u.Version, u.Created)
	}
	if u.Profile == "" {
		return jsondoc.EncodeExact(b)
	}
	doc := parsed(jsondoc.EncodeExact(b))
	for _, m := range parsed([]byte(u.Profile)).Members {
		if s.Has(strings.ToLower(m.Name)) {
			doc = doc.With(m.Name, m.Value)
		}
	}
	return jsondoc.EncodeExact(doc)
}

// member is a member of a group.
type member struct {
	Value string `json:"value"`
	Type  string `json:"type"`
}

// Group returns a group as JSON.
func (w Writer) Group(g Group, s Selection) json.RawMessage {
	var b struct {
		Schemas     []string  `json:"schemas"`
		ID          string    `json:"id"`
		ExternalID  string    `json:"externalId,omitempty"`
		DisplayName string    `json:"displayName,omitempty"`
		Members     *[]member `json:"members,omitempty"`
		Meta        *meta     `json:"meta,omitempty"`
	}
	b.Schemas, b.ID = []string{coreGroup}, g.ID
	if s.Has(attrExternalID) {
		b.ExternalID = g.ExternalID
	}
	if s.Has(attrDisplayName) {
		b.DisplayName = g.DisplayName
	}
	if s.Has(attrMembers) {
		list := make([]member, 0, len(g.Members))
		for _, id := range g.Members {
			list = append(list, member{Value: id, Type: users.name})
		}
		b.Members = &list
	}
	if s.Has("meta") {
		b.Meta = w.meta(groups, g.ID, g.Version, g.Created)
	}
	return jsondoc.EncodeExact(b)
}

// pageMembers is how many members the groups of one list have at most, unless it is one
// group: a list of 200 of the largest groups would be 100 MB.
const pageMembers = 2 * MaxMembers

// Users returns the page of a list of users that a query asks for.
func (w Writer) Users(all []User, q Query) json.RawMessage {
	return list(all, q, func(u User) (json.RawMessage, int) { return w.User(u, q.Selection), 0 })
}

// Groups returns the page of a list of groups that a query asks for. It has fewer than the
// query asks for if these have very many members.
func (w Writer) Groups(all []Group, q Query) json.RawMessage {
	return list(all, q, func(g Group) (json.RawMessage, int) {
		if !q.Selection.Has(attrMembers) {
			g.Members = nil
		}
		return w.Group(g, q.Selection), len(g.Members)
	})
}

// listResponse is RFC 7644's, section 3.4.2.
type listResponse struct {
	Schemas      []string          `json:"schemas"`
	TotalResults int               `json:"totalResults"`
	StartIndex   int               `json:"startIndex"`
	ItemsPerPage int               `json:"itemsPerPage"`
	Resources    []json.RawMessage `json:"Resources"`
}

// list returns a page of all. encode also returns how many members the item has.
func list[T any](all []T, q Query, encode func(T) (json.RawMessage, int)) json.RawMessage {
	r := listResponse{Schemas: []string{messages + "ListResponse"}, TotalResults: len(all), StartIndex: q.StartIndex, Resources: []json.RawMessage{}}
	from := min(q.StartIndex-1, len(all))
	count := 0
	for _, item := range all[from:min(from+q.Count, len(all))] {
		text, members := encode(item)
		if count += members; count > pageMembers && len(r.Resources) > 0 {
			break
		}
		r.Resources = append(r.Resources, text)
	}
	r.ItemsPerPage = len(r.Resources)
	return jsondoc.EncodeExact(r)
}
